"""One stream per (seed, purpose, chunk): nothing in the package draws from a bare seed, no two purposes share numbers."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import signalprop
from signalprop import _streams, recurrences, safe_scale, sample
from signalprop.initialization import propagate
from tests.gaussian import z_bound

PACKAGE = Path(signalprop.__file__).parent
MAKERS = {"default_rng", "SeedSequence", "Philox", "PCG64", "MT19937", "SFC64", "RandomState", "Generator", "seed"}


def makers_of_generators(tree):
    """Calls that make a generator, or seed a global one from something else than a key or a child seed of `_streams`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called.split(".")[-1] in MAKERS and ("random" in called or "torch" in called or "." not in called):
            yield f"{called} at line {node.lineno}"
        if called.endswith("manual_seed") and not any(
            name in ast.unparse(one) for one in node.args for name in ("cell_key", "child_seed")
        ):
            yield f"{called} at line {node.lineno}"


def test_only_one_module_makes_generators():
    found = {
        str(path.relative_to(PACKAGE)): list(makers_of_generators(ast.parse(path.read_text())))
        for path in PACKAGE.rglob("*.py")
    }
    assert {name for name, calls in found.items() if calls} == {"_streams.py"}, found
    for bad in ("rng = np.random.default_rng(seed)", "torch.manual_seed(seed)", "Generator(Philox(seed))"):
        assert list(makers_of_generators(ast.parse(bad)))


def test_purposes_seeds_and_chunks_have_their_own_numbers():
    draws = [
        _streams.stream(seed, purpose, n, chunk=chunk).standard_normal(4)
        for seed in (0, 1)
        for purpose in ("a", "b")
        for n in (1, 2)
        for chunk in (0, 1)
    ]
    assert len({tuple(one) for one in draws}) == len(draws)
    np.testing.assert_array_equal(
        _streams.stream(3, "a", 5, chunk=2).random(3), _streams.generator(3, _streams.cell_key("a", 5), 2).random(3)
    )
    children = _streams.child_seeds(0, "a", count=50)
    assert len(set(children) | set(_streams.child_seeds(0, "b", count=50))) == 100
    assert children[:5] == _streams.child_seeds(0, "a", count=5)


LAYERS = {
    "gaussian": lambda seed: recurrences.gaussian(8, "real", seed=seed),
    "complex gaussian": lambda seed: recurrences.gaussian(8, "complex", seed=seed),
    "orthogonal": lambda seed: recurrences.orthogonal(8, seed=seed),
    "rotrnn": lambda seed: recurrences.rotrnn(8, 8, output_size=8, seed=seed),
    "lru": lambda seed: recurrences.lru(8, 8, output_size=8, seed=seed),
    "s4": lambda seed: recurrences.s4(8, seed=seed),
    "s4d_lin": lambda seed: recurrences.s4d_lin(8, channels=8, seed=seed),
    "s5": lambda seed: recurrences.s5(8, 8, seed=seed),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_and_its_inputs_never_share_a_stream(kind, monkeypatch):
    keys, make = [], _streams.generator

    def recorded(seed, cell, chunk):
        keys.append((seed, cell, chunk))
        return make(seed, cell, chunk)

    monkeypatch.setattr(_streams, "generator", recorded)
    LAYERS[kind](3).sample(2, samples=8, seed=3)
    assert len(keys) >= 2
    assert len(keys) == len(set(keys))


def test_layers_of_one_seed_do_not_share_a_stream(monkeypatch):
    keys, make = [], _streams.generator
    monkeypatch.setattr(_streams, "generator", lambda *key: keys.append(key) or make(*key))
    for draw in LAYERS.values():
        draw(3)
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("kind", ["gaussian", "complex gaussian"])
def test_first_inputs_are_not_the_weights(kind):
    """x_1 = B u_1 holds the inputs themselves; over seeds their products with the entries of W are sums of known variance."""
    total, count = 0.0, 200
    for seed in range(count):
        layer = LAYERS[kind](seed)
        inputs = _first_inputs(layer, 8, seed)
        total += np.real(np.sum(layer.A.matrix * inputs)) * math.sqrt(8)
    variance = count * 64 * (1.0 if kind == "gaussian" else 0.5)
    assert abs(total) / math.sqrt(variance) < z_bound(1)


def _first_inputs(layer, samples, seed):
    """The inputs behind the first step of `sample`, read off a recurrence that does nothing but pass them on."""
    seen = []
    original = type(layer)._step

    def step(self, state, inputs, number):
        seen.append(inputs)
        return original(self, state, inputs, number)

    type(layer)._step = step
    try:
        layer.sample(1, samples=samples, seed=seed)
    finally:
        type(layer)._step = original
    return seen[0]


def test_directions_of_propagate_are_not_the_draws_of_a_user():
    """A W drawn by ``default_rng(seed)`` and directions of the same seed had the same numbers."""
    total = 0.0
    for seed in range(200):
        W = np.random.default_rng(seed).standard_normal((16, 16))
        starts = np.random.default_rng(seed).standard_normal((16, 16))
        ours = _streams.stream(seed, "directions", 16).standard_normal((16, 16))
        assert not np.array_equal(ours, starts)
        total += np.sum(W * ours)
    assert abs(total) / math.sqrt(200 * 256) < z_bound(1)
    # With shared numbers ||W x||^2 of x = a row of W is about 2; otherwise its mean is 1 and its variance at most 2/n.
    ratios = []
    for seed in range(60):
        W = np.random.default_rng(seed).standard_normal((64, 64)).T / 8.0
        ratios.append(np.exp(propagate(W, 1, directions=64, seed=seed).log_signal[:, 1]).mean())
    assert abs(np.mean(ratios) - 1.0) < z_bound(1) * math.sqrt(2 / 64 / 60)


def test_a_drawn_scale_is_not_checked_by_the_draws_that_chose_it():
    """`sample` of the same seed gave back the very draws whose quantile the scale is: exactly 95 % of them pass, always."""
    shares = []
    for seed in range(40):
        found = safe_scale(16, 20, "real", criterion="quantile", samples=200, seed=seed)
        paths = 2.0 * sample(16, 20, "real", samples=200, seed=seed).log_norms
        paths = paths + 2.0 * np.arange(21) * math.log(found.scale)
        shares.append(np.mean(paths.max(axis=1) <= math.log(10.0)))
    assert np.std(shares) > 0.005  # of independent draws: sqrt(2 * .95 * .05/200) = 0.022
