"""One argument at a time is replaced by odd values; what is neither right nor a sentence is a fault."""

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import torch

from signalprop import allow
from tests.surface import judge, values
from tests.surface.calls import SWEPT, UNSWEPT_PARAMETERS, Entry, fresh
from tests.surface.judge import Outcome, canonical, outcome

COMPLEX_ALLOWED = {
    "A", "B", "C", "matrix", "unitary", "values", "covariance", "source", "readout", "first", "inputs", "weights",
    "coefficients", "W",
    "initial", "tensor", "lengths", "model", "state",
}  # fmt: skip
# Infinities that the documentation names.
INFINITE: dict[str, str] = {}
# Answers whose documentation says where NaN and infinities stand in them.
DOCUMENTED = {
    "Estimate": "NaN for a quantile beyond the draws, infinite ends of intervals", "DataFrame": "the same",
    "Sample": "-inf for a rectified state that died",
    "montecarlo.quantiles.quantile_levels": "NaN and infinite ends beyond the draws",
}  # fmt: skip
MASKED = {
    "montecarlo.estimate.Estimate.from_logs.logs": "masked draws are left out",
    "montecarlo.estimate.Estimate.from_repetitions.logs": "the same",
    "citations.is_topic.name": "no topic",
}


SECONDS, GIGABYTES = 1.0, 1.0


# Where a message has another word for an argument, and what is said of an answer or a cost rather than of an argument.
ALIASES = {
    "fields.member.value": "field", "fields.one_of.value": "field",
    "citations.canonical.name": "topic", "montecarlo.estimate.Estimate.from_logs.logs": "log-energies|an estimate",
    "montecarlo.estimate.Estimate.from_repetitions.logs": "log-energies|an estimate",
    "recurrences.report.report.state_size": "B",
    "montecarlo.quantiles.quantile_interval.ordered": "samples",
    "nn.dense.DenseLinearRNN.scale_options": "option of the scale",
}  # fmt: skip
OF_THE_ANSWER = ("outside the range of float64", "would take about", "would take a little longer")


# A path: the operating system says whether there is anything, and a message about a file begins with its path.
PATHS = (
    "path",
    "directory",
    "tasks.listops.load.name",
    *(f"inspection.{one}.model" for one in ("look.inspect", "watcher.watch", "bounds.assert_horizon")),
)


# Not read where the answer does not depend on them.
UNREAD = ("ResidualBlock.forward.lengths",)


# A learning rate may be a tensor and stays one; the arrays of a task stay of their type, mapped from a file or not.
KEPT = ("nn.parameter_groups.parameter_groups", "tasks.task.Split")


@dataclass
class Count:
    """What was tried: functions, calls, errors among their outcomes, and those that are no sentence or another fault."""

    functions: int = 0
    calls: int = 0
    refused: int = 0
    unclear: int = 0
    faults: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return (
            f"{self.functions} functions, {self.calls} calls with an odd value, {self.refused} of them refused; "
            f"{self.unclear} exceptions that are not sentences, {self.faults} faults in all"
        )


class Counter:
    """How much was tried in this process."""

    count = Count()


def swept(entry: Entry) -> tuple[list[str], Count]:
    """All faults of an entry, and what was tried to find them."""
    Counter.count = Count(functions=1)
    found = [each for parameter in parameters(entry) for each in faults(entry, parameter)]
    Counter.count.faults = len(found)
    return found, Counter.count


def parameters(entry: Entry) -> list[str]:
    """The arguments of an entry that are swept."""
    return [
        name
        for name in entry.good
        if f"{entry.name}.{name}" in SWEPT or set(UNSWEPT_PARAMETERS).isdisjoint({name, f"{entry.name}.{name}"})
    ]


def faults(entry: Entry, parameter: str, odd: Iterable[tuple[str, Any]] | None = None) -> Iterator[str]:
    """What is wrong with an entry when one of its arguments is odd, a line for each."""
    good = fresh(entry.good[parameter])
    plain: Outcome | None = None
    for value, must in values.equal(good):
        plain = plain or outcome(entry.call)
        found = tried(entry, parameter, value)
        label = f"{entry.name}({parameter}={shown(value)})"
        if plain.error is not None:
            yield f"{entry.name}() has no good call: {plain.error!r}"
            return
        if found.error is not None:
            why = unclear(found, entry, parameter, value)
            if why:
                yield f"{label} {why}"
            elif must:
                yield f"{label} is refused, though it is {good!r}: {found.error}"
        elif isinstance(value, (torch.Tensor, np.ndarray)) and entry.name in KEPT:
            continue
        elif imaginary_type(value) and parameter in COMPLEX_ALLOWED:
            continue  # the same numbers, of complex type
        elif canonical(found.answer) != canonical(plain.answer):
            yield f"{label} differs from {good!r}"
    for value in values.wrong(good):
        if not beyond_callers(entry, value):
            yield from fault(entry, parameter, good, value)


def fault(entry: Entry, parameter: str, good: Any, value: Any) -> Iterator[str]:
    """What is wrong with one odd value."""
    found = tried(entry, parameter, value)
    label = f"{entry.name}({parameter}={shown(value)})"
    if found.error is not None:
        why = unclear(found, entry, parameter, value)
        if why:
            yield f"{label} {why}"
        return
    key = f"{entry.name}.{parameter}"
    if masked(value) and key not in MASKED and not any(key.endswith(end) for end in UNREAD):
        yield f"{label} loses the mask"
    numeric = any(
        word in entry.annotations.get(parameter, "") for word in ("int", "float", "ArrayLike", "Floats", "NDArray")
    )
    if numeric and imaginary(value) and parameter not in COMPLEX_ALLOWED:
        yield f"{label} loses the imaginary part"
    if numeric and "bool" not in entry.annotations[parameter] and not isinstance(good, bool) and truth(value):
        yield f"{label} takes a truth value for a number"
    documented = not {type(found.answer).__name__, entry.name}.isdisjoint(DOCUMENTED)
    if judge.nan_in(found.answer) and not documented and not entry.name.startswith("nn.scan."):  # which hands NaN on
        yield f"{label} gives NaN"
    if judge.infinite(found.answer) and not documented and entry.name not in INFINITE:
        yield f"{label} gives an infinity"
    if isinstance(value, np.generic) and value.dtype.kind in "iuf" and not isinstance(value, np.longdouble):
        twin = tried(entry, parameter, value.item())
        if twin.error is not None or canonical(twin.answer) != canonical(found.answer):
            yield f"{label} differs from {value.item()!r}"


def tried(entry: Entry, parameter: str, value: Any) -> Outcome:
    Counter.count.calls += 1
    with allow(hours=SECONDS / 3600.0, gigabytes=GIGABYTES):  # what costs more is refused, in a sentence
        found = outcome(lambda: entry.call(**{parameter: value}))
    Counter.count.refused += found.error is not None
    return found


def unclear(found: Outcome, entry: Entry, parameter: str, value: Any) -> str | None:
    """Why an error is no sentence, or None."""
    assert found.error is not None
    stands = names(entry, parameter)
    if not {parameter, f"{entry.name}.{parameter}"}.isdisjoint(PATHS) and isinstance(value, (str, os.PathLike)):
        if isinstance(found.error, OSError):
            return None
        stands.append(str(value))
    why = judge.not_a_sentence(found.error, stands)
    Counter.count.unclear += why is not None
    return why


def names(entry: Entry, parameter: str) -> list[str]:
    """The words by which a message may call an argument."""
    return [
        *ALIASES.get(f"{entry.name}.{parameter}", parameter).split("|"),
        parameter,
        parameter.removesuffix("s"),
        *OF_THE_ANSWER,
        *entry.good,
    ]


def shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:
        text = "a huge integer"
    return text if len(text) < 70 else f"{text[:67]}..."


def beyond_callers(entry: Entry, value: Any) -> bool:
    """Whether a number is too large for a sampler of one chunk, whose callers decide what is affordable."""
    inner = entry.name.startswith("ginibre.") and not entry.name.endswith(("log_paths", "estimate"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a float leaves out
            return inner and not isinstance(value, (str, bytes)) and not abs(float(value)) <= 300.0
    except OverflowError:
        return inner
    except Exception:
        return False


def masked(value: Any) -> bool:
    return value is np.ma.masked or (isinstance(value, np.ma.MaskedArray) and bool(np.ma.getmaskarray(value).any()))


def imaginary_type(value: Any) -> bool:
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def imaginary(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_complex() and bool((value.imag != 0).any())
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        return False
    return array.dtype.kind == "c" and bool((array.imag != 0).any())


def truth(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return True
    return isinstance(value, (np.ndarray, torch.Tensor)) and str(value.dtype) in ("bool", "torch.bool")
