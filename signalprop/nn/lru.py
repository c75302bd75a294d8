"""The linear recurrent unit: a diagonal complex recurrence."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from signalprop import recurrences
from signalprop._names import NORMALIZERS
from signalprop.fields import one_of
from signalprop.nn._linear import assign, numbers, of_kind, require_no_first_step
from signalprop.nn._reset import require_plain
from signalprop.nn.recurrence import PlaneRecurrence, System
from signalprop.recurrences import Diagonal, LinearRecurrence, laws

__all__ = ["LRU"]


class LRU(PlaneRecurrence):
    r"""The diagonal linear recurrent unit of Orvieto et al.: x_t = lambda x_{t-1} + gamma (B u_t), y_t = Re(C x_t) + D u_t.

    lambda_i = exp(-exp(nu_i) + i exp(theta_i)), one complex number per state. At the start ``|lambda|^2`` is uniform in
    [r_min^2, r_max^2] and the phase in [0, max_phase]; E|b_ij|^2 = 1/d_model; C has parts of variance 1/d_state, D is standard
    normal: the law of `signalprop.recurrences.lru`, in `signalprop.recurrences.laws` with its source.
    (`signalprop.lru_energy` is about another recurrence of this name, with one dense random matrix.)

    Parameters
    ----------
    d_model
        Size of inputs and outputs.
    d_state
        Number of complex numbers in the state.
    r_min, r_max
        Bounds of ``|lambda|`` at the start, 0 <= r_min <= r_max <= 1, not both 0 or both 1.
    max_phase
        Largest phase at the start, 0 < max_phase <= 2 pi.
    normalizer
        ``"recomputed"``: ``gamma_i = sqrt(1 - |lambda_i|^2)`` of the current weights, differentiated like them.
        ``"learned"``: that value at the start, then a parameter of its own, ``gamma_log`` (the authors' code).
    feedthrough, check_finite, device, dtype
        As in `Recurrence`.

    Raises
    ------
    ValueError
        A size below one, radii or a phase out of range, an unknown normalizer.

    Notes
    -----
    For white inputs of unit variance ``E||x_t||^2 = sum_i gamma_i^2 (B B*)_ii (1 - |lambda_i|^{2t})/(1 - |lambda_i|^2)``. (P)
    The phase exp(theta) is not held below 2 pi in training. ``1 - |lambda|^2`` is computed as -expm1(-2 exp(nu)), without
    cancellation. arXiv:2303.06349.

    Examples
    --------
    >>> import torch
    >>> layer = LRU(8, 32, r_min=0.9, r_max=0.999)
    >>> layer(torch.randn(4, 100, 8)).shape
    torch.Size([4, 100, 8])
    >>> y, state = layer.step(torch.randn(4, 8), layer.initial_state(4))
    >>> y.shape
    torch.Size([4, 8])
    """

    dynamics: ClassVar[tuple[str, ...]] = ("nu", "theta", "gamma_log")

    def __init__(
        self,
        d_model: int,
        d_state: int,
        *,
        r_min: float = laws.MODULI[0],
        r_max: float = laws.MODULI[1],
        max_phase: float = laws.MAX_PHASE,
        normalizer: str = "recomputed",
        feedthrough: bool = True,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            d_model, d_state, feedthrough=feedthrough, check_finite=check_finite, device=device, dtype=dtype
        )
        self.r_min, self.r_max = laws.checked_moduli(r_min, r_max)
        self.max_phase = laws.checked_phase(max_phase)
        self.normalizer = one_of(normalizer, NORMALIZERS, "normalizer")
        self.gamma_log: nn.Parameter | None
        self.nu = self._empty_dynamics(self.d_state)
        self.theta = self._empty_dynamics(self.d_state)
        self.B = self._empty(self.d_state, 2, self.d_model)
        self.C = self._empty(self.d_model, self.d_state, 2)
        self.register_parameter("gamma_log", self._empty_dynamics(self.d_state) if normalizer == "learned" else None)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all parameters again."""
        require_plain(self)
        # Never quite 0 or 1, also in float32: the logarithms stay finite.
        share = self.nu.uniform_().clamp_(2.0**-25, 1.0 - 2.0**-24)
        self.nu.copy_((-laws.ring_log_moduli(share, self.r_min, self.r_max, torch)).log())
        self.theta.uniform_(0.0, self.max_phase).clamp_(min=1e-15).log_()
        nn.init.normal_(self.B, std=laws.lru_input_std(self.d_model))
        nn.init.normal_(self.C, std=laws.lru_readout_std(self.d_state))
        if self.D is not None:
            nn.init.normal_(self.D)
        if self.gamma_log is not None:
            self.gamma_log.copy_(power_lost(self.nu).log() / 2)

    @classmethod
    def from_linear(
        cls,
        recurrence: LinearRecurrence,
        *,
        normalizer: str = "recomputed",
        feedthrough: bool = False,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> LRU:
        """The layer that is a given recurrence with a diagonal A: of `signalprop.recurrences.lru`, `s5`, or of your own.

        Where the recurrence has no readout C, it is drawn as in a new layer, and so is D with `feedthrough`;
        `reset_parameters` draws everything anew. `linear` is the way back.

        Parameters
        ----------
        recurrence
            Diagonal, moduli below 1, without a first step of its own; a RotRNN is one by ``to_lru``.
        normalizer, feedthrough, check_finite, device, dtype
            As of the layer.

        Raises
        ------
        ValueError
            Another recurrence, one with more or fewer outputs than inputs.

        Examples
        --------
        >>> from signalprop import recurrences
        >>> LRU.from_linear(recurrences.s5(64, 16))
        LRU(d_model=16, d_state=32, normalizer='recomputed')
        """
        given = of_kind(recurrence, LinearRecurrence, "a LinearRecurrence with a diagonal A")
        if not isinstance(given.A, Diagonal):
            raise ValueError(f"an LRU has a diagonal A, got one of {type(given.A).__name__}.")
        require_no_first_step(given, "an LRU")
        decay = given.A.log_modulus
        if not (decay < 0.0).all():
            raise ValueError(f"moduli must be below 1, got {np.exp(decay.max()):.17g}.")
        layer = cls(
            given.input_size,
            given.state_size,
            normalizer=normalizer,
            feedthrough=feedthrough,
            check_finite=check_finite,
            device=device,
            dtype=dtype,
        )
        gamma = np.sqrt(-np.expm1(2.0 * decay))
        if layer.gamma_log is not None:
            if isinstance(given, recurrences.LRU) and (given.normalizer > 0.0).all():
                gamma = given.normalizer
            assign(layer, gamma_log=np.log(gamma))
        rows = given.B / gamma[:, None]
        turn = np.mod(given.A.phase, laws.MAX_PHASE).clip(1e-15)  # the layer has no angle of zero
        assign(layer, nu=np.log(-decay), theta=np.log(turn), B=np.stack([rows.real, rows.imag], 1))
        if given.C is not None:
            assign(layer, C=np.stack([given.C.real, given.C.imag], 2))
        return layer

    def linear(self) -> recurrences.LRU:
        """The recurrence as it is now, as `Recurrence.linear` has it."""
        rows, readout = numbers(self, "B"), numbers(self, "C")
        with np.errstate(over="ignore", under="ignore"):
            return recurrences.LRU(
                -np.exp(numbers(self, "nu")),
                np.exp(numbers(self, "theta")),
                rows[:, 0] + 1j * rows[:, 1],
                readout[..., 0] + 1j * readout[..., 1],
                normalizer=None if self.gamma_log is None else np.exp(numbers(self, "gamma_log")),
            )

    def _rows(self) -> tuple[int, int]:
        return 2, 2 * self.d_state

    def _system(self, dtype: torch.dtype) -> System:
        nu, theta = self.nu.to(dtype), self.theta.to(dtype)
        gamma = self.gamma_log.to(dtype).exp() if self.gamma_log is not None else power_lost(nu).sqrt()
        enter = (gamma[:, None, None] * self.B.to(dtype)).flatten(0, 1)
        real_part = torch.tensor([1.0, -1.0], dtype=dtype, device=nu.device)  # Re(c x) = Re c Re x - Im c Im x
        leave = (self.C.to(dtype) * real_part).flatten(1)
        return System(((-nu.exp()).exp(), theta.exp()), enter, leave, None)

    def extra_repr(self) -> str:
        """What ``repr`` shows in the brackets."""
        return f"{super().extra_repr()}, normalizer={self.normalizer!r}"


def power_lost(nu: Tensor) -> Tensor:
    """1 - r^2 for r = exp(-exp(nu)), without cancellation near r = 1."""
    return -torch.expm1(-2.0 * nu.exp())
