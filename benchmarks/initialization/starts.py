"""Seven ways to start W: Gaussian with g from each criterion or from folklore, and Haar orthogonal."""

from functools import cache

import numpy as np
import torch
from torch import Tensor

from signalprop import safe_scale

STARTS = ("glorot", "edge", "quantile", "minimax", "bounded", "half", "orthogonal")
EDGE_QUANTILE = 0.95  # as in safe_scale
EDGE_DRAWS = 400
# The Gumbel law behind safe_scale's edge converges slowly: at n = 256 it puts the 0.95-quantile of the radius at 1.151, 150
# draws at 1.075. Below this width the radius is sampled.
EDGE_LAW_FROM = 1000


@cache
def scale(start: str, n: int, horizon: int) -> float:
    """The g of a start, W = g G with E g_ij^2 = 1/n; 1 for orthogonal W, which has the same E w_ij^2 = 1/n."""
    if start in ("glorot", "orthogonal"):
        return 1.0
    if start == "half":
        return 0.5
    if start == "edge" and n < EDGE_LAW_FROM:
        return 1.0 / _sampled_edge(n)
    return safe_scale(n, horizon, criterion=start).scale


@cache
def _sampled_edge(n: int) -> float:
    """The 0.95-quantile of the spectral radius at scale 1 over 400 draws."""
    rng = np.random.default_rng(0)
    draws = (rng.standard_normal((n, n)) / np.sqrt(n) for _ in range(EDGE_DRAWS))
    return float(np.quantile([np.abs(np.linalg.eigvals(draw)).max() for draw in draws], EDGE_QUANTILE))


def weights(start: str, n: int, horizon: int, generator: torch.Generator) -> Tensor:
    """W, (n, n); all Gaussian starts of one generator state are multiples of the same draw."""
    if start == "orthogonal":
        return torch.nn.init.orthogonal_(torch.empty(n, n), generator=generator)
    return torch.randn(n, n, generator=generator) * (scale(start, n, horizon) / n**0.5)
