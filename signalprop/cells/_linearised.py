"""One step of a map and its derivative along several directions, for steps in NumPy, PyTorch and JAX.

A library is loaded only where the state is one of its arrays. Each class has `state`, and `advance(x, frame)`, which makes one
step and returns the derivative applied to the columns of `frame`, float64 in and out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import finite_array, function_or_none, real_array, shown
from signalprop._extras import required

Floats = NDArray[np.float64]


class Linearised(Protocol):
    """A step with its derivative."""

    size: int

    def advance(self, x: tuple[Any, ...], frame: Floats) -> Floats:
        """Make one step with these inputs; the derivative of the step applied to the columns of the frame."""

    def state(self) -> Floats:
        """The state, flat."""


def linearised(step: Any, state: Any, jacobian: Any, jvp: Any) -> Linearised:
    """The step of whichever library the state belongs to."""
    if not callable(step):
        raise ValueError(f"step must be a function of the state, got {shown(step)}.")
    for name, function in (("jacobian", jacobian), ("jvp", jvp)):
        function_or_none(function, name)
    library = type(state).__module__.partition(".")[0]
    if library in ("torch", "jax", "jaxlib"):
        if jacobian is not None or jvp is not None:
            raise ValueError(
                f"jacobian and jvp are for steps in NumPy; the state is {shown(state)}, whose library takes derivatives itself."
            )
        return _Torch(step, state) if library == "torch" else _Jax(step, state)
    if (jacobian is None) == (jvp is None):
        raise ValueError(
            "one of jacobian and jvp must be given for a step in NumPy: jacobian(h, x), or jvp(h, x, V) which multiplies it by "
            f"V; got {'neither' if jvp is None else 'both'}."
        )
    return _Numpy(step, state, jacobian, jvp)


def _called(function: Callable[..., Any], name: str, state: Any, *arguments: Any) -> Any:
    try:
        return function(state, *arguments)
    except Exception as error:
        raise ValueError(
            f"{name} must take a state such as the one it got, {shown(state)}; it raises {shown(error)}."
        ) from error


def _same_shape(found: Any, expected: tuple[int, ...], name: str) -> None:
    if tuple(getattr(found, "shape", ())) != expected:
        raise ValueError(f"{name} must give an array of shape {expected}, got {shown(found)}.")


class _Numpy:
    def __init__(self, step: Any, state: Any, jacobian: Any, jvp: Any) -> None:
        self._step, self._jacobian, self._jvp = step, jacobian, jvp
        self._state = real_array(state, "state", None)
        self.size = self._state.size

    def advance(self, x: tuple[Any, ...], frame: Floats) -> Floats:
        if self._jvp is not None:
            moved = finite_array(_called(self._jvp, "jvp", self._state, *x, frame), "the answer of jvp", 2)
            _same_shape(moved, frame.shape, "jvp")
        else:
            slopes = real_array(_called(self._jacobian, "jacobian", self._state, *x), "the answer of jacobian", 2)
            _same_shape(slopes, (self.size, self.size), "jacobian")
            moved = slopes @ frame
        after = real_array(_called(self._step, "step", self._state, *x), "the state after a step", None)
        _same_shape(after, self._state.shape, "step")
        self._state = after
        return np.asarray(moved, dtype=np.float64)

    def state(self) -> Floats:
        return self._state.reshape(-1)


class _Torch:
    def __init__(self, step: Any, state: Any) -> None:
        with required("lyapunov of a step in PyTorch", "torch"):
            import torch
        self._torch, self._step = torch, step
        if not state.is_floating_point() or state.numel() == 0:
            raise ValueError(f"state must hold real floating-point numbers, got {shown(state)} of type {state.dtype}.")
        self._state = state.detach().clone()
        self.size = state.numel()
        self._forward_mode, self._known = True, False

    def advance(self, x: tuple[Any, ...], frame: Floats) -> Floats:
        torch, shape = self._torch, self._state.shape
        given = tuple(torch.as_tensor(one, dtype=self._state.dtype, device=self._state.device) for one in x)

        def flat(h: Any) -> Any:
            after = self._step(h.reshape(shape), *given)
            _same_shape(after, tuple(shape), "step")
            return after.reshape(-1)

        h = self._state.reshape(-1)
        directions = torch.as_tensor(frame, dtype=h.dtype, device=h.device)
        moved = self._moved(flat, h, directions)
        with torch.no_grad():
            self._state = _called(flat, "step", h).detach().reshape(shape)
        return np.asarray(moved.detach().cpu().numpy(), dtype=np.float64)

    def _moved(self, flat: Any, h: Any, directions: Any) -> Any:
        torch = self._torch
        if self._forward_mode:
            along = torch.func.vmap(lambda v: torch.func.jvp(flat, (h,), (v,))[1], in_dims=1, out_dims=1)
            if self._known:
                return along(directions)
            try:
                with warnings.catch_warnings():  # PyTorch loads its rules with functions that it deprecates
                    warnings.simplefilter("ignore", DeprecationWarning)
                    moved = along(directions)
                self._known = True
                return moved
            except (RuntimeError, NotImplementedError):  # an operation without forward derivatives, or without vmap
                self._forward_mode = False
        return _called(lambda h: torch.autograd.functional.jacobian(flat, h), "step", h) @ directions

    def state(self) -> Floats:
        return np.asarray(self._state.cpu().numpy(), dtype=np.float64).reshape(-1)


class _Jax:
    def __init__(self, step: Any, state: Any) -> None:
        with required("lyapunov of a step in JAX", "jax"):
            import jax
        differentiate: Any = jax.jvp  # has no types
        self._numpy, self._state, self.size = jax.numpy, state, int(state.size)
        if not jax.numpy.issubdtype(state.dtype, jax.numpy.floating) or self.size == 0:
            raise ValueError(f"state must hold real floating-point numbers, got {shown(state)} of type {state.dtype}.")

        def moved(h: Any, x: tuple[Any, ...], directions: Any) -> Any:
            def flat(one: Any) -> Any:
                after = step(one.reshape(state.shape), *x)
                _same_shape(after, tuple(state.shape), "step")
                return after.reshape(-1)

            along: Any = jax.vmap(lambda v: differentiate(flat, (h.reshape(-1),), (v,))[1], in_axes=1, out_axes=1)
            return flat(h.reshape(-1)).reshape(state.shape), along(directions)

        self._moved = jax.jit(moved)

    def advance(self, x: tuple[Any, ...], frame: Floats) -> Floats:
        directions = self._numpy.asarray(frame, dtype=self._state.dtype)
        self._state, moved = _called(self._moved, "step", self._state, x, directions)
        return np.asarray(moved, dtype=np.float64)

    def state(self) -> Floats:
        return np.asarray(self._state, dtype=np.float64).reshape(-1)
