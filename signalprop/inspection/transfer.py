"""`transfer_check`: whether what is tuned at one width and length holds at others, and in which of two ways they go together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from signalprop._checks import function_or_none, seed_of, shown, whole_number, whole_tuple
from signalprop._extras import required
from signalprop._streams import child_seeds
from signalprop.inspection.collapse import POWERS, Collapse, Floats, collapse

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MOST = 64  # widths or horizons
_WHEN = ("before", "after")
_SAYS = {
    "T/sqrt(n)": "widths agree at fixed T/sqrt(n), as linear recurrences without drive do",
    "T/n": "widths agree at fixed T/n, as driven nonlinear ones do",
    "neither": "neither T/sqrt(n) nor T/n is clearly better",
    "flat": "energies hardly change with n and T",
}


@dataclass(frozen=True)
class TransferCheck:
    """Energies over widths and horizons; ``print`` it for the verdict.

    Attributes
    ----------
    rows
        A dictionary per width n, horizon T and time (``before`` or ``after`` training): ``log_energy``, ``spread``, mean and
        standard deviation of the natural logarithm of a gradient's energy carried back T steps over that at the end;
        ``state``, mean square of an output coordinate at the last step; ``gradient``, root mean square coordinate of the
        gradient of the parameters, None for a step function; ``draws`` and ``lost``, how many logarithms are in it, and how
        many are not finite and are left out.
    collapses
        By ``"before"`` and ``"after"``: how well T/sqrt(n) and T/n make one curve.
    steps
        Optimizer steps in between.
    """

    rows: tuple[dict[str, Any], ...]
    collapses: dict[str, Collapse]
    steps: int

    @property
    def table(self) -> pd.DataFrame:
        """`rows` as a table."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    @property
    def verdict(self) -> str:
        """Which collapse is better before training: ``"T/sqrt(n)"``, ``"T/n"``, ``"neither"`` or ``"flat"``."""
        return self.collapses["before"].better

    def __str__(self) -> str:
        lines = []
        for when, one in self.collapses.items():
            numbers = ", ".join(f"{_said(value)} by {name}" for name, value in one.residuals.items())
            time = "At the start" if when == "before" else f"After {self.steps} optimizer steps"
            lines.append(f"{time} {_SAYS[one.better]} (residual spread across widths: {numbers}).")
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Log-energies of all widths against T/sqrt(n) and against T/n, a row for each time."""
        from signalprop.inspection.transfer_picture import picture

        return picture(self)


def transfer_check(
    make_model: Callable[[int], Any],
    widths: Any,
    horizons: Any,
    *,
    steps: int = 0,
    draws: int = 16,
    batch: int = 2,
    seed: int = 0,
    batch_of: Callable[[int, int], Any] | None = None,
    loss: Callable[[Any, Any], Any] | None = None,
    optimizer: Callable[[Any], Any] | None = None,
) -> TransferCheck:
    r"""Energies and gradient coordinates over widths n and horizons T, before and after a few optimizer steps.

    What a width holds at one T it holds at another: linear recurrences with random W at fixed T/sqrt(n), nonlinear ones at chi
    = 1 that fresh inputs drive at fixed T/n. This measures which it is for a model, by drawing it again and again.

    Parameters
    ----------
    make_model
        Called with a width: a `torch.nn.Module` that takes (batch, T, features), or (T, batch, features) where it has
        ``batch_first=False``, and gives outputs of each step, alone or first of several; or a function ``step(state, inputs)``
        of tensors (batch, n) that gives the next state. PyTorch's global generator is seeded before each call, and put back.
    widths, horizons
        Lists of n and T, at least two of each, 2 to 1e5.
    steps
        Optimizer steps, 0 to 1e4, each on a batch of its own; only for modules.
    draws, batch
        Models per width and horizon, and sequences for each; each sequence is one draw of an energy.
    seed
        Root seed.
    batch_of
        From n and T to inputs, or inputs and targets. By default white noise of unit variance, with the module's ``input_size``
        or ``d_model`` features, or n.
    loss
        Of outputs and targets. By default the mean square distance of the last outputs from white noise.
    optimizer
        From parameters to an optimizer; by default Adam with a learning rate of 1e-3.

    Returns
    -------
    TransferCheck

    Raises
    ------
    ValueError
        Fewer than two widths or horizons; a model that is neither; outputs of another shape; training of a step function.
    ImportError
        PyTorch is not installed.

    Notes
    -----
    A random direction at the last step is carried back, to the first state of a step function, or to the first inputs of a
    module, over those at the last step. Status H. The verdict is the smaller of two residuals, each the root mean square distance
    of the points of a width from the curves of the others, in units of the spread of all, if they differ by a factor of
    1.5. Cost: draws * widths * (1 + 2 steps) passes over each horizon.

    Examples
    --------
    >>> import torch
    >>> def linear(n):
    ...     W = torch.randn(n, n, dtype=torch.float64) / n**0.5
    ...     return lambda state, inputs: state @ W.T
    >>> transfer_check(linear, [16, 256], [4, 8, 16, 32, 64, 128], batch=8).verdict
    'T/sqrt(n)'
    """
    if not callable(make_model):
        raise ValueError(f"make_model must be a function of a width, got {shown(make_model)}.")
    sizes, times = _several(widths, "widths"), _several(horizons, "horizons")
    count, trained = whole_number(draws, "draws", 2, 10_000), whole_number(steps, "steps", 0, 10_000)
    members, root = whole_number(batch, "batch", 1, 10_000), seed_of(seed)
    for function, name in ((batch_of, "batch_of"), (loss, "loss"), (optimizer, "optimizer")):
        function_or_none(function, name)
    with required("transfer_check", "torch"):
        from signalprop.inspection.transfer_runs import Plan, measured
    plan = Plan(make_model, trained, count, members, batch_of, loss, optimizer)
    rows = []
    for n in sizes:
        for horizon in times:
            seeds = child_seeds(root, "transfer", n, horizon, count=count)
            for when, numbers in zip(_WHEN, measured(plan, n, horizon, seeds), strict=False):
                rows.append({"n": n, "T": horizon, "when": when, **numbers})
    return TransferCheck(
        tuple(rows), {when: _collapse(rows, when, count) for when in _WHEN[: 2 if trained else 1]}, trained
    )


def _said(residual: float | None) -> str:
    return "not known, for no curves overlap," if residual is None else f"{residual:.2g}"


def _several(value: Any, name: str) -> list[int]:
    given = sorted(set(whole_tuple(value, name, _MOST)))
    if len(given) < 2:
        raise ValueError(f"{name} must have at least two different numbers, got {shown(value)}.")
    return [whole_number(one, name, 2, 10**5) for one in given]


def _collapse(rows: list[dict[str, Any]], when: str, models: int) -> Collapse:
    curves: dict[int, tuple[Floats, Floats, Floats]] = {}
    for n in dict.fromkeys(row["n"] for row in rows):
        own = [row for row in rows if row["n"] == n and row["when"] == when and row["log_energy"] is not None]
        if own:
            values = np.array([[row["log_energy"], row["spread"]] for row in own])
            # Sequences of one model share its W: the models count.
            errors = values[:, 1:] / np.sqrt([models, 2.0 * models])
            curves[n] = np.array([float(row["T"]) for row in own]), values, errors
    if len(curves) < 2:
        return Collapse(dict.fromkeys(POWERS), "neither")
    return collapse(curves)
