"""Two recurrences over one sequence, one from each end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from signalprop.nn._inputs import lengths_of, part, reals
from signalprop.nn._reset import reset_all
from signalprop.nn.recurrence import Recurrence
from signalprop.recurrences import LinearRecurrence

__all__ = ["Bidirectional"]


class Bidirectional(nn.Module):
    """y = F(u) + R(B(R(u))): both layers read the inputs u, the second one in reverse (R turns time around).

    Parameters
    ----------
    ahead, back
        Two recurrences of the same d_model. One term D u_t is enough: give one of them ``feedthrough=False``.

    Raises
    ------
    ValueError
        Something other than two modules, recurrences of different d_model, or lengths that are not whole numbers from 1 to the
        number of steps.

    Notes
    -----
    The two directions share nothing. In the authors' code of the bidirectional RotRNN they share M, theta, gamma and B. To
    share parameters, assign them: ``layer.back.M = layer.ahead.M``.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU
    >>> layer = Bidirectional(LRU(8, 32), LRU(8, 32, feedthrough=False))
    >>> layer(torch.randn(2, 50, 8), lengths=torch.tensor([50, 20])).shape
    torch.Size([2, 50, 8])
    """

    def __init__(self, ahead: nn.Module, back: nn.Module) -> None:
        super().__init__()
        self.ahead, self.back = part(ahead, "ahead"), part(back, "back")
        if isinstance(ahead, Recurrence) and isinstance(back, Recurrence) and ahead.d_model != back.d_model:
            raise ValueError(
                f"ahead and back must have the same d_model, got d_model={ahead.d_model} and d_model={back.d_model}."
            )

    def forward(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Outputs (batch, time, d_model); with `lengths` (batch,) each sequence is turned around within its own length."""
        inputs = reals(inputs, "inputs", ("batch", "time", "d_model"))
        if lengths is not None:
            lengths = lengths_of(lengths, *inputs.shape[:2])
        outputs: Tensor = self.ahead(inputs) + reverse(self.back(reverse(inputs, lengths)), lengths)
        return outputs

    def linear(self) -> tuple[LinearRecurrence, LinearRecurrence]:
        """The recurrences of both layers, ahead and back; there is no single one, because the state of a step needs all inputs.

        `back` reads reversed time: its energy at t is that of the state t steps from the end. White and AR(1) inputs have the
        second moments of their reversal, so both paths hold for the same inputs.

        Raises
        ------
        ValueError
            A layer that is not one of `signalprop.nn`, or as its own `linear`.
        """
        return _linear(self.ahead, "ahead"), _linear(self.back, "back")

    def reset_parameters(self) -> None:
        """Draw all parameters of both layers again."""
        reset_all(self)


def _linear(layer: nn.Module, name: str) -> LinearRecurrence:
    if not isinstance(layer, Recurrence):
        raise ValueError(f"{name} must be a recurrence of signalprop.nn, got {type(layer).__name__}.")
    return layer.linear()


def reverse(sequence: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Turn time around, the first ``lengths[b]`` steps of each sequence if these are given; its own inverse."""
    if lengths is None:
        return sequence.flip(1)
    steps = torch.arange(sequence.shape[1], device=sequence.device)
    order = (lengths.to(sequence.device)[:, None] - 1 - steps) % sequence.shape[1]
    return sequence.gather(1, order[..., None].expand_as(sequence))
