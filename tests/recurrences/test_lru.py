"""The diagonal LRU: its path, its ring in closed form against draws, and its sensitivity."""

import math

import numpy as np
import pytest

from signalprop.recurrences import LRU, drawn_average, lru, lru_average, lru_average_limit
from tests.gaussian import z_bound


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("first_step", [True, False])
def test_path_is_the_sum_over_units(normalized, first_step):
    layer = lru(7, 3, r_min=0.2, r_max=0.99, normalized=normalized, first_step=first_step, seed=4)
    square = np.exp(2 * layer.diagonal.log_modulus)
    power = np.sum(np.abs(layer.B) ** 2, axis=1)
    t = np.arange(1, 60)[:, None]
    want = power * (1 - square**t) / (1 - square)
    if first_step:
        want = np.broadcast_to(power / (1 - square), want.shape)
    np.testing.assert_allclose(layer.energy(59)[1:], want.sum(axis=1), rtol=1e-11)
    if normalized:
        np.testing.assert_allclose(layer.normalizer, np.sqrt(1 - square), rtol=1e-9)


def test_draws_agree():
    for options in ({}, {"normalized": False}, {"first_step": True}):
        draw = lru(12, 5, r_min=0.5, r_max=0.98, seed=2, **options).sample(60, samples=3000, seed=9)
        assert np.abs(draw.z).max() < z_bound(draw.z.size)
    draw = lru(12, 5, r_min=0.5, r_max=0.98, max_phase=0.3, seed=2).sample(60, samples=3000, seed=9, correlation=0.9)
    assert np.abs(draw.z).max() < z_bound(draw.z.size)


def test_law_of_a_draw():
    layer = lru(20000, 1, r_min=0.6, r_max=0.9, max_phase=1.0, output_size=1, seed=1)
    square = np.exp(2 * layer.diagonal.log_modulus)
    z = (square.mean() - (0.36 + 0.81) / 2) / (0.45 / math.sqrt(12) / math.sqrt(20000))
    assert abs(z) < 4
    assert square.min() >= 0.36
    assert square.max() <= 0.81
    assert abs(layer.diagonal.phase.mean() - 0.5) < 4 / math.sqrt(12 * 20000)
    weights = layer.B / layer.normalizer[:, None]
    assert abs(np.mean(np.abs(weights) ** 2) - 1) < 4 / math.sqrt(20000)
    assert abs(np.mean(weights**2)) < 4 * math.sqrt(2 / 20000)  # proper: E b^2 = 0
    assert abs(np.sum(np.abs(layer.C) ** 2) - 2) < 2 * 4 / math.sqrt(20000)


@pytest.mark.parametrize(("r_min", "r_max"), [(0.0, 0.9), (0.5, 0.95), (0.9, 0.99), (0.7, 0.7), (0.0, 1.0)])
@pytest.mark.parametrize("normalized", [True, False])
def test_ring_average_against_draws(r_min, r_max, normalized):
    exact = lru_average(80, r_min=r_min, r_max=r_max, normalized=normalized)
    assert not exact.error.any()
    draws = drawn_average(
        lambda seed: lru(400, 4, r_min=r_min, r_max=r_max, normalized=normalized, seed=seed), 80, draws=100, seed=3
    )
    z = (draws.energy / 400 - exact.energy)[1:] / (draws.error[1:] / 400)
    assert np.abs(z).max() < z_bound(z.size)


@pytest.mark.parametrize(("r_min", "r_max"), [(0.0, 0.9), (0.9, 0.999), (0.7, 0.7), (0.8999999, 0.9)])
def test_ring_limit(r_min, r_max):
    limit = lru_average_limit(r_min, r_max)
    assert lru_average(60000, r_min=r_min, r_max=r_max, normalized=False).energy[-1] == pytest.approx(limit, rel=1e-7)
    assert lru_average(60000, r_min=r_min, r_max=r_max).energy[-1] == pytest.approx(1.0, rel=1e-9)
    if r_min < r_max:
        a, b = r_min**2, r_max**2
        assert limit == pytest.approx(math.log((1 - a) / (1 - b)) / (b - a), rel=1e-8)


def test_no_limit_at_the_unit_circle():
    with pytest.raises(ValueError, match=r"r_max must be below 1 here, got 1.0: .* like log t"):
        lru_average_limit(0.5, 1.0)
    path = lru_average(10**5, r_max=1.0, normalized=False).energy
    assert path[-1] == pytest.approx(math.log(10**5) + 0.5772156649, rel=1e-5)  # the harmonic sum


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: lru(4, 2, r_min=0.9, r_max=0.5),
            "0 <= r_min <= r_max <= 1 and r_max > 0, got r_min=0.9 and r_max=0.5",
        ),
        (lambda: lru(4, 2, r_max=1.1), "radii must satisfy .* r_max=1.1"),
        (lambda: lru(4, 2, r_max=math.nan), "radii must satisfy .* r_max=nan"),
        (lambda: lru(4, 2, r_min=1.0), "r_min must be below 1"),
        (lambda: lru(4, 2, max_phase=-1.0), "max_phase must lie"),
        (lambda: lru(0, 2), "state_size must be at least 1"),
        (lambda: LRU([0.0], [0.1], [[1.0]]), "log_modulus must be below 0"),
        (lambda: LRU([-0.1], [0.1, 0.2], [[1.0]]), "phase must have one angle for each of the 1 units"),
        (lambda: LRU([-0.1], [0.1], [[1.0], [2.0]]), "B must have one row for each of the 1 units"),
        (lambda: LRU([-0.1], [0.1], [[1.0]], normalizer=[1.0, 2.0]), "normalizer must have one factor per unit"),
        (lambda: LRU([math.nan], [0.1], [[1.0]]), "log_modulus must be finite, got nan"),
        (lambda: lru_average(-1), "horizon must be at least 0"),
        (lambda: lru(4, 2).to_rotrnn(heads=3), "the 4 units must be divisible by heads, got 3"),
    ],
)
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
