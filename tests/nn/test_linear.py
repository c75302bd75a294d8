"""A layer as a `LinearRecurrence` and back: the same states, outputs and energies."""

import numpy as np
import pytest
import torch
from gated_layers import GATED
from layers import LINEAR, draw, make
from scipy.linalg import expm

from signalprop import recurrences
from signalprop.nn import LRU, Bidirectional, DenseLinearRNN, Recurrence, RotRNN
from signalprop.recurrences.skew import orthogonal_from_skew, skew_from_orthogonal
from tests.gaussian import z_bound

FROM = {
    "lru": lambda r: LRU.from_linear(r, dtype=torch.float64),
    "lru learned": lambda r: LRU.from_linear(r, normalizer="learned", dtype=torch.float64),
    "dense": lambda r: DenseLinearRNN.from_linear(r, horizon=20, dtype=torch.float64),
    "rotrnn": lambda r: RotRNN.from_linear(r, dtype=torch.float64),
}


def back(kind):
    return FROM.get(kind) or FROM["dense" if kind == "orthogonal" else "rotrnn"]


def squares(states):
    return (np.abs(states) ** 2).sum(-1)


def trained(kind):
    """A layer away from its initial law: some steps of an optimiser, on a loss that moves every parameter."""
    layer, inputs = make(kind), draw(8, 30, 3)
    optimizer = torch.optim.Adam(layer.parameters(), 0.02)
    for _ in range(5):
        optimizer.zero_grad()
        (layer(inputs) - inputs.roll(2, 1)).square().mean().backward()
        optimizer.step()
    return layer


@pytest.mark.parametrize("kind", LINEAR)
def test_states_and_outputs_are_those_of_the_layer(kind):
    layer, inputs = trained(kind), draw(2, 40, 3)
    linear = layer.linear()
    states = layer.states(inputs).detach().square().sum(-1).numpy()
    np.testing.assert_allclose(squares(linear.run(inputs.numpy())), states, rtol=1e-9, atol=1e-12)
    fed = (layer(inputs) - layer.D * inputs).detach().numpy()
    np.testing.assert_allclose(linear.outputs(inputs.numpy()), fed, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_energies_are_what_the_layer_measures(kind, rho):
    """Means of `state_energy` over Gaussian inputs, white and AR(1), against the exact path by its exact variance."""
    samples, steps = 3000, 25
    layer, noise = trained(kind), draw(samples, steps, 3, seed=4)
    inputs = [noise[:, 0]]
    for fresh in noise.unbind(1)[1:]:
        inputs.append(rho * inputs[-1] + (1 - rho**2) ** 0.5 * fresh)
    measured = layer.state_energy(torch.stack(inputs, 1)).numpy()
    linear = layer.linear()
    stderr = np.sqrt(linear.energy_variance(steps, correlation=rho)[1:] / samples)
    z = (measured - linear.energy(steps, correlation=rho)[1:]) / stderr
    assert np.abs(z).max() < z_bound(steps)


def test_the_limit_of_my_layer_is_one_call():
    layer = make("rotrnn odd")
    assert layer.linear().stationary_energy() == pytest.approx(3.0)  # of each head: 1
    linear = make("lru").linear()
    assert linear.stationary_energy(correlation=0.9) == pytest.approx(linear.energy(5000, correlation=0.9)[-1])


@pytest.mark.parametrize("kind", LINEAR)
def test_there_and_back(kind):
    layer, inputs = trained(kind), draw(2, 60, 3)
    again = back(kind)(layer.linear())
    assert type(again) is type(layer)
    torch.testing.assert_close(again(inputs), layer(inputs) - layer.D * inputs, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(again.state_energy(inputs), layer.state_energy(inputs), rtol=1e-9, atol=1e-10)
    assert again.D is None
    if kind.startswith("lru"):
        for name, parameter in again.named_parameters():
            torch.testing.assert_close(parameter, getattr(layer, name), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("draw_one", "kind"),
    [
        (lambda: recurrences.lru(6, 3, r_min=0.3, r_max=0.99, output_size=3), "lru"),
        (lambda: recurrences.lru(6, 3, r_max=0.9, normalized=False), "lru learned"),
        (lambda: recurrences.s5(12, 3), "lru"),
        (lambda: recurrences.s4d_lin(8, channels=3), "lru learned"),
        (lambda: recurrences.rotrnn(10, 3, heads=2, output_size=3), "rotrnn"),
        (lambda: recurrences.rotrnn(12, 3, heads=2, first_step=True, rotation="cayley"), "rotrnn"),
        (lambda: recurrences.rotrnn(3, 2, heads=3), "rotrnn"),
        (lambda: recurrences.RotRNN([[0.3], [0.4]], np.arange(1.0, 9.0).reshape(2, 2, 2), gamma=0.9), "rotrnn"),
        (lambda: recurrences.gaussian(6), "dense"),
        (lambda: recurrences.orthogonal(6, gamma=0.9), "dense"),
        (lambda: recurrences.s4(6), "dense"),
        (lambda: recurrences.rotrnn(6, 3, heads=2), "dense"),
    ],
)
def test_a_recurrence_becomes_a_layer(draw_one, kind):
    given = draw_one()
    layer, inputs = FROM[kind](given), draw(2, 30, given.input_size)
    states = layer.states(inputs).detach().square().sum(-1).numpy()
    np.testing.assert_allclose(squares(given.run(inputs.numpy())), states, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(layer.linear().energy(30, correlation=0.5), given.energy(30, correlation=0.5), rtol=1e-9)
    if given.C is not None:
        np.testing.assert_allclose(layer(inputs).detach().numpy(), given.outputs(inputs.numpy()), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_basis_seen_from_behind(size):
    """Determinant -1, which no exponential has: the same state matrix has another basis."""
    basis = orthogonal_from_skew(np.array([np.triu(np.ones((size, size)), 1) - np.tril(np.ones((size, size)), -1)] * 2))
    basis[1, :, 0] *= -1.0
    angles = np.linspace(0.2, 0.9, 2 * (size // 2)).reshape(2, -1)
    given = recurrences.RotRNN(angles, np.arange(1.0, 1.0 + 2 * size).reshape(2, size, 1), gamma=0.8, basis=basis)
    layer = RotRNN.from_linear(given, dtype=torch.float64)
    np.testing.assert_allclose(layer.linear().A.dense(), given.A.dense(), atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_a_rotation_has_a_skew_logarithm(size):
    rng = np.random.Generator(np.random.Philox(size))
    skew = rng.standard_normal((4, size, size)) * np.array([0.0, 1e-9, 1.0, 5.0])[:, None, None]
    rotations = orthogonal_from_skew(skew - np.swapaxes(skew, 1, 2))
    found = skew_from_orthogonal(rotations)
    np.testing.assert_array_equal(found, -np.swapaxes(found, 1, 2))
    for log, rotation in zip(found, rotations, strict=True):
        np.testing.assert_allclose(expm(log), rotation, atol=1e-12)


def test_half_turns_have_a_logarithm_and_mirrors_have_none():
    turned = np.diag([-1.0, 1.0, -1.0, -1.0, -1.0])
    np.testing.assert_allclose(expm(skew_from_orthogonal(turned)), turned, atol=1e-12)
    with pytest.raises(ValueError, match="must be a rotation, got one of determinant -1"):
        skew_from_orthogonal(np.diag([1.0, -1.0]))


def test_both_ways_are_two_recurrences():
    both = Bidirectional(make("lru"), make("rotrnn"))
    ahead, behind = both.linear()
    np.testing.assert_array_equal(ahead.energy(9), both.ahead.linear().energy(9))
    np.testing.assert_array_equal(behind.energy(9), both.back.linear().energy(9))
    with pytest.raises(ValueError, match=r"back must be a recurrence of signalprop\.nn, got Identity"):
        Bidirectional(make("lru"), torch.nn.Identity()).linear()


def test_a_recurrence_is_a_copy_in_float64_of_layers_in_any_type():
    layer = make("lru", dtype=torch.bfloat16)
    linear = layer.linear()
    before = linear.energy(5)
    with torch.no_grad():
        layer.nu.add_(1.0)
        layer.B.add_(1.0)
    np.testing.assert_array_equal(linear.energy(5), before)
    assert linear.B.dtype == np.complex128


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: LRU.from_linear(np.eye(2)), "recurrence must be a LinearRecurrence with a diagonal A, got ndarray"),
        (lambda: LRU.from_linear(recurrences.gaussian(3)), "an LRU has a diagonal A, got one of Dense"),
        (lambda: LRU.from_linear(recurrences.lru(3, 2, first_step=True)), "an LRU starts as it goes on"),
        (lambda: LRU.from_linear(recurrences.LinearRecurrence([0.5, 1.0], np.eye(2))), "moduli must be below 1, got 1"),
        (
            lambda: LRU.from_linear(recurrences.lru(3, 2, output_size=4)),
            "as many outputs as inputs, .* of 2 inputs and 4",
        ),
        (lambda: RotRNN.from_linear(recurrences.lru(3, 2)), r"a RotRNN of signalprop\.recurrences, got LRU"),
        (lambda: RotRNN.from_linear(recurrences.lru(3, 2).to_rotrnn()), "B of a RotRNN layer is normalised"),
        (lambda: DenseLinearRNN.from_linear(recurrences.lru(3, 2), horizon=5), "is real, got a complex A"),
        (lambda: make("lru", device="meta").linear(), "B of LRU.* is on the meta device"),
    ],
)
def test_what_cannot_be_converted_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("kind", GATED)
def test_gates_leave_no_linear_recurrence(kind):
    with pytest.raises(ValueError, match="depends on its inputs, so it is no linear recurrence"):
        make(kind).linear()


def test_a_layer_of_yours_says_so_itself():
    with pytest.raises(NotImplementedError, match="Mine does not say which linear recurrence it is"):
        type("Mine", (Recurrence,), {})(2, 2).linear()
