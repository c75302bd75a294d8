"""The public surface, found by looking, and a call of each function, constructor and method with the good values of `good`.

Public is what the reference in ``docs/api`` documents and what `MORE` adds; of a module with ``__all__`` the names there, else
all that is defined there. A name is known here by where it is defined.
"""

import copy
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from signalprop.fields import Field
from signalprop.ginibre.dense import Layer
from signalprop.initialization._entries import ScaleOptions
from signalprop.models import Model
from tests.surface.good import CALLS, GIVEN, GOOD, METHODS, OBJECTS

API = Path(__file__).parents[2] / "docs" / "api"
MORE = (
    "signalprop", "signalprop.citations", "signalprop.models", "signalprop.montecarlo", "signalprop.montecarlo.one_draw",
    "signalprop.montecarlo.quantiles", "signalprop.spread", "signalprop.tasks.listops", "signalprop.training.settings",
)  # fmt: skip
EXCLUDED = {
    "figures.reproduce.reproduce": "draws for seconds at each call; it checks by figures_of, seed_of and function_or_none",
    "figures.base.FigureRecord": "a record; the registry refuses what is none",
    "verify.check.Check": "made by the package",
    "verify.check.Outcome": "made by verify.run",
    "initialization.advice.Advice": "made by advise",
    "initialization._cell_advice.CellAdvice": "made by advise",
    "initialization.scale.SafeScale": "made by safe_scale",
    "initialization.propagation.Propagation": "made by propagate",
    "regimes.classify.Regime": "made by classify",
    "regimes.classify.Law": "made by the package",
    "ginibre.dense.room": "the cost of checked arguments",
    "ginibre.krylov.room": "the cost of checked arguments",
    "ginibre.tempered.room": "the cost of checked arguments",
    "ginibre.tempered.seconds": "the cost of checked arguments",
    "ginibre.tempered.pilot_seconds": "the cost of checked arguments",
    "spread.log_relative_variance": "the body of relative_variance, for checked arguments",
    "recurrences.laws.ring_log_moduli": "a kernel: takes arrays and checks nothing",
    "recurrences.averages.Average": "made by functions",
    "recurrences.report.Report": "made by report",
    "recurrences.sampled.SampledEnergies": "made by LinearRecurrence.sample",
    "montecarlo.estimate.Estimate": "made by its class methods",
    "montecarlo.sampling.Sample": "made by sample",
    "montecarlo.sampling.gathered": "takes the chunks of a run",
    "montecarlo.run.Progress": "handed to a callback",
    "montecarlo.quantiles.Quantile": "made by quantile_levels",
    "initialization.criteria.record.ScaleCriterion": "a record, held to its class where it is registered",
    "initialization.criteria.record.Found": "made by a criterion",
    "initialization.criteria.record.Request": "made by safe_scale",
    "initialization.starts.Start": "a record, held to its class where it is registered",
    "initialization._initialized.Initialized": "made by init_recurrent_",
    "recurrences.catalogue.Kind": "a record, held to its class where it is registered",
    "recurrences.catalogue.Parameter": "part of a record",
    "recurrences.catalogue.Built": "made by records",
    "_catalogue.TaskEntry": "a record, held to its class where it is registered",
    "_catalogue.LayerEntry": "a record, held to its class where it is registered",
    "nn.recurrence.State": "made by initial_state",
    "nn.recurrence.System": "made by system",
    "nn.recurrence.Recurrence": "abstract; swept as each layer that is one",
    "nn.recurrence.Gates": "made by the gates of a subclass",
    "nn.gated.GatedRecurrence": "abstract",
    "training.trainer.Run": "made by train",
    "ginibre.tempered.Move": "made by schedule",
    "meanfield.fixed_points.Edge": "made by edge_of_chaos",
    "meanfield.gradients.GradientLaw": "made by gradient_law",
    "cells.catalogue.Cell": "a record, held to its class where it is registered",
    "cells.energies.GradientEnergies": "made by gradient_energies",
    "cells.lyapunov.LyapunovExponents": "made by lyapunov",
    "cells.energies.QuantilePath": "made by GradientEnergies",
    "inspection.inspection.Inspection": "made by inspect",
    "inspection.record.Adapter": "a record, held to its class where it is registered",
    "inspection.record.LayerReport": "made by inspect",
    "inspection.record.Settings": "made by inspect",
    "inspection.record.Site": "made by find_layers",
    "inspection.watcher.Watcher": "made by watch",
    "inspection.collapse.Collapse": "made by transfer_check",
    "inspection.transfer.TransferCheck": "made by transfer_check",
    "inspection.callbacks.MemoryCallback": "needs Lightning; its arguments are those of watch",
    "inspection.callbacks.MemoryTrainerCallback": "needs transformers; its arguments are those of watch",
    "inspection.look.find_layers": "takes what read_checkpoint gives",
    "meanfield._gates.GatedGradient": "made by lstm_gradient and gru_gradient",
}
UNSWEPT_METHODS = {
    "plot": "no arguments", "apply": "kernel of an operator: takes arrays and checks nothing", "to_modes": "the same",
}  # fmt: skip
UNSWEPT_PARAMETERS = {
    "nn.state_energies.state_energies.inputs": "arguments of the model itself",
    "initialization._torch_inputs.input_std_of.batch": "what the model itself is called with",
    "inspection.watcher.watch.writer": "a folder of a package that need not be there",
    "inspection.bounds.assert_horizon.at_most": "a bound that is missed is an AssertionError",
    "device": "PyTorch's own", "dtype": "PyTorch's own",
    "_variance": "private", "xp": "a namespace of arrays",
    "models.as_model.name": "a word for the message", "fields.member.name": "the same", "fields.one_of.name": "the same",
    "fields.member.options": "an enumeration of the package", "fields.one_of.options": "names that the package lists",
    **dict.fromkeys([f"fields.by_field.{field}" for field in Field], "handed on as it is"),
    **dict.fromkeys([f"models.by_model.{model}" for model in Model], "handed on as it is"),
}  # fmt: skip
SWEPT = ("training.trainer.train.device",)  # though others of the name are not


MISSING: list[str] = []  # parameters without a good value


@dataclass(frozen=True)
class Entry:
    """A function, constructor or method: its name, how it is bound, and its good arguments by name."""

    name: str
    function: Callable[[], Callable[..., Any]]
    signature: inspect.Signature
    good: dict[str, Any]
    annotations: dict[str, str]

    def call(self, **changes: Any) -> Any:
        """The good call with some arguments changed."""
        torch.manual_seed(0)
        given = {**{name: fresh(value) for name, value in self.good.items()}, **changes}
        listed: list[Any] = []
        parameters = list(self.signature.parameters.values())
        variadic = any(each.kind is each.VAR_POSITIONAL for each in parameters)
        for each in parameters:
            if each.kind is each.VAR_POSITIONAL and each.name in given:
                several = given.pop(each.name)
                listed += several if isinstance(several, tuple) else [several]
            elif each.kind is each.POSITIONAL_ONLY or (variadic and each.kind is each.POSITIONAL_OR_KEYWORD):
                listed.append(given.pop(each.name))
        return self.function()(*listed, **given)


def fresh(value: Any) -> Any:
    """A good value that no earlier call has seen."""
    return (
        value()
        if inspect.isroutine(value) or value is Layer
        else value
        if inspect.isclass(value)
        else copy.deepcopy(value)
    )


def modules() -> list[str]:
    """Every public module."""
    documented = {name for page in API.glob("*.md") for name in re.findall(r"automodule:: (\S+)", page.read_text())}
    return sorted(documented | set(MORE))


def public() -> dict[str, Any]:
    """Every public function and class, by where it is defined."""
    found = {}
    for name in modules():
        home = import_module(name)
        listed = getattr(home, "__all__", None)
        for one in map(
            lambda each, home=home: getattr(home, each), listed or [each for each in vars(home) if each[0] != "_"]
        ):
            where = getattr(one, "__module__", "")
            if not (inspect.isroutine(one) or inspect.isclass(one) or hasattr(one, "cache_info")) or not str(
                where
            ).startswith("signalprop"):
                continue
            if listed or where == name:
                label = f"{where.removeprefix('signalprop').lstrip('.')}.{one.__name__}"
                found[label] = one
    return found


def entries() -> dict[str, Entry]:
    """What is swept."""
    found = {}
    for label, one in (public() | GIVEN).items():
        is_enum = inspect.isclass(one) and issubclass(one, str)
        if label not in EXCLUDED and not is_enum:  # names of an enumeration are checked where they are read
            found[label] = _entry(label, lambda one=one: one, one, CALLS.get(label, {}))
        if inspect.isclass(one) and label in OBJECTS:
            for name, method in inspect.getmembers(one, callable):
                home = getattr(method, "__module__", None) or ""
                if (
                    name[0] == "_"
                    or name in UNSWEPT_METHODS
                    or f"{label}.{name}" in EXCLUDED
                    or not home.startswith("signalprop")
                ):
                    continue
                bound = inspect.ismethod(method)  # of the class
                make = (lambda one=one, name=name: getattr(one, name)) if bound else (
                    lambda label=label, name=name: getattr(OBJECTS[label](), name)
                )  # fmt: skip
                parent = method.__qualname__.split(".")[0]
                special = (
                    METHODS.get(f"{label}.{name}") or METHODS.get(f"{method.__module__[11:]}.{parent}.{name}") or {}
                )
                found[f"{label}.{name}"] = _entry(f"{label}.{name}", make, method, special, skip_self=not bound)
    return found


def _entry(label: str, make: Callable[[], Any], one: Any, special: dict[str, Any], skip_self: bool = False) -> Entry:
    signature = inspect.signature(one)
    parameters = list(signature.parameters.values())[1 if skip_self else 0 :]
    signature = signature.replace(parameters=parameters)
    good, annotations = {}, {}
    for each in parameters:
        annotations[each.name] = str(each.annotation)
        if each.kind is each.VAR_KEYWORD:
            if "ScaleOptions" in annotations[each.name]:
                good |= {name: GOOD[name] for name in ScaleOptions.__annotations__ if special.get(name, 0) is not None}
                annotations |= {name: str(kind) for name, kind in ScaleOptions.__annotations__.items()}
        elif each.name in special:
            good[each.name] = special[each.name]
        elif each.kind is each.VAR_POSITIONAL:
            good[each.name] = GOOD[each.name]
        elif isinstance(each.default, bool) or each.name not in GOOD or each.annotation == "Scale":
            if each.default is each.empty:
                MISSING.append(f"{label}({each.name}=)")
            elif repr(each.default) != "<factory>":
                good[each.name] = each.default
        else:
            good[each.name] = GOOD[each.name]
    taken = set(signature.parameters) | set(good)
    named = not any("ScaleOptions" in text for text in annotations.values())
    good |= {name: value for name, value in special.items() if name not in good and (named or name in taken)}
    annotations |= {name: "str" for name in special if name not in annotations}
    return Entry(label, make, signature, good, annotations)
