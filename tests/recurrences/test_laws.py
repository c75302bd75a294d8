"""One initial law and one set of ranges: layers of `recurrences` and of `nn` against the published law and each other."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from signalprop import nn, recurrences
from signalprop.recurrences import laws
from tests.gaussian import z_bound, z_of_power

N, D, HEADS = 4000, 3, 500


def lru_numbers(where):
    """log-modulus, phase, B, C, D of one layer in one convention."""
    options = {"r_min": 0.6, "r_max": 0.95, "max_phase": 1.0}
    if where == "recurrences":
        layer = recurrences.lru(N, D, output_size=D, seed=5, **options)
        return layer.diagonal.log_modulus, layer.diagonal.phase, layer.B / layer.normalizer[:, None], layer.C
    torch.manual_seed(5)
    layer = nn.LRU(D, N, dtype=torch.float64, **options)
    B, C = layer.B.detach().numpy(), layer.C.detach().numpy()
    nu, theta = layer.nu.detach().numpy(), layer.theta.detach().numpy()
    return -np.exp(nu), np.exp(theta), B[:, 0] + 1j * B[:, 1], C[..., 0] + 1j * C[..., 1]


def rotrnn_numbers(where):
    """g, angles, M - M^T (or B only), C."""
    options = {"heads": HEADS, "max_phase": 0.5}
    if where == "recurrences":
        layer = recurrences.rotrnn(N, D, output_size=D, gamma_range=(0.5, 0.99), seed=6, **options)
        weights = layer.B / np.repeat(layer.xi, N // HEADS)[:, None]
        return np.log(-layer.rotations.log_gamma), layer.rotations.angles, weights, layer.C
    torch.manual_seed(6)
    layer = nn.RotRNN(D, N, gamma_min=0.5, gamma_max=0.99, dtype=torch.float64, **options)
    return tuple(each.detach().numpy() for each in (layer.g, layer.theta, layer.B, layer.C))


@pytest.mark.parametrize("where", ["recurrences", "nn"])
def test_the_published_law_of_the_lru(where):
    log_modulus, phase, B, C = lru_numbers(where)
    scores = [
        z_of_power(np.stack([B.real, B.imag]), 1 / (2 * D)),  # B_re, B_im ~ N(0, 1/(2 d))
        z_of_power(np.stack([C.real, C.imag]), 1 / N),  # C_re, C_im ~ N(0, 1/N): N E|c|^2 = 2
        np.sum(C.real * C.imag) * N / math.sqrt(C.size),
        np.sum(B.real * B.imag) * 2 * D / math.sqrt(B.size),
    ]
    assert np.abs(scores).max() < z_bound(len(scores))
    assert stats.kstest(np.exp(2 * log_modulus), stats.uniform(0.36, 0.95**2 - 0.36).cdf).pvalue > 1e-6
    assert stats.kstest(phase, stats.uniform(0, 1.0).cdf).pvalue > 1e-6


@pytest.mark.parametrize("where", ["recurrences", "nn"])
def test_the_published_law_of_the_rotrnn(where):
    g, angles, B, C = rotrnn_numbers(where)
    scores = [z_of_power(B, 1 / D), z_of_power(C, 1 / N)]  # N E c^2 = 1
    assert np.abs(scores).max() < z_bound(len(scores))
    low, high = math.log(-math.log(0.99)), math.log(-math.log(0.5))
    assert stats.kstest(g.ravel(), stats.uniform(low, high - low).cdf).pvalue > 1e-6
    assert stats.kstest(angles.ravel(), stats.uniform(0, 0.5).cdf).pvalue > 1e-6


@pytest.mark.parametrize("numbers", [lru_numbers, rotrnn_numbers])
def test_both_places_draw_one_law(numbers):
    """Each parameter's second moment in one place over the other: the difference of two means, with its own error."""
    for ours, theirs in zip(numbers("recurrences"), numbers("nn"), strict=True):
        a, b = (np.abs(each).ravel() ** 2 for each in (ours, theirs))
        assert a.size == b.size
        assert abs(a.mean() - b.mean()) < z_bound(4) * math.sqrt((a.var() + b.var()) / a.size)


def test_normaliser_of_both_is_the_same():
    torch.manual_seed(0)
    layer = nn.LRU(2, 50, r_min=0.5, r_max=0.999, normalizer="learned", dtype=torch.float64)
    log_modulus = -np.exp(layer.nu.detach().numpy())
    rows = layer.B.detach().numpy()
    same = recurrences.LRU(log_modulus, np.exp(layer.theta.detach().numpy()), rows[:, 0] + 1j * rows[:, 1])
    np.testing.assert_allclose(np.exp(layer.gamma_log.detach().numpy()), same.normalizer, rtol=1e-12)


RADII = [(0.0, 1.0, True), (0.5, 0.5, True), (0.0, 1e-3, True), (1 - 1e-12, 1.0, True), (1.0, 1.0, False), (0.0, 0.0, False),
         (0.9, 0.5, False), (-0.1, 0.5, False), (0.5, 1.1, False), (math.nan, 0.5, False), (0.5, math.inf, False),
         (True, 1.0, False), ("0.5", 1.0, False), (None, 1.0, False)]  # fmt: skip
GAMMAS = [(0.9, 0.999, True), (0.9, 0.9, True), (0.0, 0.5, False), (0.5, 1.0, False), (0.6, 0.5, False), (math.nan, 0.9, False),
          (0.5, True, False), ("0.5", 0.9, False), (None, 0.9, False)]  # fmt: skip
PHASES = [(1e-3, True), (2 * math.pi, True), (float(np.float32(2 * math.pi)), True), (6.2832, True), (0.0, False),
          (6.29, False), (-1.0, False), (math.nan, False), (True, False), ("1", False), (None, False)]  # fmt: skip


def accepted(call):
    try:
        call()
    except ValueError as error:
        return False, str(error)
    return True, ""


@pytest.mark.parametrize(("low", "high", "good"), RADII)
def test_both_places_accept_the_same_radii(low, high, good):
    answers = [
        accepted(lambda: recurrences.lru(4, 2, r_min=low, r_max=high)),
        accepted(lambda: nn.LRU(2, 4, r_min=low, r_max=high)),
        accepted(lambda: recurrences.lru_average(5, r_min=low, r_max=high)),
    ]
    assert {one[0] for one in answers} == {good}
    assert len({one[1] for one in answers}) == 1


@pytest.mark.parametrize(("low", "high", "good"), GAMMAS)
def test_both_places_accept_the_same_gammas(low, high, good):
    answers = [
        accepted(lambda: recurrences.rotrnn(4, 2, gamma_range=(low, high))),
        accepted(lambda: nn.RotRNN(2, 4, gamma_min=low, gamma_max=high)),
        accepted(lambda: recurrences.rotrnn_average(5, gamma_range=(low, high))),
    ]
    assert {one[0] for one in answers} == {good}
    assert len({one[1] for one in answers}) == 1


@pytest.mark.parametrize(("phase", "good"), PHASES)
def test_both_places_accept_the_same_phases(phase, good):
    answers = [
        accepted(lambda: recurrences.rotrnn(4, 2, max_phase=phase)),
        accepted(lambda: recurrences.lru(4, 2, max_phase=phase)),
        accepted(lambda: nn.RotRNN(2, 4, max_phase=phase)),
        accepted(lambda: nn.LRU(2, 4, max_phase=phase)),
        accepted(lambda: recurrences.poisson_mean(0.5, phase)),
    ]
    assert {one[0] for one in answers} == {good}
    assert len({one[1] for one in answers}) == 1


def test_defaults_are_those_of_the_laws():
    import inspect

    for draw in (recurrences.lru, nn.LRU):
        given = inspect.signature(draw).parameters
        assert (given["r_min"].default, given["r_max"].default) == laws.MODULI
        assert given["max_phase"].default == laws.MAX_PHASE
    for draw in (recurrences.rotrnn, recurrences.rotrnn_average, nn.RotRNN):
        given = inspect.signature(draw).parameters
        assert (given["gamma_min"].default, given["gamma_max"].default) == laws.GAMMAS


def test_the_older_spelling_of_the_ends_of_gamma():
    wanted = recurrences.rotrnn(6, 2, heads=3, gamma_min=0.5, gamma_max=0.6)
    found = recurrences.rotrnn(6, 2, heads=3, gamma_range=(0.5, 0.6))
    np.testing.assert_array_equal(found.gamma, wanted.gamma)
    assert ((found.gamma >= 0.5) & (found.gamma <= 0.6)).all()
    averages = [
        recurrences.rotrnn_average(5, **ends).energy
        for ends in ({"gamma_min": 0.5, "gamma_max": 0.6}, {"gamma_range": (0.5, 0.6)})
    ]
    np.testing.assert_array_equal(*averages)
    with pytest.raises(ValueError, match=r"gamma_range must be left out where gamma_min and gamma_max are given"):
        recurrences.rotrnn(6, 2, gamma_min=0.5, gamma_range=(0.6, 0.7))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1 - 1e-15, 1.0), (0.999999, 1.0), (0.3, 0.3), (0.0, 1e-200)])
def test_moduli_lie_strictly_inside_the_disc(low, high):
    share = np.clip(np.linspace(0.0, 1.0, 2001), 2.0**-54, 1 - 2.0**-53)
    logs = laws.ring_log_moduli(share, low, high, np)
    assert (logs < 0.0).all()
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(
        logs, laws.ring_log_moduli(torch.from_numpy(share), low, high, torch).numpy(), rtol=1e-14
    )
    middle = np.exp(2 * logs[1000])
    assert middle == pytest.approx((low**2 + high**2) / 2, rel=1e-12)
