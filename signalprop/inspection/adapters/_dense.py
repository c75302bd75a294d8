"""What dense kernels share: the law they started from, and the sizes of what inputs add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.kernels import Kernel
from signalprop.inspection.laws import GENERIC, Law, LawFit, nearest, normal, uniform
from signalprop.inspection.tensors import Stored

Floats = NDArray[np.float64]
_QUANTITY = "entries of the recurrent kernel"
_ENTRIES = 200_000  # of a kernel that its law is read from
_EQUAL = 1e-4  # relative spread of singular values that rounding to bfloat16 leaves


def kernel_law(tensor: Stored, W: Floats, kernels: Sequence[Kernel]) -> LawFit:
    """The published start that is nearest to a kernel, or to gates stacked in one tensor."""
    rows, n = W.shape
    gates = max(1, rows // n)
    if kernels and all(kernel.spread < _EQUAL and kernel.scale > 0.0 for kernel in kernels):
        g = kernels[0].scale
        if np.array_equal(W, np.tile(W[0, 0] * np.eye(n), (gates, 1))[:rows]):
            return _certain(f"{W[0, 0]:.3g} times the identity", "Le, Jaitly and Hinton (arXiv:1504.00941)")
        return _certain(f"{g:.3g} times an orthogonal matrix", "orthogonal initializers, gate by gate")
    if gates > 1 and rows == gates * n and _columns_are_equal(W):
        scale = math.sqrt(float(np.sum(W**2)) / n)
        return _certain(f"{scale:.3g} times one orthogonal matrix for all gates", "orthogonal_ on the stacked gates")
    sample = W.ravel()[:: max(1, W.size // _ENTRIES)]
    low, high = tensor.real_type.neighbours(tensor.real_type.rounded(sample))
    laws: list[Law] = [
        _within(1.0 / math.sqrt(n), "1/sqrt(n)", "PyTorch's default"),
        _within(math.sqrt(6.0 / (n + rows)), "sqrt(6/(rows + n))", "xavier_uniform_ and glorot_uniform"),
        *GENERIC,
    ]
    std = float(np.sqrt(np.mean(sample**2)))
    if std > 0.0:
        g_words = f"{std * math.sqrt(n):.2g}"
        laws.append(replace(normal(std, "Gaussian initializers"), words=f"normal, of scale g = {g_words}"))
    return nearest(_QUANTITY, 0.5 * (low + sample), 0.5 * (high + sample), laws)


def _certain(words: str, source: str) -> LawFit:
    return LawFit(_QUANTITY, words, source, 0.0, True, False)


def _within(edge: float, words: str, source: str) -> Law:
    return uniform(-edge, edge, source, f"uniform within {words}")


def _columns_are_equal(W: Floats) -> bool:
    gram = W.T @ W
    size = float(np.mean(np.diag(gram)))
    return bool(size > 0.0 and np.abs(gram / size - np.eye(len(gram))).max() < 100 * _EQUAL)


def row_energy(W: Floats) -> float:
    """Mean over rows of the squared length of a row: what unit inputs add to the variance of a preactivation."""
    return float(np.sum(np.abs(W) ** 2)) / len(W)


def says_input(given: float | None) -> str:
    """The sentence on what was taken for inputs; how much they add is the number ``input_std`` of a report."""
    if given is not None:
        return f"Inputs add s = {given:.3g} to each preactivation, as was given."
    return "Inputs have unit variance per feature."
