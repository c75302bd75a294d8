r"""State-space baselines: S4 (HiPPO-LegS, bilinear), S4D-Lin and S5 (HiPPO-N diagonalised), zero-order hold.

Each is linear and time-invariant once discretised, so the same recursion of second moments is exact. S4D and S5 keep one
of each conjugate pair and read out 2 Re(C x); energies here are those of the states that are kept.
References: S4 arXiv:2111.00396, S4D arXiv:2206.11893, S5 arXiv:2208.04933, HiPPO arXiv:2008.07669.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import even_number, real_array, seed_of, whole_number
from signalprop._streams import stream
from signalprop.recurrences import laws
from signalprop.recurrences.arguments import check_numbers
from signalprop.recurrences.dense_operators import Triangular
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Diagonal
from signalprop.recurrences.power_sums import Floats, complex_expm1

_MOST_STORED = 10**4  # states of a matrix that is stored
_PAIRED = "because conjugate pairs are kept once"


def hippo_legs(n: int) -> tuple[Floats, Floats]:
    r"""HiPPO-LegS: A of shape (n, n) and B of shape (n,).

    .. math:: A_{ij} = -\sqrt{(2i+1)(2j+1)}\;(i>j),\quad -(i+1)\;(i=j),\quad 0\;(i<j);\qquad B_i = \sqrt{2i+1}

    Examples
    --------
    >>> hippo_legs(2)[0].round(4) + 0.0
    array([[-1.    ,  0.    ],
           [-1.7321, -2.    ]])
    """
    return _legs(whole_number(n, "n", 1, _MOST_STORED))


def _legs(size: int) -> tuple[Floats, Floats]:
    root = np.sqrt(2.0 * np.arange(size) + 1.0)
    return -np.tril(np.outer(root, root), -1) - np.diag(np.arange(len(root)) + 1.0), root


def hippo_normal(n: int) -> Floats:
    r"""HiPPO-N, the normal part of HiPPO-LegS: ``A + p p^T`` with ``p_i = sqrt(i + 1/2)``.

    It is -1/2 on the diagonal and skew off it, so its eigenvalues have real part -1/2.

    Examples
    --------
    >>> hippo_normal(2).round(4)
    array([[-0.5  ,  0.866],
           [-0.866, -0.5  ]])
    """
    return _normal(whole_number(n, "n", 1, _MOST_STORED))


def _normal(size: int) -> Floats:
    p = np.sqrt(np.arange(size) + 0.5)
    product = np.outer(p, p)
    return np.triu(product, 1) - np.tril(product, -1) - 0.5 * np.eye(len(p))


def hippo_normal_modes(n: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Eigenvalues of HiPPO-N with positive imaginary part, ascending, and their orthonormal eigenvectors (columns).

    Raises
    ------
    ValueError
        An odd n, which leaves one real eigenvalue without a partner.
    """
    return _normal_modes(even_number(n, "n", 2, _MOST_STORED, _PAIRED))


def normal_modes_of(state_size: Any) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """`hippo_normal_modes` where its argument is called `state_size`."""
    return _normal_modes(even_number(state_size, "state_size", 2, _MOST_STORED, _PAIRED))


def _normal_modes(size: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    skew = _normal(size) + 0.5 * np.eye(size)
    frequencies, vectors = np.linalg.eigh(-1j * skew)
    return -0.5 + 1j * frequencies[size // 2 :], vectors[:, size // 2 :]


def s4(
    state_size: int, *, dt: float | None = None, dt_range: tuple[float, float] = laws.TIME_STEPS, seed: int = 0
) -> LinearRecurrence:
    r"""One S4 channel: HiPPO-LegS by the bilinear rule, a triangular state matrix.

    .. math:: \bar A = (I-\tfrac{\Delta}{2}A)^{-1}(I+\tfrac{\Delta}{2}A),\qquad \bar B = (I-\tfrac{\Delta}{2}A)^{-1}\Delta B

    LegS is lower triangular with diagonal -1, -2, .., and the rule keeps it triangular: the spectral radius is
    :math:`\max_{i<N}|1-\Delta(i+1)/2|/(1+\Delta(i+1)/2)`. Status P.

    Parameters
    ----------
    state_size
        N, at most 10^4.
    dt
        Time step; None draws it log-uniform in `dt_range`.

    Raises
    ------
    ValueError
        A step that is not positive, an invalid range.

    Examples
    --------
    >>> round(s4(256, dt=0.1).A.spectral_radius(), 12) == round(0.95 / 1.05, 12)
    True
    """
    A, B = _legs(whole_number(state_size, "state_size", 1, _MOST_STORED))
    step = float(_steps("s4", dt, dt_range, 1, seed)[0])
    one = np.eye(len(A))
    implicit = one - step / 2.0 * A
    # Forward substitution leaves exact zeros above the diagonal.
    from scipy.linalg import solve_triangular

    explicit, entry = one + step / 2.0 * A, step * B[:, None]
    moved = solve_triangular(implicit, np.hstack([explicit, entry]), lower=True)
    return LinearRecurrence(Triangular(np.tril(moved[:, :-1])), moved[:, -1:])


def s4d_lin(
    state_size: int,
    *,
    channels: int = 1,
    dt: ArrayLike | None = None,
    dt_range: tuple[float, float] = laws.TIME_STEPS,
    seed: int = 0,
) -> LinearRecurrence:
    r"""S4D-Lin: ``A_n = -1/2 + i pi n``, n < N/2, B = 1, zero-order hold; each channel has its own input and is one head.

    .. math:: \bar\lambda = e^{\Delta\lambda},\qquad \bar b = (\bar\lambda-1)/\lambda

    Parameters
    ----------
    state_size
        N real states per channel, kept as N/2 complex ones.
    channels
        Heads of the recurrence, inputs of the layer.
    dt
        One step, or one per channel; None draws them log-uniform in `dt_range`.

    Raises
    ------
    ValueError
        An odd state size, a step that is not positive.

    Examples
    --------
    >>> s4d_lin(4, dt=0.1).A.values.round(4)
    array([0.9512+0.j    , 0.9047+0.2939j])
    """
    count = whole_number(channels, "channels", 1, 10**4)
    values = -0.5 + 1j * math.pi * np.arange(even_number(state_size, "state_size", 2, 10**6, _PAIRED) // 2)
    steps = _steps("s4d_lin", dt, dt_range, count, seed)
    held = _hold(values, steps[:, None]).ravel()
    check_numbers(2 * held.size * count, "B")
    entry = np.zeros((held.size, count), np.complex128)
    entry[np.arange(held.size), np.repeat(np.arange(count), len(values))] = held
    turned = (steps[:, None] * values).ravel()
    return LinearRecurrence(Diagonal(turned.real, turned.imag), entry, heads=count)


def s5(
    state_size: int,
    input_size: int,
    *,
    dt: ArrayLike | None = None,
    dt_range: tuple[float, float] = laws.TIME_STEPS,
    seed: int = 0,
) -> LinearRecurrence:
    """S5: HiPPO-N in its eigenbasis, zero-order hold with one time step per state, many inputs.

    B is drawn real with variance 1/N per entry and turned into the eigenbasis, ``V* B``.

    Parameters
    ----------
    state_size
        N real states, kept as N/2 complex ones.
    input_size
        d.
    dt
        One step, or one per kept state; None draws them log-uniform in `dt_range`.

    Raises
    ------
    ValueError
        An odd state size, a step that is not positive.

    Examples
    --------
    >>> round(s5(8, 3, dt=0.1).A.spectral_radius(), 9) == round(math.exp(-0.05), 9)
    True
    """
    values, vectors = normal_modes_of(state_size)
    inputs = whole_number(input_size, "input_size", 1, 10**6)
    check_numbers(2 * len(vectors) * inputs, "B")
    steps = _steps("s5", dt, dt_range, len(values), seed)
    rng = stream(seed_of(seed), "s5", len(values), inputs)
    entry = vectors.conj().T @ (rng.standard_normal((len(vectors), inputs)) / math.sqrt(len(vectors)))
    turned = steps * values
    return LinearRecurrence(Diagonal(turned.real, turned.imag), _hold(values, steps)[:, None] * entry)


def _steps(kind: str, dt: ArrayLike | None, dt_range: tuple[float, float], count: int, seed: int) -> Floats:
    ends, root = laws.checked_time_steps(dt_range), seed_of(seed)
    if dt is None:
        return np.exp(stream(root, "time steps", kind, count).uniform(*ends, count))
    given = real_array(dt, "dt", None, finite=False)
    if given.shape not in ((), (1,), (count,)):
        raise ValueError(f"dt must be one number or {count} of them, got shape {given.shape}.")
    outside = ~((given > 0.0) & (given <= laws.LARGEST_STEP))
    if outside.any():
        worst = float(given[outside].flat[0])
        wanted = f"at most {laws.LARGEST_STEP:g}" if worst > 0.0 else "a positive finite number"
        raise ValueError(f"dt must be {wanted}, got {worst}.")
    return np.array(np.broadcast_to(given, (count,)))


def _hold(values: NDArray[Any], steps: Floats) -> NDArray[np.complex128]:
    """``(e^{dt lambda} - 1)/lambda``, the input of a zero-order hold."""
    held: NDArray[np.complex128] = complex_expm1(steps * values) / values
    return held
