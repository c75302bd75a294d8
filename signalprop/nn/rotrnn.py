"""The rotational recurrent network: heads that shrink by one factor and turn in planes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from signalprop import recurrences
from signalprop._checks import flag, shown, whole_number
from signalprop.nn._linear import assign, numbers, of_kind
from signalprop.nn._reset import require_plain
from signalprop.nn.lru import power_lost
from signalprop.nn.recurrence import PlaneRecurrence, System
from signalprop.recurrences import Rotations, laws
from signalprop.recurrences.power_sums import Floats
from signalprop.recurrences.skew import orthogonal_from_skew, skew_from_orthogonal

__all__ = ["RotRNN"]


class RotRNN(PlaneRecurrence):
    r"""The RotRNN of Biegun et al.: in each head x_t = gamma P Theta P^T x_{t-1} + xi B u_t; y_t = C x_t + D u_t.

    P = expm(M - M^T) is orthogonal, Theta turns N/2 planes by angles theta (and leaves one direction alone if N is odd),
    gamma = exp(-exp(g)) is one number per head, xi = sqrt((1 - gamma^2)/tr(B B^T)) is computed from the current weights
    and differentiated like them. At the start g is uniform between its values at gamma_min and gamma_max, theta in
    [0, max_phase], the entries of M are standard normal, C has variance 1/d_state, D is standard normal: the law of
    `signalprop.recurrences.rotrnn`, in `signalprop.recurrences.laws` with its source.

    Parameters
    ----------
    d_model
        Size of inputs and outputs.
    d_state
        Size of the real state, all heads together.
    heads
        Number of heads H; must divide `d_state`.
    gamma_min, gamma_max
        Bounds of gamma at the start, 0 < gamma_min <= gamma_max < 1.
    max_phase
        Largest angle at the start, 0 < max_phase <= 2 pi.
    first_step_rule
        Whether the first state of a sequence is B u_1/sqrt(tr(B B^T)), without the factor sqrt(1 - gamma^2). This rule is ours;
        the authors' code starts at x_1 = xi B u_1.
    feedthrough, check_finite, device, dtype
        As in `Recurrence`.

    Raises
    ------
    ValueError
        A size below one, heads that do not divide d_state, gamma or a phase out of range.

    Notes
    -----
    For white inputs of unit variance each head has E||x_t||^2 = 1 - gamma^{2t}, and 1 at every t with the first-step rule (P);
    H heads have the sum. Inputs with a mean, or correlated in time, break this, most of all at small angles. The
    state is kept in the coordinates P^T x, in which A is made of planes; for odd N each head carries one extra zero.
    1 - gamma^2 is computed as -expm1(-2 exp(g)), without cancellation. arXiv:2407.07239.

    Examples
    --------
    >>> import torch
    >>> layer = RotRNN(8, 32, heads=4, first_step_rule=True)
    >>> layer(torch.randn(4, 100, 8)).shape
    torch.Size([4, 100, 8])
    >>> layer.state_energy(torch.randn(4, 100, 8)).shape
    torch.Size([100])
    """

    dynamics: ClassVar[tuple[str, ...]] = ("g", "theta", "M")

    def __init__(
        self,
        d_model: int,
        d_state: int,
        *,
        heads: int = 1,
        gamma_min: float = laws.GAMMAS[0],
        gamma_max: float = laws.GAMMAS[1],
        max_phase: float = laws.MAX_PHASE,
        first_step_rule: bool = False,
        feedthrough: bool = True,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            d_model, d_state, feedthrough=feedthrough, check_finite=check_finite, device=device, dtype=dtype
        )
        self.heads = whole_number(heads, "heads", 1)
        if self.d_state % self.heads:
            raise ValueError(
                f"d_state must be divisible by the number of heads, got d_state={shown(d_state)} and heads={shown(heads)}."
            )
        self.gamma_min, self.gamma_max = laws.checked_gammas(gamma_min, gamma_max)
        self.max_phase = laws.checked_phase(max_phase)
        self.first_step_rule = flag(first_step_rule, "first_step_rule")
        size = self.d_state // self.heads
        self._refuse_beyond_memory(6 * self.d_state * size)
        self.g = self._empty_dynamics(self.heads)
        self.theta = self._empty_dynamics(self.heads, size // 2)
        self.M = self._empty_dynamics(self.heads, size, size)
        self.B = self._empty(self.heads, size, self.d_model)
        self.C = self._empty(self.d_model, self.d_state)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all parameters again."""
        require_plain(self)
        nn.init.uniform_(self.g, *laws.gamma_rates(self.gamma_min, self.gamma_max))
        if self.theta.numel():
            nn.init.uniform_(self.theta, 0.0, self.max_phase)
        nn.init.normal_(self.M)
        nn.init.normal_(self.B, std=laws.rotrnn_input_std(self.d_model))
        nn.init.normal_(self.C, std=laws.rotrnn_readout_std(self.d_state))
        if self.D is not None:
            nn.init.normal_(self.D)

    @classmethod
    def from_linear(
        cls,
        recurrence: recurrences.RotRNN,
        *,
        feedthrough: bool = False,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> RotRNN:
        """The layer that is a given RotRNN of `signalprop.recurrences`, its first-step rule included.

        Where the recurrence has no readout C, it is drawn as in a new layer, and so is D with `feedthrough`;
        `reset_parameters` draws everything anew. `linear` is the way back.

        Parameters
        ----------
        recurrence
            A RotRNN whose B is normalised, as `signalprop.recurrences.rotrnn` draws it.
        feedthrough, check_finite, device, dtype
            As of the layer.

        Raises
        ------
        ValueError
            Another recurrence, one that is not normalised, one with more or fewer outputs than inputs.

        Examples
        --------
        >>> from signalprop import recurrences
        >>> RotRNN.from_linear(recurrences.rotrnn(32, 8, heads=4))
        RotRNN(d_model=8, d_state=32, heads=4)
        """
        given = of_kind(recurrence, recurrences.RotRNN, "a RotRNN of signalprop.recurrences")
        A, heads, size = given.rotations, given.heads, given.rotations.head_size
        rows = np.real(given.B).reshape(heads, size, -1)
        power, wanted = np.sum(rows**2, axis=(1, 2)), -np.expm1(2.0 * A.log_gamma)
        if (abs(power - wanted) > 1e-9 * wanted).any():
            raise ValueError(
                "B of a RotRNN layer is normalised, tr(B B^T) = 1 - gamma^2 in each head, got one that is not."
            )
        layer = cls(
            given.input_size,
            given.state_size,
            heads=heads,
            first_step_rule=given.first_step,
            feedthrough=feedthrough,
            check_finite=check_finite,
            device=device,
            dtype=dtype,
        )
        frame, angles = _proper(A, heads, size)
        unit = (
            rows / np.sqrt(power / rows[0].size)[:, None, None]
        )  # the layer divides by the norm: entries of about one
        assign(layer, g=np.log(-A.log_gamma), theta=angles, M=skew_from_orthogonal(frame) / 2.0, B=unit)
        if given.C is not None:
            assign(layer, C=np.real(given.C))
        return layer

    def linear(self) -> recurrences.RotRNN:
        """The recurrence as it is now, as `Recurrence.linear` has it; its state is x, while the layer keeps P^T x."""
        m = numbers(self, "M")
        return recurrences.RotRNN(
            numbers(self, "theta"),
            numbers(self, "B"),
            numbers(self, "C"),
            log_rate=numbers(self, "g"),
            basis=orthogonal_from_skew(m - np.swapaxes(m, 1, 2)),
            first_step=self.first_step_rule,
        )

    def _rows(self) -> tuple[int, int]:
        return 2, self.d_state + self.heads * (self.d_state // self.heads % 2)

    def _system(self, dtype: torch.dtype) -> System:
        g, theta, m, b = (each.to(dtype) for each in (self.g, self.theta, self.M, self.B))
        size = m.shape[-1]
        odd = size % 2
        p = functional.pad(
            torch.linalg.matrix_exp(m - m.mT), (0, odd)
        )  # a fixed direction is a plane with one empty side
        lost = power_lost(g).sqrt()
        xi = lost / torch.linalg.vector_norm(b, dim=(1, 2))
        enter = (xi[:, None, None] * (p.mT @ b)).flatten(0, 1)
        leave = torch.einsum("dhi,hij->dhj", self.C.to(dtype).reshape(-1, self.heads, size), p).flatten(1)
        planes = theta.shape[1] + odd
        transition = ((-g.exp()).exp().repeat_interleave(planes), functional.pad(theta, (0, odd)).flatten())
        first = lost.reciprocal().repeat_interleave(2 * planes) if self.first_step_rule else None
        return System(transition, enter, leave, first)

    def extra_repr(self) -> str:
        """What ``repr`` shows in the brackets."""
        return f"{super().extra_repr()}, heads={self.heads}"


def _proper(A: Rotations, heads: int, size: int) -> tuple[Floats, Floats]:
    """Basis and angles of the same A with every basis in SO(n): a plane seen from behind turns the other way."""
    frame = np.tile(np.eye(size), (heads, 1, 1)) if A.basis is None else A.basis.copy()
    angles = A.angles.copy()
    behind = np.linalg.det(frame) < 0.0
    frame[behind, :, -1] *= -1.0
    if size % 2 == 0:
        angles[behind, -1] *= -1.0
    return frame, angles
