"""One width and horizon of `transfer_check`: models drawn, a gradient carried back, a few steps of training, and again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from signalprop._checks import shown


@dataclass(frozen=True)
class Plan:
    """What `transfer_check` was asked for."""

    make_model: Callable[[int], Any]
    steps: int
    draws: int
    batch: int
    batch_of: Callable[[int, int], Any] | None
    loss: Callable[[Any, Any], Any] | None
    optimizer: Callable[[Any], Any] | None


@dataclass
class _Found:
    logs: list[float]
    states: list[float]
    gradients: list[float]

    def numbers(self) -> dict[str, Any]:
        logs = [value for value in self.logs if math.isfinite(value)]
        mean = sum(logs) / len(logs) if logs else None
        spread = math.sqrt(sum((value - mean) ** 2 for value in logs) / len(logs)) if mean is not None else None
        return {
            "log_energy": mean,
            "spread": spread,
            "state": sum(self.states) / len(self.states),
            "gradient": sum(self.gradients) / len(self.gradients) if self.gradients else None,
            "draws": len(logs),
            "lost": len(self.logs) - len(logs),
        }


def measured(plan: Plan, n: int, horizon: int, seeds: list[int]) -> list[dict[str, Any]]:
    """The numbers before training, and after it where there is some."""
    found = [_Found([], [], []) for _ in range(2 if plan.steps else 1)]
    with torch.random.fork_rng(devices=[]):
        for child_seed in seeds:
            torch.manual_seed(child_seed % 2**63)
            model = plan.make_model(n)
            if isinstance(model, nn.Module):
                _module(plan, model, n, horizon, found[0])
                if plan.steps:
                    _train(plan, model, n, horizon)
                    _module(plan, model, n, horizon, found[1])
            else:
                _function(plan, model, n, horizon, found[0])
    return [one.numbers() for one in found]


def _function(plan: Plan, step: Any, n: int, horizon: int, found: _Found) -> None:
    if not callable(step):
        raise ValueError(
            f"make_model must give a torch.nn.Module or a function of state and inputs, got {shown(step)}."
        )
    if plan.steps:
        raise ValueError(
            f"steps={plan.steps} needs a make_model that gives a torch.nn.Module, got a function of a step."
        )
    inputs, _ = _batch(plan, n, horizon, n, torch.float64)
    start = torch.zeros(len(inputs), n, dtype=inputs.dtype, requires_grad=True)
    state = start
    for t in range(horizon):
        state = step(state, inputs[:, t])
    if not isinstance(state, Tensor) or state.shape != start.shape:
        raise ValueError(f"make_model must give a step to a state of shape {tuple(start.shape)}, got {shown(state)}.")
    direction = torch.randn_like(start)
    (back,) = torch.autograd.grad(state, start, direction)
    found.logs += (back.square().sum(1).log() - direction.square().sum(1).log()).tolist()
    found.states.append(float(state.detach().square().mean()))


def _module(plan: Plan, model: nn.Module, n: int, horizon: int, found: _Found) -> None:
    inputs, targets = _batch(plan, n, horizon, _features(model, n), _dtype(model))
    inputs = inputs.detach().requires_grad_()
    outputs = _outputs(model, inputs)
    last = outputs[:, -1]
    (back,) = torch.autograd.grad(last, inputs, torch.randn_like(last), retain_graph=True)
    energies = back.square().flatten(2).sum(2).log()
    found.logs += (energies[:, 0] - energies[:, -1]).tolist()
    found.states.append(float(last.detach().square().mean()))
    parameters = [one for one in model.parameters() if one.requires_grad]
    if parameters:
        all_of = torch.autograd.grad(_loss(plan, outputs, targets), parameters, allow_unused=True)
        squares = torch.cat([one.flatten() for one in all_of if one is not None]).square()
        found.gradients.append(float(squares.mean().sqrt()))


def _train(plan: Plan, model: nn.Module, n: int, horizon: int) -> None:
    make = plan.optimizer or (lambda parameters: torch.optim.Adam(parameters, lr=1e-3))
    optimizer = make(model.parameters())
    for _ in range(plan.steps):
        inputs, targets = _batch(plan, n, horizon, _features(model, n), _dtype(model))
        optimizer.zero_grad()
        torch.autograd.backward(_loss(plan, _outputs(model, inputs), targets))
        optimizer.step()


def _batch(plan: Plan, n: int, horizon: int, features: int, dtype: torch.dtype) -> tuple[Tensor, Any]:
    if plan.batch_of is None:
        return torch.randn(plan.batch, horizon, features, dtype=dtype), None
    given = plan.batch_of(n, horizon)
    inputs, targets = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, None)
    if (
        not isinstance(inputs, Tensor)
        or inputs.ndim != 3
        or inputs.shape[1] != horizon
        or not inputs.is_floating_point()
    ):
        raise ValueError(
            f"batch_of must give real inputs of shape (batch, T, features) with T={horizon}, got {shown(inputs)}."
        )
    return inputs, targets


def _outputs(model: nn.Module, inputs: Tensor) -> Tensor:
    turned = getattr(model, "batch_first", True) is False
    outputs = model(inputs.transpose(0, 1) if turned else inputs)
    first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    if turned:
        first = first.transpose(0, 1)
    if not isinstance(first, Tensor) or first.ndim != 3 or first.shape[:2] != inputs.shape[:2]:
        raise ValueError(
            f"make_model must give a module with an output per step, (batch, T, features) for inputs {tuple(inputs.shape)}, "
            f"got {shown(first)}."
        )
    return first


def _loss(plan: Plan, outputs: Tensor, targets: Any) -> Tensor:
    if plan.loss is not None:
        return plan.loss(outputs, targets)  # type: ignore[no-any-return]
    last = outputs[:, -1]
    return (last - (torch.randn_like(last) if targets is None else targets)).square().mean()


def _features(model: nn.Module, n: int) -> int:
    for name in ("input_size", "d_model"):
        if isinstance(size := getattr(model, name, None), int):
            return size
    return n


def _dtype(model: nn.Module) -> torch.dtype:
    found = next((one.dtype for one in model.parameters() if one.is_floating_point()), torch.float32)
    return found
