"""What a call may do: give a right answer, or refuse in one sentence of the package's own."""

import dataclasses
import inspect
import itertools
import re
import signal
import traceback
import types
import warnings
from collections.abc import Callable, Mapping
from enum import Enum
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sympy
import torch

import signalprop

HOME = str(Path(signalprop.__file__).parent)
SECONDS = 60.0  # of a processor, so that a machine that is busy with other things makes no fault


class Hung(BaseException):
    """The call did not end in time."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """An answer or an error."""

    answer: Any = None
    error: BaseException | None = None


def outcome(call: Callable[[], Any], seconds: float = SECONDS) -> Outcome:
    """Run `call` with warnings as errors and a limit on time."""

    def stop(*_: Any) -> None:
        raise Hung(f"no end after {seconds:g} s of work, or {10.0 * seconds:g} s of waiting")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, 10.0 * seconds))
    before = [signal.signal(kind, stop) for kind, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = call()
            if inspect.isgenerator(answer):
                answer = list(itertools.islice(answer, 50))
            return Outcome(answer)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome(error=error)
    finally:
        for (kind, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0.0)
            signal.signal(kind, handler)


def not_a_sentence(error: BaseException, names: list[str]) -> str | None:
    """Why an error is no sentence that a user can act on, or None.

    A sentence is raised by the package itself, on purpose: its last frame is a ``raise`` in the package. It is one line, ends
    with a full stop, has the name of the argument as a word of its own, and says what came in.
    """
    text = str(error)
    if type(error) not in (ValueError, TypeError, OverflowError):
        return f"raises {type(error).__name__}: {text[:200]}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not last.filename.startswith(HOME) or not (last.line or "").startswith("raise"):
        return f"{type(error).__name__} from {Path(last.filename).name}:{last.lineno} `{last.line}`: {text[:200]}"
    if "\n" in text or not text.endswith((".", ").")) or not 15 < len(text) < 1200:
        return f"not one sentence: {text[:300]!r}"
    if not any(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) for name in names):
        return f"does not name {names[0]}: {text[:300]!r}"
    if not re.search(
        r"\bgot\b|would take|would hold|become|do not reach|fill|belongs|\bis\b|\bare\b|\bhas\b|\bhave\b|\bholds\b|=",
        text,
    ):
        return f"does not say what came in: {text[:300]!r}"
    return None


def numbers(answer: Any, depth: int = 0) -> list[Any]:
    """All numbers in an answer, as arrays, for a look at NaN and infinities."""
    if isinstance(answer, (Number, np.generic, np.ndarray)):
        array = np.asarray(answer)
        return [array] if array.dtype.kind in "fc" else []
    if isinstance(answer, torch.Tensor):
        dense = answer.detach().to_dense() if answer.is_sparse else answer.detach()
        return [dense.to(torch.complex128 if answer.is_complex() else torch.float64).numpy()]
    if isinstance(answer, torch.nn.Module):
        return [each for one in answer.state_dict().values() for each in numbers(one, depth + 1)]
    if isinstance(answer, pd.DataFrame):
        return [one.to_numpy() for _, one in answer.items() if one.dtype.kind == "f"]
    return [each for _, one in parts(answer) for each in numbers(one, depth + 1)] if depth < 8 else []


def parts(answer: Any) -> list[tuple[str, Any]]:
    """What an answer is made of."""
    if isinstance(answer, Mapping):
        return [(str(key), value) for key, value in answer.items()]
    if isinstance(answer, (list, tuple, set, frozenset)):
        return [(str(place), value) for place, value in enumerate(answer)]
    if isinstance(answer, (str, bytes, type, types.FunctionType, types.MethodType, Enum)):
        return []
    if type(answer).__module__.startswith("signalprop"):
        return [(name, value) for name, value in sorted(_fields(answer).items()) if name not in ("seconds", "version")]
    return []


def _fields(answer: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(answer):
        return {each.name: getattr(answer, each.name) for each in dataclasses.fields(answer)}
    return dict(getattr(answer, "__dict__", {}))


def nan_in(answer: Any) -> bool:
    """Whether an answer holds NaN."""
    if isinstance(answer, sympy.Basic):
        return bool(answer.has(sympy.nan))
    return any(np.isnan(one).any() for one in numbers(answer))


def infinite(answer: Any) -> bool:
    """Whether an answer holds an infinity."""
    if isinstance(answer, sympy.Basic):
        return bool(answer.has(sympy.oo, sympy.zoo))
    return any(np.isinf(one).any() for one in numbers(answer))


def canonical(answer: Any, depth: int = 0) -> Any:
    """An answer in a form that compares by bits; what has no value of its own counts by its type."""
    if isinstance(answer, torch.Tensor):
        return str(answer.dtype), tuple(answer.shape), answer.detach().numpy().tobytes()
    if isinstance(answer, torch.nn.Module):
        return tuple((name, canonical(one)) for name, one in answer.state_dict().items())
    if isinstance(answer, (np.ndarray, np.generic)):
        array = np.asarray(answer)
        return str(array.dtype), array.shape, repr(array.tolist()) if array.dtype == object else array.tobytes()
    if isinstance(answer, pd.DataFrame):
        return answer.drop(columns=[name for name in answer if "seconds" in str(name)]).to_csv()
    if isinstance(answer, (Number, str, bytes, type(None), sympy.Basic)) or type(answer).__module__.startswith("flint"):
        return type(answer).__name__ if isinstance(answer, Enum) else "", repr(answer)
    inside = parts(answer)
    if inside and depth < 8:
        return tuple((name, canonical(one, depth + 1)) for name, one in inside)
    return type(answer).__name__
