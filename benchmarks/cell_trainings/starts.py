"""How a cell can start: recurrent kernel, size of the input kernel, biases of the gates."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from benchmarks.cell_trainings.cells import LAYERS
from benchmarks.cell_trainings.tasks import Task
from signalprop import safe_scale
from signalprop._streams import stream
from signalprop.meanfield import chrono_biases, critical_scale

LEAK = 0.1
WIDE = 1.0  # standard deviation that inputs add to a preactivation in the starts whose name has "wide"
WIDTH = {"linear": 128}


@dataclass(frozen=True)
class Start:
    """A recurrent kernel, what it is multiplied by, whether inputs are made `WIDE`, and biases.

    kernel: "default" (uniform, PyTorch's), "gaussian" (variance 1/n), "orthogonal" (Haar), "identity", or "leaky",
    (1 - a) I + a G with Gaussian G and a = `LEAK`; of gated cells, gate by gate. scale: "one", "critical" (chi = 1 at the
    standard deviation that the inputs add), "quantile" (`signalprop.safe_scale`) or "he" (sqrt 2). biases: "default", PyTorch's;
    "zero"; of gated cells, where the biases that are not named are PyTorch's, "chrono", or "one" and "log", which put 1 and log T
    into the forget gates of an LSTM and the update gates of a GRU.
    """

    kernel: str = "default"
    scale: str = "one"
    wide: bool = False
    biases: str = "zero"


_RNN = {
    "default": Start(biases="default"),
    "gaussian": Start("gaussian"),
    "quantile": Start("gaussian", "quantile"),
    "orthogonal": Start("orthogonal"),
    "identity": Start("identity"),
}
_WIDE = {
    "orthogonal wide": Start("orthogonal", wide=True),
    "identity wide": Start("identity", wide=True),
    "leaky wide": Start("leaky", wide=True),
}
_GATED = {
    "default": Start(biases="default"),
    "gaussian": Start("gaussian", biases="default"),
    "orthogonal": Start("orthogonal", biases="default"),
    "chrono": Start(biases="chrono"),
    "gaussian chrono": Start("gaussian", biases="chrono"),
    "orthogonal chrono": Start("orthogonal", biases="chrono"),
    "orthogonal chrono wide": Start("orthogonal", wide=True, biases="chrono"),
    "one": Start(biases="one"),
    "log": Start(biases="log"),
}
STARTS: dict[str, dict[str, Start]] = {
    "tanh": _RNN
    | {"critical": Start("gaussian", "critical"), "gaussian wide": Start("gaussian", wide=True)}
    | _WIDE
    | {
        "critical wide": Start("gaussian", "critical", wide=True),
        "orthogonal critical wide": Start("orthogonal", "critical", wide=True),
    },
    "relu": _RNN | {"he": Start("gaussian", "he")} | _WIDE | {"he wide": Start("gaussian", "he", wide=True)},
    "linear": _RNN,
    "gru": _GATED,
    "lstm": _GATED,
}


def width(cell: str) -> int:
    """N."""
    return WIDTH.get(cell, 64)


def input_std(task: Task, n: int) -> float:
    """Standard deviation that PyTorch's input kernel, uniform on +-1/sqrt(n), adds to a preactivation, over units and steps."""
    return math.sqrt(task.mean_square / (3.0 * n))


@cache
def scale(cell: str, start: str, task: Task) -> float:
    """What the recurrent kernel of a start is multiplied by."""
    one, n = STARTS[cell][start], width(cell)
    if one.scale == "critical":
        return float(critical_scale(cell, WIDE if one.wide else input_std(task, n)))
    if one.scale == "quantile":
        return safe_scale(n, task.horizon).scale
    return math.sqrt(2.0) if one.scale == "he" else 1.0


def parameters(cell: str, start: str, task: Task, seed: int) -> dict[str, Tensor]:
    """W, U, b_input, b_hidden, and the read-out C, c; all starts of a seed are made of the same random numbers."""
    one, n, gates = STARTS[cell][start], width(cell), LAYERS[cell].gates
    k, side = gates * n, 1.0 / math.sqrt(n)

    def uniform(name: str, *shape: int) -> Tensor:
        draw = stream(seed, "cell trainings", "parameters", cell, name)
        return torch.from_numpy(draw.uniform(-side, side, shape).astype(np.float32))

    found = {
        "U": uniform("U", k, task.features),
        "b_input": uniform("b_input", k),
        "b_hidden": uniform("b_hidden", k),
        "C": uniform("C", task.outputs, n),
        "c": uniform("c", task.outputs),
    }
    normal = stream(seed, "cell trainings", "parameters", cell, "G").standard_normal((gates, n, n))
    kernel = uniform("W", k, n) if one.kernel == "default" else torch.cat([_KERNELS[one.kernel](G) for G in normal])
    found["W"] = scale(cell, start, task) * kernel
    if one.wide:
        found["U"] *= WIDE / input_std(task, n)
    _set_biases(cell, one.biases, task.horizon, found)
    return found


def _set_biases(cell: str, biases: str, horizon: int, found: dict[str, Tensor]) -> None:
    """PyTorch's two vectors add up, so one of them takes the value and the other 0."""
    n = width(cell)
    if biases == "default":
        return
    if biases == "zero":
        found["b_input"].zero_()
        found["b_hidden"].zero_()
        return
    values = torch.full((n,), {"one": 1.0, "log": math.log(horizon)}.get(biases, 0.0))
    gates = {1: 1.0}  # the forget gate of an LSTM and the update gate of a GRU are both the second
    if biases == "chrono":
        values = torch.from_numpy(chrono_biases(n, horizon)).float()
        gates |= {0: -1.0} if cell == "lstm" else {}
    for gate, sign in gates.items():
        found["b_input"][gate * n : (gate + 1) * n] = sign * values
        found["b_hidden"][gate * n : (gate + 1) * n] = 0.0


def _orthogonal(G: np.ndarray) -> Tensor:
    Q, R = np.linalg.qr(G)
    return torch.from_numpy((Q * np.sign(np.diag(R))).astype(np.float32))


def _gaussian(G: np.ndarray) -> Tensor:
    return torch.from_numpy((G / math.sqrt(len(G))).astype(np.float32))


_KERNELS: dict[str, Callable[[np.ndarray], Tensor]] = {
    "gaussian": _gaussian,
    "orthogonal": _orthogonal,
    "identity": lambda G: torch.eye(len(G)),
    "leaky": lambda G: (1.0 - LEAK) * torch.eye(len(G)) + LEAK * _gaussian(G),
}
