"""All recurrences at one width on one axis of t: energy built up by inputs, and what is left of one input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from signalprop import recurrences
from signalprop._streams import child_seeds, stream
from signalprop.figures.base import FigureRecord
from signalprop.recurrences import LinearRecurrence
from signalprop.recurrences.dense_operators import Array

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"width": 64, "horizon": 1000, "samples": 100},
    "default": {"width": 64, "horizon": 1000, "samples": 400},
    "full": {"width": 64, "horizon": 1000, "samples": 4000},
}
COLUMNS = {
    "width": "state size",
    "recurrence": "which; all of them are one draw of their initial law at the same state size",
    "step": "step t",
    "energy": "exact E||x_t||^2 from x_0 = 0 over the energy that one input brings in; inputs white unless said otherwise",
    "sampled": "mean of the same over drawn input sequences (empty where not drawn)",
    "sampled_stderr": "its exact standard error",
    "z": "(sampled - energy)/sampled_stderr",
    "left": "exact share of the energy of one input that is left after t steps",
    "left_sampled": "mean of the same over drawn inputs (empty where not drawn)",
    "left_stderr": "its standard error, estimated",
    "samples": "number of draws",
}
CAPTION = (
    "State size 64; inputs are white but for the one curve that says otherwise. Left: a fresh input at every step, in units "
    "of what one input brings in. Right: what is left of one input. Lines are exact, marks are means of draws. RotRNN with "
    "its first-step rule is constant for white inputs, and only for those, at 1/(1 - gamma^2) units; an orthogonal W adds "
    "one unit per step and forgets nothing. RotRNN has gamma = 0.999, the LRU moduli from 0.9 to 0.999, S4 and S4D-Lin "
    "dt = 0.01, S5 dt from 0.001 to 0.1."
)
GAMMA = 0.999
_DRAWN_STEPS = 13
_INPUTS = 8
SLOW = "RotRNN, angles below pi/100,\ninputs with correlation 0.9"
SLOW_CORRELATION = 0.9
_STYLES: dict[str, tuple[str, str]] = {  # name -> colour, marker
    "Gaussian W": ("#D55E00", "o"),
    "orthogonal W": ("#000000", "s"),
    "RotRNN, first-step rule": ("#0072B2", "D"),
    "RotRNN": ("#56B4E9", "^"),
    SLOW: ("#882255", ">"),
    "diagonal LRU": ("#009E73", "v"),
    "S4 (HiPPO-LegS)": ("#CC79A7", "P"),
    "S4D-Lin": ("#E69F00", "X"),
    "S5": ("#8C6D31", "<"),
}


def layers(width: int, seed: int) -> dict[str, LinearRecurrence]:
    """One draw of each; S4 and S4D-Lin are one channel with dt = 0.01."""
    return {
        "Gaussian W": recurrences.gaussian(width, "real", seed=seed),
        "orthogonal W": recurrences.orthogonal(width, seed=seed),
        "RotRNN, first-step rule": recurrences.rotrnn(width, _INPUTS, gamma=GAMMA, first_step=True, seed=seed),
        "RotRNN": recurrences.rotrnn(width, _INPUTS, gamma=GAMMA, seed=seed),
        SLOW: recurrences.rotrnn(width, _INPUTS, gamma=GAMMA, max_phase=math.pi / 100.0, first_step=True, seed=seed),
        "diagonal LRU": recurrences.lru(width, _INPUTS, r_min=0.9, r_max=0.999, seed=seed),
        "S4 (HiPPO-LegS)": recurrences.s4(width, dt=0.01),
        "S4D-Lin": recurrences.s4d_lin(width, dt=0.01),
        "S5": recurrences.s5(width, _INPUTS, dt_range=(0.001, 0.1), seed=seed),
    }


def data(
    *, width: int, horizon: int, samples: int, seed: int = 0, progress: Callable[[float], None] | None = None
) -> pd.DataFrame:
    """Exact and sampled paths; columns as in `COLUMNS`."""
    steps = np.unique(np.round(np.geomspace(1, horizon, 120)).astype(int))
    drawn = np.isin(steps, steps[np.searchsorted(steps, np.geomspace(1, horizon, _DRAWN_STEPS) - 0.5)])
    parts = []
    seeds = child_seeds(seed, "recurrences figure", count=len(_STYLES))  # so that the curves differ in their inputs too
    for count, (name, layer) in enumerate(layers(width, seed).items()):
        brought = float(np.sum(np.abs(layer.B) ** 2))
        rho = SLOW_CORRELATION if name == SLOW else 0.0
        sampled = layer.sample(horizon, samples=samples, seed=seeds[count], correlation=rho)
        left, left_stderr = _left(layer, steps, samples, seeds[count])
        frame = pd.DataFrame(
            {
                "width": width,
                "recurrence": name.replace("\n", " "),
                "step": steps,
                "energy": layer.energy(horizon, correlation=rho)[steps] / brought,
            }
        )
        frame["sampled"] = np.where(drawn, sampled.mean[steps] / brought, np.nan)
        frame["sampled_stderr"] = np.where(drawn, sampled.stderr[steps] / brought, np.nan)
        frame["z"] = np.where(drawn, sampled.z[steps], np.nan)
        frame["left"] = layer.forward_energy(horizon, layer.B)[steps]
        frame["left_sampled"] = np.where(drawn, left, np.nan)
        frame["left_stderr"] = np.where(drawn, left_stderr, np.nan)
        frame["samples"] = samples
        parts.append(frame)
        if progress is not None:
            progress((count + 1) / len(_STYLES))
    return pd.concat(parts, ignore_index=True)


def draw(frame: pd.DataFrame) -> Figure:
    """Two panels over the same axis of t, both on log scales."""
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 5.2), sharex=True)
    for axes, exact, mean, error in (
        (panels[0], "energy", "sampled", "sampled_stderr"),
        (panels[1], "left", "left_sampled", "left_stderr"),
    ):
        for name, (colour, marker) in _STYLES.items():
            _curve(axes, frame[frame["recurrence"] == name.replace("\n", " ")], exact, mean, error, colour, marker)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("step $t$")
    panels[0].set_ylim(0.5, 1e5)
    panels[1].set_ylim(1e-4, 30.0)
    panels[0].set_title("a fresh input at every step: energy of the state")
    panels[0].set_ylabel(r"$\mathrm{E}\,\|x_t\|^2 \,/\, \mathrm{E}\,\|Bu\|^2$")
    panels[1].set_title("one input: energy that is left of it")
    panels[1].set_ylabel(r"$\mathrm{E}\,\|A^t B u\|^2 \,/\, \mathrm{E}\,\|Bu\|^2$")
    figure.suptitle(f"Recurrences with a state of size {int(frame['width'].iloc[0])}")
    figure.legend(handles=_legend(int(frame["samples"].iloc[0])), loc="outside lower center", ncols=4)
    return figure


def _left(
    layer: LinearRecurrence, steps: Array, samples: int, seed: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Share of the energy of drawn single inputs left after each step: mean and its standard error."""
    rng = stream(seed, "single inputs", layer.input_size)
    state = layer.B @ rng.standard_normal((layer.input_size, samples))
    brought = float(np.sum(np.abs(layer.B) ** 2))
    energies = np.empty((samples, int(steps[-1]) + 1))
    for step in range(energies.shape[1]):
        energies[:, step] = np.sum(np.abs(state) ** 2, axis=0) / brought
        state = layer.A.apply(state)
    return energies.mean(axis=0)[steps], energies.std(axis=0, ddof=1)[steps] / math.sqrt(samples)


def _curve(axes: Axes, one: pd.DataFrame, exact: str, mean: str, error: str, colour: str, marker: str) -> None:
    axes.plot(one["step"], one[exact], color=colour, linewidth=1.6, zorder=3)
    points = one.dropna(subset=mean)
    axes.errorbar(
        points["step"],
        points[mean],
        yerr=2.0 * points[error],
        fmt=marker,
        color=colour,
        markersize=4.2,
        linewidth=0,
        elinewidth=1.0,
        capsize=1.8,
        zorder=4,
    )


def _legend(samples: int) -> list[Line2D | Patch]:
    entries: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker=marker, markersize=4.2, label=name)
        for name, (colour, marker) in _STYLES.items()
    ]
    return [
        *entries,
        Line2D([], [], color="0.35", linewidth=1.6, label="line: exact"),
        Line2D(
            [], [], color="0.35", marker="|", markersize=8, linestyle="", label=f"mark: mean of {samples} draws ± 2 se"
        ),
    ]


FIGURE = FigureRecord("Other recurrences under the same analysis", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=70)
