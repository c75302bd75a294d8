import math
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import torch
from jax.experimental import sparse as jax_sparse
from scipy import sparse

from signalprop._streams import stream
from signalprop.initialization import propagate

RNG = np.random.default_rng(0)
W = RNG.standard_normal((40, 40)) / math.sqrt(40)


def test_paths_are_powers_of_the_matrix():
    found = propagate(W, 30, directions=5, seed=3)
    x = stream(3, "directions", 40).standard_normal((40, 5))
    for k in (0, 1, 7, 30):
        power = np.linalg.matrix_power(W, k)
        for paths, matrix in ((found.log_signal, power), (found.log_gradient, power.T)):
            want = np.log(np.sum((matrix @ x) ** 2, axis=0) / np.sum(x**2, axis=0))
            np.testing.assert_allclose(paths[:, k], want, atol=1e-10)
    assert found.scale == pytest.approx(math.sqrt(40 * np.mean(W**2)))


def test_complex_gradients_use_the_adjoint():
    matrix = W + 1j * RNG.standard_normal((40, 40))
    found = propagate(matrix, 4, directions=2)
    generator = stream(0, "directions", 40)
    x = generator.standard_normal((40, 2)) + 1j * generator.standard_normal((40, 2))
    back = np.linalg.matrix_power(matrix.conj().T, 4) @ x
    np.testing.assert_allclose(
        found.log_gradient[:, 4], np.log(np.sum(abs(back) ** 2, 0) / np.sum(abs(x) ** 2, 0)), atol=1e-10
    )


def test_draws_of_ginibre_lie_in_their_band_as_often_as_promised():
    # One direction a matrix: independent draws, 90 % of them inside.
    inside = 0
    for seed in range(300):
        matrix = np.random.default_rng(seed).standard_normal((50, 50)) / math.sqrt(50)
        found = propagate(matrix, 60, directions=1, seed=seed)
        low, _, high = found.band()
        # The scale is measured from the matrix; the band is taken at the scale of the law.
        shift = 2 * 60 * math.log(found.scale)
        inside += low - shift <= found.log_signal[0, -1] <= high - shift
    assert abs(inside / 300 - 0.9) < 3.5 * math.sqrt(0.9 * 0.1 / 300) + 0.01


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_nothing_overflows(factor):
    found = propagate(factor * W, 1000, directions=2)
    assert np.isfinite(found.log_signal).all()
    plain = propagate(W, 1000, directions=2)
    np.testing.assert_allclose(found.log_signal[:, -1], plain.log_signal[:, -1] + 2000 * math.log(factor), rtol=1e-9)
    assert found.scale == pytest.approx(factor * plain.scale)


def test_what_it_says():
    orthogonal = propagate(np.linalg.qr(W)[0], 200)
    assert "preserves energy" in str(orthogonal)
    assert "among those of Gaussian draws" in str(propagate(W, 20))
    assert "above the band" in str(propagate(W + 0.1, 60))
    assert "40 x 40, real" in str(orthogonal)
    assert "preserves" not in str(propagate(1.00005 * np.linalg.qr(W)[0], 1000))


def test_what_holds_a_matrix_makes_no_difference():
    want = propagate(W.astype(np.float32), 9, directions=3).log_signal
    tensor = torch.tensor(W, dtype=torch.float32)
    rnn, cell, linear = torch.nn.RNN(3, 40), torch.nn.RNNCell(3, 40), torch.nn.Linear(40, 40)
    with torch.no_grad():
        for kernel in (rnn.weight_hh_l0, cell.weight_hh, linear.weight):
            kernel.copy_(tensor)
    for holder in (tensor, tensor.requires_grad_(), rnn, cell, linear, jnp.asarray(W, dtype=jnp.float32)):
        np.testing.assert_allclose(propagate(holder, 9, directions=3).log_signal, want, atol=1e-9)
    half = propagate(torch.tensor(W, dtype=torch.bfloat16), 9, directions=3).log_signal
    np.testing.assert_allclose(half, want, atol=0.5)
    rotated = torch.tensor(W + 1j * W)
    np.testing.assert_allclose(propagate(rotated, 9).scale, math.sqrt(2) * propagate(W, 9).scale)


SPARSE = np.where(np.random.default_rng(8).random((40, 40)) < 0.2, np.round(W, 2), 0.0)


@pytest.mark.parametrize(
    "hold",
    [
        *(
            getattr(sparse, f"{kind}_{what}")
            for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
            for what in ("matrix", "array")
        ),
        lambda w: quiet(np.matrix, w),
        np.ma.masked_array,
        pd.DataFrame,
        lambda w: w.tolist(),
        lambda w: w.astype(np.longdouble),
        lambda w: torch.tensor(w).to_sparse(),
        lambda w: quiet(torch.tensor(w).to_sparse_csr),
        lambda w: torch.nn.Parameter(torch.tensor(w)),
        lambda w: jax_sparse.BCOO.fromdense(jnp.asarray(w, dtype=jnp.float32)),
        jnp.asarray,
    ],
)
def test_every_holder_of_the_numbers_gives_the_same_path(hold):
    want = propagate(SPARSE, 9, directions=3).log_signal
    np.testing.assert_allclose(propagate(hold(SPARSE), 9, directions=3).log_signal, want, atol=1e-5)


def test_numbers_of_few_bits():
    coarse = np.round(4.0 * W) / 4.0  # exact in each type below
    want = propagate(coarse, 9, directions=3).log_signal
    quantised = quiet(torch.quantize_per_tensor, torch.tensor(coarse, dtype=torch.float32), 0.25, 0, torch.qint8)
    for held in (quantised, torch.tensor(coarse, dtype=torch.float16), jnp.asarray(coarse, dtype=jnp.bfloat16)):
        np.testing.assert_allclose(propagate(held, 9, directions=3).log_signal, want, atol=1e-12)
    np.testing.assert_allclose(
        propagate((4 * coarse).astype(np.int8), 9, directions=3).scale, propagate(4 * coarse, 9).scale
    )


def quiet(make, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that PyTorch calls experimental, or is about to drop
        return make(*arguments)


def test_nilpotent_matrices_end_in_nothing():
    found = propagate(np.eye(6, k=1), 10)
    assert (found.log_signal[:, 6:] == -np.inf).all()
    assert str(found)
    assert found.plot()


def test_figure():
    figure = propagate(W, 25).plot()
    assert [axes.get_title().split(",")[0] for axes in figure.axes] == ["signal", "gradient"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: propagate(np.zeros((3, 5)), 5), r"square matrix, got ndarray of shape \(3, 5\)"),
        (lambda: propagate(np.zeros((3, 3)), 5), "weights must not be all zero"),
        (lambda: propagate(np.full((3, 3), np.nan), 5), "9 entries that are not finite"),
        (lambda: propagate(np.eye(3), 0), "horizon must be at least 1, got 0"),
        (lambda: propagate(np.eye(3), 5, directions=0), "directions must be at least 1"),
        (lambda: propagate(torch.nn.GRU(3, 4), 5), "GRU has gates, so its recurrence is not W alone"),
        (lambda: propagate(torch.nn.Linear(3, 4), 5), r"square matrix, got Parameter of shape \(4, 3\)"),
        (lambda: propagate(torch.empty(3, 3, device="meta"), 5), "on the meta device"),
        (lambda: propagate(torch.nn.ReLU(), 5), "got a module ReLU"),
        (lambda: propagate("W", 5), "square matrix of numbers, got str that holds none"),
        (lambda: propagate([[1.0, 2.0], [3.0]], 5), "square matrix of numbers, got list that holds none"),
        (lambda: propagate([["a", "b"], ["c", "d"]], 5), "square matrix of numbers, got list that holds none"),
        (lambda: propagate(None, 5), "square matrix of numbers, got NoneType that holds none"),
        (lambda: propagate(np.full((2, 2), None), 5), "square matrix of numbers, got ndarray that holds none"),
        (lambda: propagate(pd.DataFrame({"a": ["x"]}), 5), "square matrix of numbers, got DataFrame that holds none"),
        (
            lambda: propagate(sparse.linalg.aslinearoperator(np.eye(3)), 5),
            "square matrix of numbers, got .*Operator that",
        ),
        (lambda: propagate(sparse.csr_matrix((3, 4)), 5), r"square matrix, got csr_matrix of shape \(3, 4\)"),
        (
            lambda: propagate(sparse.csr_matrix((10**6, 10**6)), 5),
            r"at most 268435456 entries, .* got shape \(1000000, 1000000\)",
        ),
        (lambda: propagate(np.ma.masked_less(np.eye(3), 0.5), 5), "6 masked entries; fill them first"),
        (lambda: propagate(np.zeros((0, 0)), 5), r"square matrix, got ndarray of shape \(0, 0\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
