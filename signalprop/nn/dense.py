"""The plain linear recurrence with one dense matrix."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from signalprop._checks import shown, whole_number
from signalprop.fields import one_of
from signalprop.initialization._entries import ScaleOptions
from signalprop.initialization.torch import ginibre_
from signalprop.nn._dense_scan import dense_scan
from signalprop.nn._linear import assign, numbers, of_kind, require_no_first_step
from signalprop.nn._reset import fill_, require_plain
from signalprop.nn.recurrence import Recurrence, System
from signalprop.recurrences import LinearRecurrence

__all__ = ["DenseLinearRNN"]


class DenseLinearRNN(Recurrence):
    r"""The linear recurrence x_t = W x_{t-1} + B u_t, y_t = C x_t + D u_t with a dense real matrix W.

    At the start W is Gaussian at the safe scale of its width and horizon, `signalprop.initialization.torch.ginibre_`, or
    orthogonal; E b_ij^2 = 1/(d_model (horizon + 1)), so that for white inputs of unit variance E||x_t||^2/d_state grows from
    1/(horizon + 1) to about 1 at the horizon where W keeps norms; C has variance 1/d_state, D is standard normal.

    Parameters
    ----------
    d_model
        Size of inputs and outputs.
    d_state
        Size of the state.
    horizon
        Number of steps the signal should survive.
    kernel
        ``"ginibre"`` or ``"orthogonal"``.
    scale_options
        ``criterion``, ``model``, ``tolerance``, ``quantile``, ``bound`` of `signalprop.safe_scale`, for a Gaussian W.
    feedthrough, check_finite, device, dtype
        As in `Recurrence`.

    Raises
    ------
    ValueError
        A size below one, an unknown kernel, or as `ginibre_`.

    Notes
    -----
    A sequence takes about 2 log2(T) products with powers of W instead of T, with twice the arithmetic of the plain loop.

    Examples
    --------
    >>> import torch
    >>> layer = DenseLinearRNN(8, 64, horizon=100, scale_options={"criterion": "bounded"})
    >>> layer(torch.randn(4, 100, 8)).shape
    torch.Size([4, 100, 8])
    """

    dynamics: ClassVar[tuple[str, ...]] = ("W",)

    def __init__(
        self,
        d_model: int,
        d_state: int,
        *,
        horizon: int,
        kernel: str = "ginibre",
        scale_options: ScaleOptions | None = None,
        feedthrough: bool = True,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            d_model, d_state, feedthrough=feedthrough, check_finite=check_finite, device=device, dtype=dtype
        )
        self.horizon = whole_number(horizon, "horizon", 1)
        self.kernel = one_of(kernel, ("ginibre", "orthogonal"), "kernel")
        if scale_options is not None and not isinstance(scale_options, dict):
            raise ValueError(f"scale_options must be a dict, got {type(scale_options).__name__}.")
        self.scale_options: ScaleOptions = scale_options or {}
        if self.kernel == "orthogonal" and self.scale_options:
            raise ValueError(f"an orthogonal kernel has no scale to choose, got scale_options={shown(scale_options)}.")
        self._refuse_beyond_memory(4 * self.d_state**2)
        self.W = self._empty_dynamics(self.d_state, self.d_state)
        self.B = self._empty(self.d_state, self.d_model)
        self.C = self._empty(self.d_model, self.d_state)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all parameters again."""
        require_plain(self)
        if self.kernel == "orthogonal":
            fill_(self.W, nn.init.orthogonal_(torch.empty(self.W.shape, device=self.W.device, dtype=self.W.dtype)))
        else:
            ginibre_(self.W, self.horizon, **self.scale_options)
        nn.init.normal_(self.B, std=math.sqrt(1.0 / (self.d_model * (self.horizon + 1))))
        nn.init.normal_(self.C, std=math.sqrt(1.0 / self.d_state))
        if self.D is not None:
            nn.init.normal_(self.D)

    @classmethod
    def from_linear(
        cls,
        recurrence: LinearRecurrence,
        *,
        horizon: int,
        feedthrough: bool = False,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> DenseLinearRNN:
        """The layer that is a given real recurrence: of `signalprop.recurrences.gaussian`, `orthogonal`, `s4`, or of your own.

        Where the recurrence has no readout C, it is drawn as in a new layer, and so is D with `feedthrough`;
        `reset_parameters` draws everything anew, for `horizon`. `linear` is the way back.

        Parameters
        ----------
        recurrence
            Real, without a first step of its own.
        horizon, feedthrough, check_finite, device, dtype
            As of the layer.

        Raises
        ------
        ValueError
            Another recurrence, a complex one, one with more or fewer outputs than inputs.

        Examples
        --------
        >>> from signalprop import recurrences
        >>> DenseLinearRNN.from_linear(recurrences.orthogonal(8), horizon=100)
        DenseLinearRNN(d_model=8, d_state=8, horizon=100, kernel='ginibre')
        """
        given = of_kind(recurrence, LinearRecurrence, "a LinearRecurrence")
        require_no_first_step(given, "a DenseLinearRNN")
        W = given.A.dense()
        for name, matrix in (("A", W), ("B", given.B)):
            if np.imag(matrix).any():
                raise ValueError(f"the state of a DenseLinearRNN is real, got a complex {name}.")
        layer = cls(
            given.input_size,
            given.state_size,
            horizon=horizon,
            feedthrough=feedthrough,
            check_finite=check_finite,
            device=device,
            dtype=dtype,
        )
        assign(layer, W=np.real(W), B=np.real(given.B))
        if given.C is not None:
            assign(layer, C=np.real(given.C))
        return layer

    def linear(self) -> LinearRecurrence:
        """The recurrence as it is now, as `Recurrence.linear` has it."""
        return LinearRecurrence(numbers(self, "W"), numbers(self, "B"), numbers(self, "C"))

    def _rows(self) -> tuple[int, int]:
        return 1, self.d_state

    def _system(self, dtype: torch.dtype) -> System:
        return System((self.W.to(dtype),), self.B.to(dtype), self.C.to(dtype), None)

    def _scan(self, transition: tuple[Tensor, ...], inputs: Tensor, initial: Tensor) -> Tensor:
        (w,) = transition
        states: Tensor = dense_scan(w, inputs, initial)
        return states

    def extra_repr(self) -> str:
        """What ``repr`` shows in the brackets."""
        return f"{super().extra_repr()}, horizon={self.horizon}, kernel={self.kernel!r}"
