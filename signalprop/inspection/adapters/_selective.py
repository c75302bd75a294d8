"""What layers with a step size Delta = softplus(..) share: the functions, and the published laws of A and of Delta."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.laws import GENERIC, Law, LawFit, constant, counting, log_uniform, nearest, uniform
from signalprop.inspection.tensors import Stored

Floats = NDArray[np.float64]


def softplus(x: Floats) -> Floats:
    """log(1 + e^x)."""
    return np.asarray(np.logaddexp(0.0, x))


A_LAWS: tuple[Law, ...] = (
    counting("Mamba 2 of transformers, Bamba, FalconH1, GraniteMoeHybrid, NemotronH, Zamba2"),
    uniform(1.0, 16.0, "Mamba 2 (mamba_ssm), Kimi Linear, GLM5-Next"),
    uniform(0.0, 16.0, "Gated DeltaNet (NVlabs, FLA), OLMo Hybrid"),
    uniform(0.01, 16.0, "Qwen3-Next of transformers"),
)
"""Laws of A = exp(A_log), one number per head: copies of one layer differ."""

DT_LAWS: tuple[Law, ...] = (
    log_uniform(1e-3, 1e-1, "Mamba, Mamba 2, Gated DeltaNet, OLMo Hybrid, Zamba2"),
    constant(float(np.logaddexp(0.0, 1.0)), "Qwen3-Next, Bamba, FalconH1, GraniteMoeHybrid (dt_bias = 1)"),
)
"""Laws of the step size softplus(dt_bias)."""


def one_law(
    quantity: str,
    tensor: Stored,
    function: Callable[[Floats], Floats],
    laws: Iterable[Law],
    generic: Iterable[Law] = GENERIC,
    *,
    infinite: str = "-",
) -> LawFit:
    """The nearest law of a monotone function of a parameter, and of the parameter itself for those that say nothing.

    Half of the way to each neighbour is what rounding to the type of storage leaves open.
    """
    values = tensor.numbers(infinite=infinite)
    below, above = tensor.real_type.neighbours(values)
    low, high = 0.5 * (values + below), 0.5 * (values + above)
    with np.errstate(over="ignore"):
        ends = function(low), function(high)
    best = nearest(quantity, np.minimum(*ends), np.maximum(*ends), laws)
    if best.fits:
        return best
    plain = nearest(tensor.name, low, high, generic)
    return plain if plain.fits else best
