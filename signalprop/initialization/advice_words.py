"""Every sentence and line to paste of the advice, each once: `signalprop scale` and the explorer fill them in.

What each criterion promises stands with it, in `signalprop.initialization.criteria`. Names in braces are replaced by text that is already formatted. Lines to paste run as they stand, imports included.
"""

from __future__ import annotations

SENTENCES = {
    "head": "Width {n}, horizon {steps}, {field} Gaussian weights (h <- W h)",
    # Answers.
    "keep": "Glorot is fine here: keep the usual Gaussian scale, standard deviation 1/sqrt(n).",
    "rescale": "Scale Glorot by g = {g} (standard deviation {std} instead of {glorot_std}): a Gaussian matrix can {just}hold a signal this long.",
    "rescale_one": "Keep Glorot's own scale, g = 1 (standard deviation {std}): a smaller one is not needed to keep 95 % of draws below ten times their energy. But draws differ much: a Gaussian matrix can {just}hold a signal this long.",
    "replace": "Do not use Gaussian recurrent weights for this: no scale works. Glorot {fate}, and a scale small enough not to explode forgets. Use a recurrence that preserves norms, as shown below.",
    "cells_first": "This is for a linear layer. For a tanh or ReLU RNN, a GRU or an LSTM {option}.",
    # Why.
    "time": "{steps} {are} {c} times sqrt({n}). Applied again and again, one Gaussian matrix of width n keeps the energy (squared length) of a signal for only a few times sqrt(n) steps. The same holds for gradients carried back in time.",
    "draws": "One draw of W is what you train. 90 % of draws end between {low} and {high} of the energy they started with, the typical one at {median}. {share} pass ten times their energy on the way.",
    "average_still": "The average over draws has not moved by 0.1 %.",
    "average_grown": "The average over draws has grown by {percent} %.",
    "average_is": "The average over draws is {mean}.",
    "end": "Where it ends. From about {held} on no scale keeps 95 % of draws within a factor of ten.",
    "end_average": "Where it ends. From {average} on the average is off by more than 10 %. From about {held} on no scale keeps 95 % of draws within a factor of ten.",
    "end_average_past": "Where it ends. The average is off by more than 10 % from {average} on, which few draws show. From about {held} on no scale keeps 95 % of draws within a factor of ten.",
    "glorot_all_grow": "Glorot (g = 1) {fate}: a typical draw of W multiplies the energy by {median}, and only the mildest 5 % of draws stay below {low}.",
    "glorot_grows": "Glorot (g = 1) {fate}: a typical draw of W multiplies the energy by {median}, and 90 % of draws end between {low} and {high}.",
    "glorot_spreads": "Glorot (g = 1) {fate}: a typical draw of W has {median} of its initial energy at step {horizon}, and 90 % of draws end between {low} and {high}; {share} pass ten times their energy on the way.",
    "scaled": "With g = {g} 95 % of draws stay below ten times their energy at every step; at step {horizon} the typical draw has {median} of its energy left, one draw in twenty less than {low}.",
    "forgets": "A smaller scale keeps the signal from exploding, but forgets it. g = {g} times Glorot keeps 95 % of draws below ten times their energy at every step; the energy left at step {horizon} is then typically {median}{nothing}.",
    "held": "{kept} of draws stay within a factor of ten, up or down, at every step{best}.",
    "budget_within": "Width {n} keeps 95 % of draws that close for about {budget}.",
    "budget_past": "Width {n} keeps 95 % of draws that close for about {budget} at most",
    "budget_none": "Width {n} does not keep 95 % of draws that close for even one step",
    "width_needed": "; {steps} would take a width of about {width}.",
    "width_none": "; no width in reach would do it for this horizon.",
    # What to paste.
    "paste": "Paste",
    "paste_more": "If that is not enough: a recurrence that preserves norms",
    "paste_norm": "What to do: a recurrence that preserves norms",
    "paste_gaussian": "If it must be Gaussian and must not explode",
    "orthogonal": "Orthogonal W keeps the energy at exactly 1 at every step.",
    "unitary": "Unitary W keeps the energy at exactly 1 at every step.",
    "unitary_quaternion": "Unitary quaternion W (orthonormal columns) keeps the energy at exactly 1 at every step.",
    "layers": "Training may pull it away from orthogonal. These PyTorch layers keep all moduli below one by construction, here initialized for a memory of about {steps}.",
    "heads": "Heads: with one head of 512 states a training step of RotRNN took about 50 times as long as with 32 heads, and 394 thousand parameters instead of 140 thousand (d_model 128); each head also has a memory of its own.",
    "trained": "In trainings of this linear recurrence far past its budget (widths 64 to 256, 9 to 88 times sqrt(n) steps, two tasks, 150 Adam steps with clipped gradients, 10 seeds) an orthogonal start scored best in 12 of 12 settings. It learned through its input and output weights: the smallest learning rate tried for W was chosen each time, and frozen W scored the same. Glorot scored better than the scale that keeps 95 % of draws bounded, also in 12 of 12.",
    # Details.
    "columns": "'energy left' is what the typical (median) draw has at the horizon, '> 10x' the share of draws that pass ten times their energy on the way, 'std' the standard deviation of one entry of W.",
    "subcritical": "The horizon is well below sqrt(n) steps, where infinite-width theory holds (the subcritical regime).",
    "critical": "The horizon is of the order of sqrt(n) steps, where draws spread apart (the critical regime).",
    "supercritical": "The horizon is far past sqrt(n) steps, and below n/10 (the supercritical regime).",
    "linear": "The horizon is comparable with the width (the linear regime).",
    "superlinear": "The horizon is more than ten times the width (the superlinear regime).",
    "mean_rare": "The average over draws is {mean}, carried by fewer than one draw in a hundred. The scale that bounds it, g = {bounded}, throws the signal away needlessly ({left} left in the typical draw): it is for ensembles and theory. One draw is what you train: read 'quantile'.",
    "mean_strict": "The average over draws is {mean}. 'bounded' asks more of the average (within 1.1x) than 'quantile' asks of one draw (within 10x); one draw is what you train, so 'quantile' is the one to read.",
    "mean_plain": "The average over draws is {mean}.",
    "mean_unknown": "The exact average, and with it 'bounded' and 'minimax', is computed up to 20000 steps only.",
    "torch_default": "PyTorch's own default for such weights, uniform with standard deviation 1/sqrt(3n), is g = {g}: the typical draw has {left} of its energy left at step {horizon}.",
    "complex_weights": "Complex weights of this width would allow g = {g} and typically leave {left}.",
    "scope": "Exact for a linear recurrence, h <- W h; right for a tanh one while inputs and signal are small.",
    "picture": "The picture: {command}",
    "status": "How sure: the average is {average}. What single draws do is read from a table of simulated draws: {safe}. To cite: {command}",
    "status_draws": "How sure: what single draws do is read from a table of simulated draws: {safe}. To cite: {command}",
    "safe": "'quantile' has the 95 % interval {low} .. {high}",
    "safe_capped": "'quantile' is Glorot's own g = 1, and draws keep its promise up to g = {largest} (95 % interval {low} .. {high})",
}  # fmt: skip

# Lines to paste: a label, and the code.
CODE = {
    "gaussian_torch": (
        "PyTorch",
        """\
import torch
from signalprop.initialization.torch import ginibre_
W = torch.nn.Parameter(torch.empty({n}, {n}))  # your own W
ginibre_(W, {argument})""",
    ),
    "gaussian_torch_alone": (
        "PyTorch without this package",
        """\
import torch
W = torch.nn.Parameter(torch.empty({n}, {n}))  # your own W
torch.nn.init.normal_(W, std={std})""",
    ),
    "gaussian_jax": (
        "JAX",
        """\
import jax
from signalprop.initialization.jax import ginibre
n = {n}
W = ginibre({argument})(jax.random.key(0), (n, n))""",
    ),
    "complex_torch": (
        "PyTorch",
        """\
import torch
from signalprop.initialization.torch import ginibre_
n = {n}
W = ginibre_(torch.empty(n, n, dtype=torch.complex64), {argument})""",
    ),
    "complex_jax": (
        "JAX",
        """\
import jax
from signalprop.initialization.jax import ginibre
n = {n}
W = ginibre({argument})(jax.random.key(0), (n, n), "complex64")""",
    ),
    "quaternion_numpy": (
        "NumPy, four real parts per entry",
        """\
import numpy as np
n = {n}
W = {part_std} * np.random.default_rng().standard_normal((n, n, 4))""",
    ),
    "orthogonal_torch": (
        "PyTorch",
        """\
import torch
W = torch.nn.Parameter(torch.empty({n}, {n}))  # your own W
torch.nn.init.orthogonal_(W)""",
    ),
    "orthogonal_jax": (
        "JAX",
        """\
import jax
n = {n}
W = jax.nn.initializers.orthogonal()(jax.random.key(0), (n, n))""",
    ),
    "unitary_torch": (
        "PyTorch",
        """\
import torch
n = {n}
W, _ = torch.linalg.qr(torch.randn(n, n, dtype=torch.complex64))""",
    ),
    "unitary_jax": (
        "JAX",
        """\
import jax
n = {n}
G = jax.random.normal(jax.random.key(0), (n, n), "complex64")
W, _ = jax.numpy.linalg.qr(G)""",
    ),
    "rotrnn": (
        "RotRNN",
        """\
from signalprop.nn import RotRNN
d_model = 128  # width of its inputs and outputs: yours
layer = RotRNN(d_model, {n}, heads={heads},
               gamma_min={near}, gamma_max={far})""",
    ),
    "lru": (
        "LRU",
        """\
from signalprop.nn import LRU
d_model = 128  # width of its inputs and outputs: yours
layer = LRU(d_model, {n}, r_min={near}, r_max={far})""",
    ),
}


def sentence(name: str, **values: object) -> str:
    """A sentence filled in."""
    return SENTENCES[name].format(**values)


def code(name: str, **values: object) -> tuple[str, str]:
    """The label of a block to paste, and its lines filled in."""
    label, text = CODE[name]
    return label, text.format(**values)
