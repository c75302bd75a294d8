"""A residual block around a recurrence, and a classifier of sequences made of such blocks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from signalprop._catalogue import POOLINGS
from signalprop._checks import whole_number
from signalprop.fields import one_of
from signalprop.nn._finite import is_finite, require_finite
from signalprop.nn.bidirectional import Bidirectional
from signalprop.nn.recurrence import Recurrence

__all__ = ["ResidualBlock", "SequenceClassifier"]


class ResidualBlock(nn.Module):
    """x + dropout(GLU(dropout(GELU(recurrence(LayerNorm(x)))))).

    Parameters
    ----------
    recurrence
        A layer from (batch, time, d_model) to the same shape.
    d_model
        Its size.
    dropout
        Probability of both dropouts.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import RotRNN
    >>> ResidualBlock(RotRNN(8, 32, heads=4), 8)(torch.randn(2, 50, 8)).shape
    torch.Size([2, 50, 8])
    """

    def __init__(self, recurrence: nn.Module, d_model: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.recurrence = recurrence
        self.gate = nn.Linear(d_model, 2 * d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(batch, time, d_model) to the same shape; `lengths` matter to a `Bidirectional` recurrence alone."""
        normed = self.norm(inputs)
        both_ways = isinstance(self.recurrence, Bidirectional)
        mixed = self.recurrence(normed, lengths) if both_ways else self.recurrence(normed)
        mixed = self.dropout(functional.gelu(mixed))
        gated: Tensor = self.dropout(functional.glu(self.gate(mixed), -1))
        return inputs + gated


class SequenceClassifier(nn.Module):
    """Encoder, residual blocks, norm, pooling over time, linear read-out: sequences to scores of classes.

    Parameters
    ----------
    recurrence
        Makes the recurrence of one block, for example ``lambda: LRU(64, 128)``; called once a block, twice if bidirectional.
    d_model
        Size of these layers.
    classes
        Number of classes.
    vocabulary
        Number of tokens, for inputs (batch, time) of whole numbers; or
    features
        size of the inputs (batch, time, features) of real numbers. Exactly one of the two.
    depth
        Number of blocks.
    dropout
        As in `ResidualBlock`.
    bidirectional
        Whether each block runs one recurrence from each end. The second one then keeps no term D u_t.
    pooling
        ``"mean"`` over the time steps of each sequence, or ``"last"`` of them.
    check_finite
        Whether to look at the scores for NaN and infinities, which an argmax would hide. It costs next to nothing (and one
        wait for the device); only when something is found are the layers gone through for where it began. Not done inside
        `torch.compile`.

    Raises
    ------
    ValueError
        Sizes below one, both or neither of `vocabulary` and `features`, an unknown pooling.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU
    >>> model = SequenceClassifier(lambda: LRU(16, 32), 16, 10, vocabulary=18, depth=2)
    >>> model(torch.randint(18, (4, 100)), lengths=torch.tensor([100, 80, 3, 1])).shape
    torch.Size([4, 10])
    """

    def __init__(
        self,
        recurrence: Callable[[], nn.Module],
        d_model: int,
        classes: int,
        *,
        vocabulary: int | None = None,
        features: int | None = None,
        depth: int = 4,
        dropout: float = 0.0,
        bidirectional: bool = False,
        pooling: str = "mean",
        check_finite: bool = True,
    ) -> None:
        super().__init__()
        d_model = whole_number(d_model, "d_model", 1)
        self.features = None if features is None else whole_number(features, "features", 1)
        if vocabulary is not None and features is None:
            self.encoder: nn.Module = nn.Embedding(whole_number(vocabulary, "vocabulary", 1), d_model)
        elif self.features is not None and vocabulary is None:
            self.encoder = nn.Linear(self.features, d_model)
        else:
            raise ValueError(
                "give either vocabulary, for tokens, or features, for real numbers, "
                f"got vocabulary={vocabulary!r} and features={features!r}."
            )

        def layer() -> nn.Module:
            if not bidirectional:
                return recurrence()
            back = recurrence()
            if isinstance(back, Recurrence):
                back.D = None
            return Bidirectional(recurrence(), back)

        self.blocks = nn.ModuleList(
            ResidualBlock(layer(), d_model, dropout=dropout) for _ in range(whole_number(depth, "depth", 1))
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, whole_number(classes, "classes", 1))
        self.pooling = one_of(pooling, POOLINGS, "pooling")
        self.check_finite = check_finite

    def forward(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores (batch, classes); of each sequence only the first ``lengths[b]`` steps are read."""
        inputs = self._accept(inputs, lengths)
        sequence = self.encoder(inputs)
        for block in self.blocks:
            sequence = block(sequence, lengths)
        scores: Tensor = self.head(self._pooled(self.norm(sequence), lengths))
        if self.check_finite and not torch.compiler.is_compiling() and not is_finite(scores):
            self._explain(inputs, lengths)
        return scores

    def _accept(self, inputs: Tensor, lengths: Tensor | None) -> Tensor:
        ndim, wanted = (2, "(batch, time)") if self.features is None else (3, f"(batch, time, {self.features})")
        if (
            inputs.ndim != ndim
            or (self.features is not None and inputs.shape[2] != self.features)
            or not inputs.shape[1]
        ):
            raise ValueError(f"inputs must have shape {wanted} with at least one time step, got {tuple(inputs.shape)}.")
        if lengths is None:
            return inputs
        if lengths.shape != inputs.shape[:1] or lengths.is_floating_point():
            raise ValueError(
                f"lengths must be {inputs.shape[0]} whole numbers, got shape {tuple(lengths.shape)} of {lengths.dtype}."
            )
        if not torch.compiler.is_compiling() and lengths.numel():
            low, high = int(lengths.min()), int(lengths.max())
            if low < 1 or high > inputs.shape[1]:
                raise ValueError(f"lengths must lie in 1..{inputs.shape[1]}, got {low if low < 1 else high}.")
        # Zeros, so that a NaN or a foreign token in the padding reaches neither the scores nor a gradient.
        padding = ~_inside(inputs, lengths)
        return inputs.masked_fill(padding if ndim == 2 else padding[..., None], 0)

    def _pooled(self, sequence: Tensor, lengths: Tensor | None) -> Tensor:
        if lengths is None:
            return sequence.mean(1) if self.pooling == "mean" else sequence[:, -1]
        lengths = lengths.to(sequence.device)
        if self.pooling == "last":
            return sequence[torch.arange(len(lengths), device=sequence.device), lengths - 1]
        inside = _inside(sequence, lengths)[..., None]
        return sequence.masked_fill(~inside, 0.0).sum(1) / lengths[:, None]

    @torch.no_grad()
    def _explain(self, inputs: Tensor, lengths: Tensor | None) -> None:
        """Raise with the first layer and step that is not finite."""
        if inputs.is_floating_point():
            require_finite(inputs, "the inputs", ValueError, "mend the data.")
        sequence = self.encoder(inputs)
        require_finite(sequence, "the outputs of encoder", FloatingPointError, "look at its weights.")
        for index, block in enumerate(self.blocks):
            kind = type(block.recurrence).__name__
            sequence = block(sequence, lengths)
            advice = "what goes into this block is finite: look at its weights, and at its state_energy."
            require_finite(sequence, f"the outputs of blocks.{index} ({kind})", FloatingPointError, advice)
        raise FloatingPointError(
            "the scores are not finite though all blocks are; look at the weights of norm and head."
        )


def _inside(sequence: Tensor, lengths: Tensor) -> Tensor:
    steps = torch.arange(sequence.shape[1], device=sequence.device)
    return steps < lengths.to(sequence.device)[:, None]
