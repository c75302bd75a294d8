"""Biases that keep a memory: by the law of a gate under Gaussian inputs, and through cells that are simulated."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from signalprop.cells import gradient_energies
from signalprop.meanfield import chrono_biases, keeping_bias


def kept(bias, s):
    """E sigmoid(b + s z)^2, and one minus it, by adaptive integration."""

    def mean(f):
        return quad(
            lambda z: f(bias + s * z) * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi),
            -12.0, 12.0, epsabs=0.0, epsrel=1e-12, limit=400, points=[max(-11.0, min(11.0, -bias / s))],
        )[0]  # fmt: skip

    return mean(lambda a: expit(a) ** 2), mean(lambda a: expit(-a) * (1.0 + expit(a)))


@pytest.mark.parametrize("s", [1e-3, 0.3, 1.0, 3.0, 10.0])
def test_the_mean_energy_that_a_gate_keeps_is_that_without_inputs(s):
    plain = np.array([-5.0, -0.7, 0.0, 0.4, 2.0, 6.9, 30.0])
    for b, found in zip(plain, keeping_bias(plain, s), strict=True):
        energy, lost = kept(found, s)
        assert lost == pytest.approx(expit(-b) * (1.0 + expit(b)), rel=1e-9)
        assert energy == pytest.approx(expit(b) ** 2, rel=1e-7)


def test_shapes_order_and_no_inputs():
    plain = np.array([[0.0, 3.0], [3.0, -2.0]])
    assert (keeping_bias(plain, 0.0) == plain).all()
    found = keeping_bias(plain, 2.0)
    assert found.shape == (2, 2)
    assert found[0, 1] == found[1, 0]
    assert keeping_bias(3.0, 2.0).shape == ()
    many = keeping_bias(np.linspace(-20.0, 20.0, 500), 4.0)
    assert (np.diff(many) > 0.0).all()
    assert (chrono_biases(9, 50, 1.5) == keeping_bias(chrono_biases(9, 50), 1.5)).all()


def test_far_from_the_step_the_shift_is_half_the_variance():
    assert keeping_bias(60.0, 3.0) - 60.0 == pytest.approx(4.5, abs=1e-9)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_gradient_lasts_whatever_the_inputs_add(cell):
    """Medians of 24 draws whose log-energies spread by less than 1: the sixth of a unit off at most."""

    def left(s, input_std):
        b = chrono_biases(64, 150, input_std)
        gates = {"forget_gate": b, "input_gate": -b} if cell == "lstm" else {"update_gate": b}
        found = gradient_energies(
            cell, 64, 150, draws=24, input_std=s, biases=gates, times=[150], direction="backward", seed=5
        )
        return float(found.quantile(0.5).level[0])

    with_inputs = [left(s, s) for s in (0.3, 1.0, 3.0)]
    assert max(with_inputs) - min(with_inputs) < 1.0
    assert left(3.0, 0.0) < min(with_inputs) - 10.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: keeping_bias(0.0, -1.0), "input_std must lie between 0 and 10, got -1.0"),
        (lambda: keeping_bias(0.0, 10.5), "Normalise inputs that are larger, or make"),
        (lambda: keeping_bias(0.0, math.nan), "input_std must lie between 0 and 10, got"),
        (lambda: keeping_bias([0.0, 101.0], 1.0), "bias must lie between -100 and 100, got 101.0"),
        (lambda: chrono_biases(4, 9.0, math.inf), "input_std must lie between 0 and 10, got"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
