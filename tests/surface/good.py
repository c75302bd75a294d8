"""Good values: of each parameter by its name, of a function what it needs otherwise, and objects whose methods are swept."""

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import nn

import signalprop
from signalprop import recurrences, regimes, verify
from signalprop.fields import Field
from signalprop.ginibre.dense import Layer
from signalprop.ginibre.tempered import schedule
from signalprop.initialization._entries import ScaleOptions
from signalprop.models import Model
from signalprop.montecarlo.plan import Plan
from signalprop.tasks import Split, Task, copy_memory
from signalprop.training import Settings


def short_plan() -> Plan:
    return Plan(fields=["real"], n=[6], k=[3], samples=20)


def short_task() -> Task:
    return copy_memory(3, length=2, symbols=3, train=8, test=4)


def short_split() -> Split:
    return Split(np.ones((3, 2), np.int64), np.array([0, 1, 2]), np.array([2, 1, 2]))


def short_settings(**changes: Any) -> Settings:
    small = {"depth": 1, "d_model": 4, "d_state": 4, "heads": 2, "batch": 4, "steps": 2, "held_out": 4}
    return Settings(**{"task": "copy", "options": {"blanks": 3, "train": 8, "test": 4}, **small, **changes})


def sequences() -> Path:
    path = Path(tempfile.mkdtemp()) / "mine.npz"
    split = {"inputs": np.ones((4, 3), np.int64), "targets": np.array([0, 1, 2, 0])}
    np.savez(path, **{f"{part}_{name}": one for part in ("train", "test") for name, one in split.items()})
    return path


def plan_file() -> Path:
    path = folder() / "plan.toml"
    short_plan().save(path)
    return path


def settings_file() -> Path:
    path = folder() / "settings.toml"
    path.write_text('[task]\nname = "copy"\nblanks = 3\n[model]\ndepth = 1\n')
    return path


def folder() -> Path:
    return Path(tempfile.mkdtemp())


def listops_files() -> Path:
    directory = Path(tempfile.mkdtemp())
    for part in ("train", "val", "test"):
        (directory / f"basic_{part}.tsv").write_text("Source\tTarget\n( ( ( [MAX 2 ) 9 ) ] )\t9\n")
    return directory


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(0))


PATHS = np.cumsum(np.full((5, 7), 0.125), axis=1) - 0.125
EYE = np.eye(2)
MIXER = {"A_log": np.zeros(3), "dt_bias": np.zeros(3)}
KEEPER = {"A_log": np.zeros(3), "dt_bias": np.full(3, -100.0)}  # never forgets
WIDE = torch.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
# Good values by the name of a parameter; a function makes a fresh one for each call.
GOOD: dict[str, Any] = {
    "n": 6, "k": 4, "t": 4, "c": 1.5, "field": "real", "model": "rnn", "log": False, "scale": 0.5, "digits": 20, "seed": 3,
    "horizon": 4, "samples": 20, "order": 3, "particles": 8, "repetitions": 2, "count": 2, "index": 1, "tolerance": 0.125,
    "quantile": 0.5, "bound": 4.0, "workers": 1, "directions": 2, "tied": True, "driven": True, "log_bound": 0.5,
    "horizons": (2, 4), "log_energies": PATHS, "ordered": PATHS[0], "quantiles": (0.25, 0.5), "log_exact": 0.25, "q": 0.5,
    "p": 0.5, "confidence": 0.75, "logs": PATHS[0], "hours": 1.0, "gigabytes": 1.0, "state_size": 4, "input_size": 2,
    "heads": 2, "output_size": 2, "r_min": 0.25, "r_max": 0.5, "max_phase": 1.5, "gamma": 0.5, "dt": 0.125, "draws": 2,
    "nodes": 4, "correlation": 0.25, "theta": 0.5, "r": 0.5, "d_model": 4, "d_state": 4, "check_finite": True,
    "generator": lambda: torch.Generator().manual_seed(0), "rng": rng, "lengths": lambda: torch.tensor([3, 2]),
    "word": "GG*", "words": ("GG*",), "max_states": 10_000, "topics": ("paper",), "key": "signalprop", "name": "energy",
    "real": 1, "complex": 2, "quaternion": 3, "rnn": 1, "driven_": 2, "options": (), "value": "real", "negative_slope": 0.25,
    "layer": Layer, "activation": "linear", "method": "krylov", "criterion": "quantile", "quantity": "rnn", "log_g": 0.25,
    "step": 2, "items": (1, 2, 3, 4), "sigma": (1, 0, 2), "blanks": 3, "length": 2, "symbols": 3, "train": 8, "test": 4,
    "validation": 2, "steps": 4, "clip": 1.0, "form": "sum", "probability": 0.5, "progress": None, "watch": None,
    "input_std": 0.5, "variance": 1.5, "input_correlation": 0.5, "kinks": (0.5,), "candidate": 0.25,
    "inputs": WIDE.clone, "coefficients": lambda: torch.full((4,), 0.5), "device": "cpu", "dtype": torch.float32,
}  # fmt: skip
# What a function needs otherwise.
CALLS: dict[str, dict[str, Any]] = {
    "exact.rnn_energy": {"scale": Fraction(1, 2)},
    "exact.lru_energy": {"scale": Fraction(1, 2)},
    "symbolic.rnn_energy": {"scale": Fraction(1, 2)},  # a float stays one in the expression
    "symbolic.lru_energy": {"scale": Fraction(1, 2)},
    "symbolic.symbol": {"name": "n"},
    "models.as_model": {"name": "model"},
    "fields.member": {"options": Field, "name": "field"},
    "fields.one_of": {"options": ("real", "complex"), "name": "field"},
    "fields.choices": {"options": ("real", "complex")},
    "figures.reproduce.figures_of": {"quality": "quick", "only": "critical_rnn"},
    "verify.check.run": {"checks": lambda: [verify.Check("one", "here", "ulp", 1.0, lambda: 0.5)]},
    "initialization.jax.ginibre": {"scale": None, "tolerance": None},
    "initialization.jax.chrono": {"signs": (-1, 1), "input_std": 0.5},
    "initialization.jax.chrono()": {"signs": (-1, 1), "input_std": 0.5, "shape": (6,)},
    "initialization.jax.ginibre()": {"scale": None, "tolerance": None, "shape": (6, 6)},
    "citations.cite": {"field": "real", "topics": ("energy",)},
    "citations.references": {"field": "real", "topics": ("energy",)},
    "citations.resolve": {"field": "real", "topics": ("energy",)},
    "ginibre.tempered.schedule": {"field": Field.REAL},
    "ginibre.tempered.repetition": {"field": Field.REAL, "moves": lambda: schedule(6, 4, Field.REAL, rng())},
    "ginibre.tempered.check_room": {"field": Field.REAL},
    "ginibre.tempered.log_path": {"field": Field.REAL},
    "ginibre.dense.samples_per_chunk": {"field": Field.REAL},
    "ginibre.dense.draw_chunk": {"field": Field.REAL},
    "ginibre.dense.weights": {"field": Field.REAL},
    "ginibre.dense.Layer": {"activation": "leaky_relu"},
    "ginibre.krylov.samples_per_chunk": {"field": Field.REAL},
    "ginibre.krylov.draw_chunk": {"field": Field.REAL},
    "initialization.torch.ginibre_": {"tensor": lambda: torch.empty(6, 6), "scale": None, "tolerance": None},
    "initialization._torch_inputs.input_std_of": {"module": lambda: nn.RNN(3, 6), "batch": lambda: torch.ones(5, 2, 3)},
    "initialization.torch.init_recurrent_": {
        "module": lambda: nn.LSTM(3, 6), "scale": None, "tolerance": None, "kind": "gaussian", "leak": None,
        "biases": "constant", "input_kernel": True,
    },
    "initialization.propagation.propagate": {"weights": np.eye(3)},
    "initialization.scale.safe_scale": {"tolerance": None, "samples": None, "quantile": None, "bound": None, "seed": None},
    "initialization.budget.depth_budget": {"criterion": "mean", "quantile": None, "bound": None, "samples": None, "seed": None},
    "initialization.budget.width_needed": {"criterion": "mean", "quantile": None},
    "montecarlo.sampling.sample": {"method": "dense", "activation": "leaky_relu"},
    "montecarlo.sampling.peaks": {},
    "inspection.look.inspect": {"model": MIXER, "adapter": "mamba2"},
    "inspection.watcher.watch": {"model": MIXER, "path": None, "optimizer": None, "writer": None, "layers": "", "start": 2},
    "inspection.transfer.transfer_check": {
        "make_model": lambda: lambda n: lambda state, inputs: 0.5 * state, "widths": (2, 4), "horizons": (2, 5), "steps": 0,
        "draws": 2, "batch": 2, "batch_of": None, "loss": None, "optimizer": None,
    },
    "inspection.bounds.assert_horizon": {"model": KEEPER, "at_least": 2, "at_most": None, "layers": "", "of": "gradient"},
    "inspection.kernels.power_energy": {"W": 0.5 * np.eye(3), "reach": 4, "source": np.ones((3, 1)), "log_slope": -0.5},
    "inspection.checkpoints.read_checkpoint": {"path": sequences},
    "meanfield.activations.Activation": {"value": np.tanh, "slope": lambda: lambda x: np.cosh(x) ** -2.0},
    "meanfield.activations.as_activation": {"activation": "tanh", "derivative": None, "kinks": ()},
    "meanfield.quadrature.gaussian_mean": {"function": lambda: np.cos, "kinks": (0.5,)},
    "meanfield.quadrature.gaussian_pair_mean": {"function": lambda: np.cos, "kinks": (0.5,)},
    **{f"meanfield.{name}": {"activation": "tanh"} for name in (
        "fixed_points.variance_map", "fixed_points.fixed_point", "fixed_points.chi", "fixed_points.slope_kurtosis",
        "fixed_points.edge_of_chaos", "fixed_points.critical_scale", "gradients.gradient_law", "gradients.horizon",
        "correlation.correlation_map", "correlation.correlation_fixed_point", "correlation.correlation_time",
        "crossover.spread_ratio",
        "crossover.crossover_horizon")},
    "cells.energies.gradient_energies": {"cell": "lstm", "kind": "gaussian", "inputs": "fresh", "memory": None, "times": (2, 4)},
    "cells.lyapunov.lyapunov": {"step": lambda: np.tanh, "state": (0.5, 0.25), "inputs": 40, "batches": 4, "burn_in": 3,
                                "jacobian": lambda: lambda h: np.diag(np.cosh(h) ** -2.0), "jvp": None, "count": 1},
    "meanfield.memory.chrono_biases": {"units": 4, "memory": 8.0, "input_std": 0.5},
    "meanfield.memory.keeping_bias": {"bias": 2.0, "input_std": 0.5},
    **{f"meanfield.gated.{cell}_gradient": dict.fromkeys(
        ("input_gate", "forget_gate", "output_gate") if cell == "lstm" else ("reset_gate", "update_gate", "candidate_hidden"),
        (0.25, 0.5)) for cell in ("lstm", "gru")},
    "montecarlo.run.run": {"plan": short_plan, "directory": folder, "progress": False},
    "montecarlo.plan.Plan": {"fields": ("real",), "n": (6,), "k": (3,), "c": None, "models": ("rnn",), "method": "dense",
                             "activation": "leaky_relu"},
    "montecarlo.quantiles.quantile_levels": {"ordered": np.arange(40.0)},
    "montecarlo.quantiles.quantile_level": {"ordered": np.arange(40.0)},
    "montecarlo.quantiles.quantile_interval": {"ordered": np.arange(40.0)},
    "montecarlo.quantiles.order_ranks": {"count": 40},
    "montecarlo.tail.tail_index": {"ordered": np.arange(100.0)},
    "recurrences.planes.LRU": {
        "log_modulus": (-0.125, -0.25), "phase": (0.125, 0.25), "B": EYE, "C": EYE, "normalizer": (1.0, 2.0), "heads": 1,
    },
    "recurrences.lti.LinearRecurrence": {"A": 0.5 * EYE, "B": EYE, "C": EYE, "first": EYE},
    "recurrences.planes.RotRNN": {
        "angles": ((0.25,),), "B": (((1.0,), (0.5,)),), "C": ((1.0, 0.5),), "gamma": 0.5, "log_rate": None, "basis": None,
    },
    "recurrences.report.report": {"kind": "lru"},
    "recurrences.report.report_on": {
        "recurrence": lambda: recurrences.LinearRecurrence(0.5 * EYE, EYE), "about": "half",
    },
    "recurrences.dense_operators.Dense": {"matrix": 0.5 * EYE},
    "recurrences.dense_operators.Triangular": {"matrix": 0.5 * EYE},
    "recurrences.dense_operators.ScaledUnitary": {"unitary": EYE, "log_gamma": -0.25},
    "recurrences.operators.Diagonal": {"log_modulus": (-0.125, -0.25), "phase": (0.125, 0.25)},
    "recurrences.operators.Rotations": {"log_gamma": (-0.125,), "angles": ((0.25,),), "head_size": 2, "basis": None},
    "recurrences.averages.drawn_average": {"draw": lambda: lambda seed: recurrences.lru(2, 2, seed=seed)},
    "recurrences.averages.state_space_average": {"kind": "s4"},
    "recurrences.averages.rotrnn_average": {"gamma": None, "gamma_min": 0.5, "gamma_max": 0.75},
    "recurrences.rotrnn_draws.rotrnn": {"gamma": None, "gamma_min": 0.5, "gamma_max": 0.75},
    "recurrences.laws.checked_gammas": {"gamma_min": 0.5, "gamma_max": 0.75},
    "recurrences.laws.gamma_ends": {"gamma_min": 0.5, "gamma_max": 0.75},
    "recurrences.laws.gamma_rates": {"gamma_min": 0.5, "gamma_max": 0.75},
    "recurrences.laws.checked_time_steps": {"dt_range": (0.125, 0.25)},
    "recurrences.laws.lru_input_std": {"inputs": 4},
    "recurrences.laws.lru_readout_std": {"units": 4},
    "recurrences.laws.rotrnn_input_std": {"inputs": 4},
    "recurrences.laws.rotrnn_readout_std": {"states": 4},
    "nn.bidirectional.Bidirectional": {
        "ahead": lambda: signalprop.nn.LRU(4, 4), "back": lambda: signalprop.nn.LRU(4, 4),
    },
    "nn.classifier.ResidualBlock": {"recurrence": lambda: signalprop.nn.LRU(4, 4), "dropout": 0.0},
    "nn.classifier.SequenceClassifier": {
        "recurrence": lambda: lambda: signalprop.nn.LRU(4, 4), "classes": 3, "features": 4, "depth": 1, "dropout": 0.0,
    },
    "nn.dense.DenseLinearRNN": {"scale_options": None},
    "nn.rotrnn.RotRNN": {"gamma_min": 0.5, "gamma_max": 0.75},
    "nn.parameter_groups.parameter_groups": {
        "module": lambda: signalprop.nn.LRU(4, 4), "lr": 0.5, "weight_decay": 0.25, "dynamics_factor": 0.5,
    },
    "nn.scan.linear_scan": {"initial": None},
    "nn.scan.log_depth_scan": {"initial": None},
    "nn.scan.rotation_scan": {
        "inputs": lambda: WIDE.reshape(2, 3, 2, 2).clone(),
        "decay": lambda: torch.full((2,), 0.5), "angle": lambda: torch.full((2,), 0.25), "initial": None,
    },
    "nn.state_energies.state_energies": {"model": lambda: signalprop.nn.LRU(4, 4), "inputs": lambda: (WIDE.clone(),)},
    "tasks.make": {"task": "copy", "blanks": 3, "train": 8, "test": 4, "symbols": 3, "length": 2},
    "tasks.task.Split": {"inputs": np.ones((3, 2), int), "targets": np.array([0, 1, 2]), "lengths": np.array([2, 1, 2])},
    "tasks.task.Task": {
        "name": "mine", "description": "three sequences", "kind": "classification", "train": short_split,
        "validation": short_split, "test": short_split, "symbols": 3, "features": 0, "classes": 3, "chance": 0.25,
        "baseline": 1.0, "answers": 1, "vocabulary": ("a", "b", "c"),
    },
    "tasks.digits.sequential_digits": {"validation": 0},
    "tasks.arrays.load_arrays": {"path": sequences, "symbols": 3, "classes": 3},
    "tasks._grammar.decode": {"tokens": (11, 2)},
    "tasks._grammar.encode": {"expressions": ("[MAX 2 9 ]",)},
    "tasks._grammar.evaluate": {"expression": "[MAX 2 9 ]"},
    "tasks._tsv.write": {"task": lambda: signalprop.tasks.listops.generate(
        train=3, validation=2, test=2, min_length=5, max_length=30, max_depth=3, max_args=3), "directory": folder},
    "tasks.listops.load": {"directory": listops_files, "name": "basic"},
    "tasks.listops.generate": {
        "train": 3, "validation": 2, "test": 2, "min_length": 5, "max_length": 30, "max_depth": 3, "max_args": 3,
    },
    "training.settings.Settings": {"task": "copy", "options": {"blanks": 3, "train": 8, "test": 4}, "layer": "rotrnn",
                                   "learning_rate": 0.25, "recurrence_factor": 0.5, "weight_decay": 0.125},
    "training.settings.differences": {"one": {"a": 1}, "other": {"a": 2}, "ignored": ()},
    "training.model.build_model": {"settings": short_settings, "task": short_task},
    "training.energies.StateEnergies": {"model": lambda: signalprop.nn.LRU(4, 4)},
    "training.energies.white_energy": {"layer": lambda: signalprop.nn.LRU(4, 4), "steps": 3},
    "training.trainer.train": {"settings": short_settings, "task": short_task, "directory": folder},
    "wick.reference.compose": {"p": (1, 0, 2), "q": (2, 1, 0)},
    "wick.reference.inverse": {"p": (1, 0, 2)},
    "wick.reference.cycles": {"p": (1, 0, 2)},
    "wick.reference.free_indices": {"k": 2, "pairing": ((0, 1), (2, 3))},
    "wick.reference.permutation_counts": {"k": 3},
    "wick.reference.matching_counts": {"k": 2},
}  # fmt: skip


def drawn_by_jax(horizon: Any, shape: Any, *, scale: Any, **options: Unpack[ScaleOptions]) -> np.ndarray:
    """A kernel of the initializer, which checks its shape when it draws."""
    import jax

    from signalprop.initialization.jax import ginibre

    return np.asarray(ginibre(horizon, scale=scale, **options)(jax.random.key(0), shape))


def biases_by_jax(horizon: Any, shape: Any, signs: Any, input_std: Any) -> np.ndarray:
    """Biases of gates, as `drawn_by_jax`."""
    import jax

    from signalprop.initialization.jax import chrono

    return np.asarray(chrono(horizon, signs, input_std)(jax.random.key(0), shape))


# Functions that public ones give.
GIVEN: dict[str, Callable[..., Any]] = {
    "initialization.jax.ginibre()": drawn_by_jax,
    "initialization.jax.chrono()": biases_by_jax,
}
# An object of each class whose methods are swept, and what these need otherwise.
OBJECTS: dict[str, Callable[[], Any]] = {
    "montecarlo.estimate.Estimate": lambda: signalprop.Estimate.from_logs(PATHS[0], 0.5),
    "montecarlo.sampling.Sample": lambda: signalprop.sample(6, 4, "real", samples=20),
    "montecarlo.plan.Plan": short_plan,
    "initialization.advice.Advice": lambda: signalprop.advise(6, 4, "real"),
    "initialization._cell_advice.CellAdvice": lambda: signalprop.advise(6, 20, cell="gru"),
    "initialization.scale.SafeScale": lambda: signalprop.safe_scale(6, 4, "real"),
    "initialization.propagation.Propagation": lambda: signalprop.initialization.propagate(np.eye(3), 4),
    "regimes.classify.Law": lambda: regimes.LAWS[Field.REAL, Model.RNN][0],
    "ginibre.dense.Layer": Layer,
    "cells.energies.GradientEnergies": lambda: signalprop.cells.gradient_energies("tanh", 6, 4, draws=20),
    "cells.lyapunov.LyapunovExponents": lambda: signalprop.cells.lyapunov(
        np.tanh, (0.5, 0.25), 40, jacobian=lambda h: np.diag(np.cosh(h) ** -2.0)
    ),
    "meanfield.gradients.GradientLaw": lambda: signalprop.meanfield.gradient_law(6, 4, 0.5, "tanh", 0.5),
    "recurrences.lti.LinearRecurrence": lambda: recurrences.LinearRecurrence(0.5 * EYE, EYE, C=EYE, heads=2),
    "recurrences.planes.LRU": lambda: recurrences.lru(2, 2, r_max=0.9, output_size=2),
    "recurrences.planes.RotRNN": lambda: recurrences.rotrnn(4, 2, heads=2, output_size=2),
    "recurrences.dense_operators.Dense": lambda: recurrences.Dense(0.5 * EYE),
    "recurrences.operators.Diagonal": lambda: recurrences.Diagonal([-0.125, -0.25], [0.1, 0.2]),
    "recurrences.operators.Rotations": lambda: recurrences.Rotations([-0.125], [[0.3]], 2),
    "recurrences.dense_operators.ScaledUnitary": lambda: recurrences.ScaledUnitary(EYE, -0.125),
    "recurrences.dense_operators.Triangular": lambda: recurrences.Triangular(0.5 * EYE),
    "nn.lru.LRU": lambda: signalprop.nn.LRU(4, 4, check_finite=True),
    "nn.rotrnn.RotRNN": lambda: signalprop.nn.RotRNN(4, 4, heads=2, check_finite=True),
    "nn.dense.DenseLinearRNN": lambda: signalprop.nn.DenseLinearRNN(4, 4, horizon=4, check_finite=True),
    "nn.bidirectional.Bidirectional": lambda: signalprop.nn.Bidirectional(
        signalprop.nn.LRU(4, 4, check_finite=True), signalprop.nn.LRU(4, 4, check_finite=True)
    ),
    "nn.classifier.ResidualBlock": lambda: signalprop.nn.ResidualBlock(signalprop.nn.LRU(4, 4, check_finite=True), 4),
    "nn.classifier.SequenceClassifier": lambda: signalprop.nn.SequenceClassifier(
        lambda: signalprop.nn.LRU(4, 4), 4, 3, features=4, depth=1
    ),
    "tasks.task.Split": lambda: short_task().train,
    "tasks.task.Task": short_task,
    "training.settings.Settings": short_settings,
}
METHODS: dict[str, dict[str, Any]] = {
    "montecarlo.estimate.Estimate.from_logs": {"log_second_moment": None, "tail_law": None, "tempered": False},
    "initialization.advice.Advice.log_median": {"scale": 1.0},
    "initialization.scale.SafeScale.exploding_share": {"bound": None, "samples": None},
    "recurrences.operators.Diagonal.from_values": {"values": (0.5, 0.25)},
    "recurrences.planes.LRU.to_rotrnn": {"heads": 2},
    "nn.lru.LRU.from_linear": {"recurrence": lambda: recurrences.lru(2, 2, r_max=0.9)},
    "nn.rotrnn.RotRNN.from_linear": {"recurrence": lambda: recurrences.rotrnn(4, 2, heads=2)},
    "nn.dense.DenseLinearRNN.from_linear": {"recurrence": lambda: recurrences.gaussian(2)},
    "nn.recurrence.Recurrence.initial_state": {"batch": 2},
    "montecarlo.plan.Plan.load": {"path": plan_file},
    "montecarlo.plan.Plan.save": {"path": plan_file},
    "training.settings.Settings.read": {"path": settings_file},
    "montecarlo.plan.Plan.from_toml": {"text": lambda: short_plan().to_toml()},
}
for _kind in ("lru.LRU", "rotrnn.RotRNN", "dense.DenseLinearRNN"):

    def _state(kind: str = f"nn.{_kind}") -> Any:
        return OBJECTS[kind]().initial_state(2)

    METHODS[f"nn.{_kind}.step"] = {"inputs": WIDE[:, 0].clone, "state": _state}
    METHODS[f"nn.{_kind}.advance"] = {"state": _state}
for _operator in ("Dense", "Triangular", "ScaledUnitary"):
    METHODS[f"recurrences.dense_operators.{_operator}.power"] = {"k": 2}
for _family in ("lti.LinearRecurrence", "planes.LRU", "planes.RotRNN"):
    for _name in ("run", "outputs"):
        METHODS[f"recurrences.{_family}.{_name}"] = {"inputs": np.ones((3, 2))}
    for _name in ("energy", "energy_by_head", "stationary_energy", "stationary_by_head", "energy_variance",
                  "covariance_path", "sample"):  # fmt: skip
        METHODS[f"recurrences.{_family}.{_name}"] = {"covariance": EYE, "correlation": 0.0}
    _states = np.ones((4 if _family.endswith("RotRNN") else 2, 2))
    METHODS[f"recurrences.{_family}.forward_energy"] = {"source": _states}
    METHODS[f"recurrences.{_family}.gradient_energy"] = {"readout": _states.T}
