r"""Gated delta nets: S_t = alpha_t S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T, alpha = exp(-A softplus(a_t + dt_bias)).

A = exp(A_log), one number per head; dt_bias one per head (Gated DeltaNet) or per channel of the keys (Kimi Delta Attention,
whose alpha stands inside of the product). At the step size that the bias sets alpha is exp(-A softplus(dt_bias)).

Overwriting forgets too: for keys of length 1 in all directions alike the mean energy of S is multiplied by alpha^2 (1 - (2
beta - beta^2)/d) per step, d the size of a key (Status P for such keys). beta = 1/2 where nothing is added to its sigmoid,
and 1 where the layer doubles it. The path of a layer has both; units are alpha alone.

Code read, and three laws of one decay. fla/layers/gated_deltanet.py (fla-org/flash-linear-attention 0243cc45,
arXiv:2412.06464): A uniform from 0 to 16, softplus(dt_bias) log-uniform from 0.001 to 0.1; OLMo Hybrid of transformers 5.24
has the same, and doubles beta. Qwen3-Next of transformers 5.24, models/qwen3_next/modeling_qwen3_next.py (Qwen3.5 and others
too): A uniform from 0.01 to 16, dt_bias = 1. Kimi Linear of transformers 5.24, models/kimi_linear/modeling_kimi_linear.py: A
uniform from 1 to 16. All compute alpha in float32, from A_log as it is stored: log of a zero that was drawn in bfloat16 is
minus infinity, and alpha then 1.

GLM5-Next and Ling have a gate with a lower bound, log alpha = bound sigmoid(A (a_t + dt_bias)); it is read from a live
module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from signalprop._topics import Topic
from signalprop.inspection.adapters._selective import A_LAWS, DT_LAWS, one_law, softplus
from signalprop.inspection.adapters.mamba import gate_words
from signalprop.inspection.adapters.mamba2 import DELTA_RULE
from signalprop.inspection.decays import Formula, Step, decays_of
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Tensors

Floats = NDArray[np.float64]
_FORGET_GATE = ("f_a_proj.weight", "f_b_proj.weight", "f_proj.weight", "f_proj.0.weight")


def log_alpha(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """-A softplus(dt_bias), per head or per head and channel."""
    A, bias = _heads(values)
    return -rounded(rounded(np.exp(A)) * rounded(softplus(rounded(bias + shift))))


def bounded(lower: float) -> Formula:
    """The gate with a lower bound on log alpha."""

    def log_bounded(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
        A, bias = _heads(values)
        inside = rounded(rounded(np.exp(A)) * rounded(bias + shift))
        return rounded(lower * rounded(1.0 / (1.0 + np.exp(-inside))))

    return log_bounded


def _heads(values: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    A, bias = values["A_log"].ravel(), values["dt_bias"].ravel()
    return (A, bias) if A.size == bias.size else (A[:, None], bias.reshape(A.size, -1))


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    def accept(site: Site) -> bool:
        A, bias = site.parameters["A_log"], site.parameters.get("dt_bias")
        heads = int(np.prod(A.shape))
        if bias is None or not A.floating or heads != max(A.shape, default=0) or int(np.prod(bias.shape)) % heads:
            return False
        return forced or site.beside(*DELTA_RULE, *_FORGET_GATE) is not None

    return sites_of(tensors, ("A_log", ("A_log",)), {"dt_bias": ("dt_bias",)}, accept)


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    A, bias = site.parameters["A_log"], site.parameters["dt_bias"]
    lower = _lower_bound(site)
    decays = decays_of(
        log_alpha if lower is None else bounded(lower),
        {"A_log": A, "dt_bias": bias},
        ("head",) if A.shape == bias.shape else ("head", "channel"),
        infinite=("A_log",),
        computed_in="float32",
        input_std=settings.input_std or 0.0,
    )
    size, beta = _key_size(site, len(decays.rate)), 1.0 if _attribute(site, "allow_neg_eigval") else 0.5
    lost = 0.0 if size is None else -math.log1p(-min((2.0 * beta - beta * beta) / size, 1.0 - 1e-16))
    whole = replace(decays, rate=decays.rate + 0.5 * lost)
    assumes = [gate_words(settings.input_std)]
    if size is None:
        assumes.append(
            "Overwriting by the delta rule is left out, for the size of its keys is not known: memories are too long."
        )
    else:
        assumes.append(
            f"Keys have {size} entries and point in all directions alike, and beta = {beta:g}: overwriting alone leaves 1/e "
            f"after {1.0 / lost:.0f} steps. It is in the memory of a layer, and not in that of a {decays.axes[-1]}."
        )
    return [
        LayerReport(
            name=site.name,
            adapter="gated-delta",
            about=f"gated delta rule, {len(decays.rate)} heads",
            parameters=(A.name, bias.name),
            storage=A.storage,
            forward=whole.path("forward", settings.reach),
            gradient=whole.path("gradient", settings.reach),
            units=decays,
            laws=(
                one_law("A = exp(A_log)", A, np.exp, A_LAWS),
                one_law("step size softplus(dt_bias)", bias, softplus, DT_LAWS),
            ),
            assumes=tuple(assumes),
            details={"key_size": math.nan if size is None else size, "beta": beta},
        )
    ]


def _around(site: Site) -> Iterator[Site]:
    """The module, and the one above where the gate is a module of its own."""
    yield site
    home = site.name.rpartition(".")[0]
    if site.name and any(name in site.name.rpartition(".")[2] for name in ("gate", "f_proj")):
        yield Site(home, site.parameters, site.tensors)


def _attribute(site: Site, name: str) -> object:
    return next((found for place in _around(site) if (found := place.attribute(name)) is not None), None)


def _lower_bound(site: Site) -> float | None:
    if site.attribute("safe_gate") is False:
        return None
    lower = site.attribute("safe_gate_lower_bound", site.attribute("lower_bound"))
    return None if lower is None else float(lower)


def _key_size(site: Site, heads: int) -> int | None:
    """d: of a live module its attribute; of a file from the shapes of projections, or of the norm of the values."""
    for name in ("head_k_dim", "head_dim"):
        if isinstance(found := _attribute(site, name), int):
            return found
    for place in _around(site):
        if (keys := place.beside("k_proj.weight", "q_proj.weight")) is not None and keys.shape[0] % heads == 0:
            return int(keys.shape[0]) // heads
        if (norm := place.beside("norm.weight", "o_norm.weight")) is not None:
            return int(norm.shape[0])
    return None


GATED_DELTA = Adapter(
    about="Gated DeltaNet, Qwen3-Next, OLMo Hybrid, Kimi Linear and other gated delta rules",
    find=_find,
    look=_look,
    cites=Topic("gated delta networks", ("yang2024",)),
)
