"""``signalprop sample``: draws of one recurrence and what their mean is worth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalprop import _progress
from signalprop._numbers import counted, number, percent, show
from signalprop._progress import PATIENCE, bar
from signalprop._status import Status, mean_status
from signalprop.activations import SampledActivation
from signalprop.cli._options import Depth, FieldOption, Json, MaxHours, ModelOption, Seed, Width
from signalprop.cli._standard_streams import CTRL_C
from signalprop.cli._terminal import in_options, print_json, print_rows, print_text, sentences
from signalprop.fields import Field
from signalprop.methods import Method
from signalprop.models import Model, by_model

if TYPE_CHECKING:
    from signalprop.montecarlo.estimate import Estimate
    from signalprop.montecarlo.sampling import Sample


class _Running:
    """What is drawn so far: kept in case the drawing is stopped, and summed up beside the bar, twice a second at most."""

    def __init__(self, report: Callable[..., None], model: Model, method: Method) -> None:
        self._report, self._model, self._repeated = report, model, method is Method.TEMPERED
        self._ends: list[Any] = []
        self._share, self._spoken, self.total = 0.0, 0.0, 0
        self.parts: tuple[list[Any], list[Any]] = ([], [])  # what there is to keep when the drawing is stopped
        self._said: tuple[str, ...] = ()  # stays beside the bar until there is something new to say

    def progress(self, done: int, total: int) -> None:
        """Note the share that is done."""
        self._share, self.total = done / total, total

    def watch(self, rnn_logs: Any, lru_logs: Any) -> None:
        """Take the paths of a chunk in and show what they say so far."""
        self.parts[0].append(rnn_logs)
        if lru_logs is not None:
            self.parts[1].append(lru_logs)
        logs = by_model(self._model, rnn=rnn_logs, driven=lru_logs)
        if not _progress.shown() or logs is None:
            self._report(self._share, *self._said)
            return
        self._ends.append(2.0 * logs[:, -1])
        if time.monotonic() - self._spoken < PATIENCE or sum(map(len, self._ends)) < 2:
            self._report(self._share, *self._said)
            return
        import numpy as np

        from signalprop.montecarlo.estimate import Estimate
        from signalprop.montecarlo.words import running_text

        self._spoken = time.monotonic()
        self._ends = [np.concatenate(self._ends)]
        judge = Estimate.from_repetitions if self._repeated else Estimate.from_logs
        self._said = (running_text(judge(self._ends[0])),)
        self._report(self._share, *self._said)


def sample(
    n: Width,
    k: Depth,
    field: FieldOption = Field.REAL,
    samples: Annotated[
        int, typer.Option("--samples", help="Number of independent draws (tempered: particles).")
    ] = 1000,
    model: ModelOption = Model.RNN,
    method: Annotated[
        Method,
        typer.Option("--method", help=".  ".join(f"{each}: {each.about}" for each in Method) + "."),
    ] = Method.KRYLOV,
    activation: Annotated[
        SampledActivation,
        typer.Option("--activation", help="Applied after W, with the gain that keeps the mean energy."),
    ] = SampledActivation.LINEAR,
    negative_slope: Annotated[float, typer.Option("--negative-slope", help="Slope of leaky_relu below zero.")] = 0.01,
    untied: Annotated[bool, typer.Option("--untied", help="Fresh weights at every layer (feed-forward).")] = False,
    seed: Seed = 0,
    max_hours: MaxHours = None,
    as_json: Json = False,
) -> None:
    """Draw random recurrences: median, mean, tail."""
    with sentences():
        from signalprop._cost import allow
        from signalprop.montecarlo.cell import as_cell
        from signalprop.montecarlo.sampling import gathered
        from signalprop.montecarlo.sampling import sample as draw

        options: dict[str, Any] = {
            "samples": samples, "seed": seed, "method": method, "activation": activation,
            "negative_slope": negative_slope, "tied": not untied,
        }  # fmt: skip
        stopped = False
        with bar(f"sampling n={n}, k={k}") as report:
            running = _Running(report, model, method)
            try:
                with allow(hours=max_hours):
                    result = draw(
                        n, k, field, driven=model is Model.DRIVEN, progress=running.progress, watch=running.watch,
                        **options,
                    )  # fmt: skip
            except KeyboardInterrupt:
                if sum(map(len, running.parts[0])) < 2:  # an error takes two
                    raise
                stopped = True
                result = gathered(as_cell(n, k, field, **options), *running.parts)
        if stopped:
            typer.echo(f"\nstopped after {result.samples} of {running.total}", err=True)
        estimate = by_model(model, rnn=result.rnn, driven=result.lru)()
    _print(result, estimate, model, as_json)
    if stopped:
        raise typer.Exit(CTRL_C)


def _print(result: Sample, estimate: Estimate, model: Model, as_json: bool) -> None:
    n, k, field, activation = result.n, result.k, result.field, result.layer.activation
    sure = "sampled, with its error or interval above"
    if estimate.log_exact is not None:
        sure += f"; the exact mean is {mean_status(field) if result.layer.tied else Status.P.words}"
    cited = f"signalprop cite sample --field {field.value} --method {result.method.value}"
    if activation is not SampledActivation.LINEAR:
        cited += f" --activation {activation.value}"
    if as_json:
        about = {
            "n": n, "k": k, "c": k / math.sqrt(n), "field": field.value, "model": model.value, "method": result.method.value,
            "activation": activation.value, "tied": result.layer.tied, "seed": result.seed,
        }  # fmt: skip
        print_json({**about, **estimate.as_dict(), "status": sure, "cite": cited})
        return
    _print_heading(result, estimate, model)
    rows = _rows_of_repetitions(estimate) if estimate.repeated else _rows_of_draws(estimate)
    print_rows([*rows, ("verdict", in_options(estimate.verdict)), ("how sure", sure), ("to cite", cited)])
    if model is Model.DRIVEN and result.method is Method.KRYLOV:
        print()
        print_text("This is the energy for one input direction, reused at every step; its mean is the same.")
        print_text("For ||h(t)||^2/n itself: --method dense")


def _print_heading(result: Sample, estimate: Estimate, model: Model) -> None:
    """What was drawn."""
    n, k, chosen = result.n, result.k, result.layer
    layer = chosen.activation.value
    if chosen.activation is SampledActivation.LEAKY_RELU:
        layer += f" (slope {chosen.negative_slope:g})"
    kind = f"{'recurrent' if chosen.tied else 'feed-forward'} {layer} network with {result.field.value} weights"
    drawn = f"{result.samples} {'repetitions' if estimate.repeated else 'draws'}"
    print_text(f"{drawn} of a {kind}, method {result.method.value}, seed {result.seed}")
    energy_name = by_model(model, rnn="||h(k)||^2/||x||^2", driven="||h(t)||^2/n")
    print_text(f"width n = {n}, k = {counted(k, 'step')} = {number(k / math.sqrt(n), 4)} sqrt(n); energy {energy_name}")
    print()


def _rows_of_repetitions(estimate: Estimate) -> list[tuple[str, str]]:
    return [
        ("mean", f"{show(estimate.log_mean)} +- {percent(estimate.relative_stderr)}"),
        ("95 % interval", " .. ".join(map(show, estimate.log_interval))),
        ("exact mean", _exact(estimate)),
    ]


def _rows_of_draws(estimate: Estimate) -> list[tuple[str, str]]:
    quantiles = dict(estimate.log_quantiles)
    error = percent(estimate.relative_error)
    if not estimate.trusted:
        error += ", not to be trusted: see verdict"
    elif estimate.predicted_relative_stderr is not None:
        error += f" (known; these draws show {percent(estimate.relative_stderr)})"
    few = "not known from so few draws"
    tail = few
    if estimate.tail_index is not None:
        tail = f"{estimate.tail_index:.2g} +- {estimate.tail_index_stderr:.2g}   (variance looks infinite below 2, mean below 1)"
    inner = few if math.isnan(quantiles[0.05]) else f"{show(quantiles[0.05])} .. {show(quantiles[0.95])}"
    low, high = next((show(low), show(high)) for q, low, high in estimate.log_intervals if q == 0.5)
    return [
        ("median draw", f"{show(estimate.log_median)}   (95 % interval {low} .. {high})"),
        ("90 % of draws", inner),
        ("mean", f"{show(estimate.log_mean)} +- {error}"),
        ("exact mean", _exact(estimate)),
        ("top 1 % carry", f"{100 * estimate.tail_share:.1f} % of the sum"),
        ("effective size", f"{estimate.ess:.0f} of {estimate.samples} draws"),
        ("tail index", tail),
    ]


def _exact(estimate: Estimate) -> str:
    return "not known" if estimate.log_exact is None else show(estimate.log_exact)
