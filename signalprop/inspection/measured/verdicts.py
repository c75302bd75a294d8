"""What was measured of a layer, in words."""

from __future__ import annotations

import math

from signalprop._numbers import counted, rounded
from signalprop.inspection.measured.record import BatchRun, Broken, Measured
from signalprop.inspection.paths import BY_E, BY_HUNDRED
from signalprop.inspection.words import MEASURED, MEASURED_REMEDIES, VERDICTS, filled

_NOUNS = {"NaN": "NaN", "infinite": "infinity"}
_SOON = 10  # steps until 1 % is left, where no more is said
_FLAT = 0.02  # change of the log-energy over a whole sequence that counts as none
_LONG = 50  # steps from which on no change at all is worth the word never


def measured_verdict(found: Measured, horizon: int | None) -> tuple[str, str]:
    """The name of a verdict, and its words."""
    if found.broken is not None:
        return "broken", broken_words(found.broken)
    path = found.gradient
    if path is None:
        return "unknown", MEASURED["too_short"]
    if path.grown is not None:
        return "explodes", filled(MEASURED, "explodes", steps=_steps(path.grown))
    if found.dies is not None and found.dies <= (path.by_hundred or path.reach):
        return "dead", filled(MEASURED, "dead", steps=_steps(found.dies))
    last = float(path.log_energy[-1])
    if path.reach >= _LONG and abs(last) < _FLAT:
        return "never", filled(MEASURED, "never", steps=_steps(path.reach))
    if path.by_hundred is not None and path.by_hundred <= _SOON:
        return "at_once", filled(VERDICTS, "at_once", steps=counted(path.by_hundred, "step"))
    if horizon is not None and horizon <= path.reach:
        return _of_horizon(found, horizon)
    if path.by_e is None:
        return "holds", filled(MEASURED, "holds_all", steps=_steps(path.reach))
    return "holds", filled(VERDICTS, "holds", steps=_steps(path.by_e))


def _of_horizon(found: Measured, horizon: int) -> tuple[str, str]:
    path = found.gradient
    assert path is not None
    left, held = path.log_at(horizon), path.by_e or path.reach
    if left > -BY_E:
        return "holds_asked", filled(VERDICTS, "holds_asked", horizon=rounded(horizon))
    if left > -BY_HUNDRED:
        return "fades", filled(VERDICTS, "fades", steps=rounded(held), horizon=counted(horizon, "step"))
    lost = path.by_hundred or held
    return "forgets_before", filled(VERDICTS, "forgets_before", steps=rounded(lost), horizon=counted(horizon, "step"))


def broken_words(broken: Broken) -> str:
    """Where numbers stop being finite."""
    name = "broken_inputs" if broken.inputs else "broken"
    step = "" if broken.step is None else f" from step {broken.step}"
    sequence = "" if broken.sequence is None else f" (sequence {broken.sequence})"
    return filled(MEASURED, name, kind=broken.kind, step=step, sequence=sequence)


def measured_remedy(found: Measured, code: str) -> str | None:
    """What to do about a verdict; None where the remedy for parameters holds as well."""
    if code == "broken" and found.broken is not None:
        if found.broken.inputs:
            return MEASURED_REMEDIES["broken_inputs"]
        return MEASURED_REMEDIES["half" if found.computed_in == "float16" else "broken"]
    return MEASURED_REMEDIES.get(code)


def run_lines(run: BatchRun) -> list[str]:
    """Sentences on the run as a whole, the worst first."""
    lines = []
    if run.broken is not None:
        step = "" if run.broken.step is None else f" at step {run.broken.step}"
        sequence = "" if run.broken.sequence is None else f" of sequence {run.broken.sequence}"
        name = "source_of_broken_inputs" if run.broken.inputs else "source_of_broken"
        lines.append(
            filled(MEASURED, name, kind=_NOUNS[run.broken.kind], step=f"{step}{sequence}", where=run.broken.where)
        )
    if run.not_called:
        lines.append(filled(MEASURED, "not_called", names=", ".join(one or "the model" for one in run.not_called)))
    return lines


def exponent_words(found: Measured) -> str:
    """The leading exponent with its interval, for a table."""
    if found.exponents is None:
        return "-"
    value = float(found.exponents.exponents[0])
    if value == -math.inf:
        return "-inf"
    low, high = found.exponents.interval()
    return f"{value:.3f} +- {(float(high[0]) - float(low[0])) / 2.0:.1g}"


def steps_words(steps: int) -> str:
    """A number of steps, in five characters."""
    return str(steps) if steps < 10_000 else f"{float(steps):.0e}".replace("e+0", "e").replace("e+", "e")


def _steps(steps: int) -> str:
    return f"{rounded(steps)} step{'' if steps == 1 else 's'}"
