r"""Gradients through GRU and LSTM with random weights: second moments per unit, with any biases of the gates.

PyTorch's cells. Every recurrent block of W has independent entries of variance g^2/n; s^2 is the variance that inputs add to
the preactivation of a gate; b are biases per unit, the sum of PyTorch's two vectors where they only add. M_h is the mean over
units of E h^2, where the states have settled, so a gate has the preactivation a ~ N(b, v), v = g^2 M_h + s^2. M is the mean
over units of E dh^2: a tangent adds da ~ N(0, g^2 M) to every preactivation. All da are taken as independent of the states,
and gates as independent from step to step: then cross terms vanish and squares add.

LSTM, c' = f c + i k, h' = o tanh c' with i, f, o = sigmoid(a) and k = tanh(a):

.. math::
   \mathrm E\,dc'^2 &= \mathrm Ef^2\,\mathrm Edc^2
      + g^2M\,(\mathrm Ec^2\,\mathrm E\dot f^2+\mathrm E\dot\imath^2\,\mathrm Ek^2+\mathrm Ei^2\,\mathrm E\dot k^2)\\
   \mathrm E\,dh'^2 &= \mathrm Eo^2\,\mathrm E(1-\tanh^2c)^2\,\mathrm Edc'^2+g^2M\,\mathrm E\dot o^2\,\mathrm E\tanh^2c

where a dot is the derivative in a, and c is taken as Gaussian with the mean and variance that the same recursion gives it,
E c' = Ef Ec + Ei Ek and E c'^2 = Ef^2 Ec^2 + Ei^2 Ek^2 + 2 Ef Ec Ei Ek.

GRU, h' = (1-z) k + z h, k = tanh(u + r y) with z, r = sigmoid(a), u = W_in x + b ~ N(b, s^2) and y = W_hn h + b_y ~ N(b_y,
g^2 M_h). A tangent changes h' by z dh + z'(h - k) da_z + (1-z)(1 - k^2)(r dy + r' y da_r), so

.. math::
   \mathrm E\,dh'^2 = \mathrm Ez^2\,\mathrm Edh^2+g^2M\,\bigl[\mathrm E\dot z^2\,\mathrm E(h-k)^2
      +\mathrm E(1-z)^2\,\mathrm E(1-k^2)^2(r^2+\dot r^2y^2)\bigr] .

Given r, w = u + r y is Gaussian and y given w too, so the last mean is one over a_r and w. E h' = E(1-z) Ek + Ez Eh and
E h'^2 = E(1-z)^2 Ek^2 + Ez^2 Eh^2 + 2 E(z-z^2) Ek Eh.

Both are diagonal in the units with a coupling of rank one, through M. Moments of this kind: Chen, Pennington and Schoenholz
(arXiv:1806.05394), Gilboa et al. (arXiv:1901.08987); biases for a memory of T steps: Tallec and Ollivier (arXiv:1804.11188).

Other libraries. Keras and Flax have one bias where PyTorch adds two; the means here are of their sum. Keras' LSTM starts its
forget gates at 1 (`unit_forget_bias`). Gates are stacked i, f, g, o in PyTorch and Keras' LSTM, r, z, n in PyTorch's and z,
r, n in Keras' GRU. Keras' GRU with ``reset_after=True`` and Flax' GRUCell are the cell above; with ``reset_after=False`` r
multiplies h before the weights, which is another cell.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import between, positive_float
from signalprop.meanfield._gates import (
    LARGEST_RULE,
    GatedGradient,
    carried,
    checked_biases,
    checked_horizon,
    rule,
    settle,
    unit_means,
)

Floats = NDArray[np.float64]
LARGEST_SCALE = 100.0
_WIDE = 20.0  # standard deviation of c beyond which tanh c is a step


def lstm_gradient(
    horizon: int,
    scale: float,
    input_std: float,
    *,
    input_gate: ArrayLike = 0.0,
    forget_gate: ArrayLike = 0.0,
    candidate: ArrayLike = 0.0,
    output_gate: ArrayLike = 0.0,
) -> GatedGradient:
    """Mean energy of a gradient through an LSTM, from (c_0, h_0) to (c_t, h_t), at large width.

    Parameters
    ----------
    horizon
        T, 0 to 1e6 steps.
    scale
        g, up to 100: every recurrent block has entries of variance g^2/n.
    input_std
        s, 0 to 100: standard deviation that inputs add to the preactivation of each gate.
    input_gate, forget_gate, candidate, output_gate
        Biases, one for all units or one for each, between -100 and 100.

    Returns
    -------
    GatedGradient

    Raises
    ------
    ValueError
        Arguments outside of these ranges, or with different numbers of units.

    Notes
    -----
    Status H, by the formulas in the text above. With fresh W at every step draws of PyTorch's cells at n = 96 agree within
    their noise, 3 to 10 % of the mean energy. For one W it is a starting guess: paths that meet W equally often, at other
    steps, add up in one W, and are left out here. Medians of 16 draws by torch.autograd at n = 128, T = 100, s = 1, in
    brackets what is found here: chrono biases, g = 1: -4.6 (-5.1); forget bias 1, g = 1: -41 (-60); the same, g = 3: +3
    (-19); no biases, g = s = 1/sqrt(3): -103 (-126).

    `state_energy` takes what inputs add as independent from gate to gate. With F unit features in place of that, it is, over
    what was drawn (n = 192, g = 1, s = 2): 1.2, 1.1, 1.0 for F = 1, 2, 8 without biases. With chrono biases for 100 steps it
    is far too small, for input gate and candidate go together and slow units add that up: 0.20, 0.22, 0.34, 0.82, 0.98 for
    F = 1, 2, 8, 64, 1000, and at s = 1 0.08, 0.12, 0.26, 0.75, 0.95.

    Cost: units * T, and a quadrature for each unit while the states settle.

    Examples
    --------
    >>> from signalprop.meanfield import chrono_biases
    >>> forget = chrono_biases(64, 100)
    >>> found = lstm_gradient(100, 1.0, 1.0, input_gate=-forget, forget_gate=forget)
    >>> round(float(found.log_energy[-1]), 1)
    -5.1
    """
    steps, g, s = _checked(horizon, scale, input_std)
    b = checked_biases(
        {"input_gate": input_gate, "forget_gate": forget_gate, "candidate": candidate, "output_gate": output_gate}
    )

    def moments(energy: float) -> tuple[dict[str, Floats], Floats, Floats]:
        """Moments of the gates, and mean and mean square of c, for one mean square of h."""
        v = np.asarray(g * g * energy + s * s)
        gates = {name: unit_means(_sigmoids, b[name], v) for name in ("input_gate", "forget_gate", "output_gate")}
        gates["candidate"] = unit_means(_tanhs, b["candidate"], v)
        i1, i2 = gates["input_gate"][:2]
        f1, _, _, lost1, lost2 = gates["forget_gate"][:5]
        k1, k2, _ = gates["candidate"]
        mean = i1 * k1 / lost1
        square = (i2 * k2 + 2.0 * f1 * mean * i1 * k1) / lost2
        return gates, mean, square

    def energy_after(energy: float) -> float:
        gates, mean, square = moments(energy)
        return float(np.mean(gates["output_gate"][1] * _of_cell(mean, square)[0]))

    energy = settle(energy_after)
    gates, mean, square = moments(energy)
    (_, i2, di), (_, f2, df), (_, o2, do) = (gates[f"{name}_gate"][:3] for name in ("input", "forget", "output"))
    _, k2, dk = gates["candidate"]
    tanh2, slope2 = _of_cell(mean, square)
    coupled = g * g * (square * df + di * k2 + i2 * dk)
    path = carried(steps, f2, coupled, o2 * slope2, g * g * do * tanh2)
    return GatedGradient(path, energy)


def gru_gradient(
    horizon: int,
    scale: float,
    input_std: float,
    *,
    reset_gate: ArrayLike = 0.0,
    update_gate: ArrayLike = 0.0,
    candidate: ArrayLike = 0.0,
    candidate_hidden: ArrayLike = 0.0,
) -> GatedGradient:
    """Mean energy of a gradient through a GRU, from h_0 to h_t, at large width.

    Parameters
    ----------
    horizon, scale, input_std
        As in `lstm_gradient`.
    reset_gate, update_gate, candidate, candidate_hidden
        Biases, one for all units or one for each, between -100 and 100: of r; of z, which keeps h where it is near 1; of the
        candidate's input; and of what r multiplies (the last third of PyTorch's ``bias_hh``).

    Returns
    -------
    GatedGradient

    Raises
    ------
    ValueError
        As for `lstm_gradient`.

    Notes
    -----
    Status H, with errors of the same kind as those of `lstm_gradient`. Medians of 16 draws by torch.autograd at n = 128, T = 100,
    s = 1, in brackets what is found here: chrono biases, g = 1: -4.2 (-4.7); update bias 1, g = 1: -48 (-59); the same, g = 3:
    -3.9 (-10.9); no biases, g = s = 1/sqrt(3): -100 (-124). `state_energy` for F input features, as in `lstm_gradient`: 1.3, 1.1,
    1.1 for F = 1, 2, 8 without biases, and 0.22, 0.27, 0.45, 0.84, 0.99 for F = 1, 2, 8, 64, 1000 with chrono biases.
    Cost as for `lstm_gradient`, with a quadrature over a plane for each unit.

    Examples
    --------
    >>> from signalprop.meanfield import chrono_biases
    >>> found = gru_gradient(100, 1.0, 1.0, update_gate=chrono_biases(64, 100))
    >>> round(float(found.log_energy[-1]), 1)
    -4.7
    """
    steps, g, s = _checked(horizon, scale, input_std)
    b = checked_biases(
        {
            "reset_gate": reset_gate,
            "update_gate": update_gate,
            "candidate": candidate,
            "candidate_hidden": candidate_hidden,
        }
    )

    def moments(energy: float) -> tuple[tuple[Floats, Floats, Floats], Floats, Floats, Floats, Floats]:
        """Moments of z, mean square of h, and moments of the candidate, per unit, for one mean square of h."""
        v = g * g * energy + s * s
        _, z2, dz, _, lost2, new2, both = unit_means(_sigmoids, b["update_gate"], np.asarray(v))
        k1, k2, through = _candidate(b, v, g * g * energy, s)
        square = (new2 * k2 + 2.0 * both * k1 * k1) / lost2  # E h is E k
        return (z2, dz, new2), square, k1, k2, through

    energy = settle(lambda energy: float(np.mean(moments(energy)[1])))
    (z2, dz, new2), square, k1, k2, through = moments(energy)
    away = square + k2 - 2.0 * k1 * k1  # E (h - k)^2
    coupled = g * g * (dz * away + new2 * through)
    # One vector per unit: y' = x', and of x + y each is one half.
    return GatedGradient(carried(steps, z2, coupled, np.ones(1), np.zeros(1)), energy)


def _checked(horizon: Any, scale: Any, input_std: Any) -> tuple[int, float, float]:
    g = between(positive_float(scale, "scale"), "scale", 1e-6, LARGEST_SCALE)
    return checked_horizon(horizon), g, between(input_std, "input_std", 0.0, LARGEST_SCALE)


def _sigmoid(a: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(a), dtype=np.float64)


def _sigmoids(a: Floats) -> Floats:
    """The gate s, s^2, s'^2, and without a loss of digits 1 - s, 1 - s^2, (1 - s)^2, s(1 - s)."""
    gate, rest = _sigmoid(a), _sigmoid(-a)
    return np.stack([gate, gate**2, (gate * rest) ** 2, rest, rest * (1.0 + gate), rest**2, gate * rest])


def _tanhs(a: Floats) -> Floats:
    """tanh, its square, and the square of its derivative."""
    value = np.tanh(a)
    return np.stack([value, value**2, (1.0 - value**2) ** 2])


def _of_cell(mean: Floats, square: Floats) -> tuple[Floats, Floats]:
    """E tanh^2 c and E (1 - tanh^2 c)^2 per unit, for Gaussian c."""
    variance = np.maximum(square - mean**2, 0.0)
    _, tanh2, slope2 = unit_means(_tanhs, mean, np.minimum(variance, _WIDE**2))
    # Beyond, tanh is a step, of which the integrals of 1 - tanh^2 and its square, 2 and 4/3, are left: within 1e-3.
    wide = np.sqrt(np.maximum(variance, _WIDE**2))
    density = np.exp(-0.5 * np.minimum(np.abs(mean) / wide, 40.0) ** 2) / (math.sqrt(2.0 * math.pi) * wide)
    spread = variance > _WIDE**2
    return np.where(spread, 1.0 - 2.0 * density, tanh2), np.where(spread, 4.0 / 3.0 * density, slope2)


def _candidate(b: dict[str, Floats], gate: float, hidden: float, s: float) -> tuple[Floats, Floats, Floats]:
    """E k, E k^2 and E (1 - k^2)^2 (r^2 + r'^2 y^2) per unit: a rule over a_r, and inside one over w = u + r y."""
    rows = np.stack([b[name] for name in ("reset_gate", "candidate", "candidate_hidden")], axis=-1)
    rows, units = np.unique(rows, axis=0, return_inverse=True)  # most often all units have the same
    reset, centre_in, centre_hidden = rows.T
    points, weights = rule(gate)
    nodes, masses = rule(s * s + hidden)
    if reset.size * points.size * nodes.size > LARGEST_RULE:
        raise ValueError(
            f"scale and input_std have preactivations of variance {gate:.3g}, for which the {reset.size} different units need "
            f"more points than {LARGEST_RULE:g}; take smaller ones, or fewer different biases of r and of the candidate."
        )
    r = _sigmoid(reset[:, None] + math.sqrt(gate) * points)
    slope = (r * (1.0 - r)) ** 2
    centre, variance = centre_in[:, None] + r * centre_hidden[:, None], s * s + r * r * hidden
    spread = np.sqrt(variance)[..., None] * nodes
    k = np.tanh(centre[..., None] + spread)
    share = np.where(variance > 0.0, r * hidden / np.maximum(variance, 1e-300), 0.0)  # of w that y has
    rest = hidden * (1.0 - r * share)
    y2 = (centre_hidden[:, None, None] + share[..., None] * spread) ** 2 + rest[..., None]
    through = (1.0 - k**2) ** 2 * (r[..., None] ** 2 + slope[..., None] * y2)
    first, second, third = (((one @ masses) @ weights)[units.reshape(-1)] for one in (k, k**2, through))
    return first, second, third
