"""A residual block around a recurrence, and a classifier of sequences made of such blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from signalprop._checks import INT64_LIMIT, flag, shown, whole_number
from signalprop._names import POOLINGS
from signalprop.fields import one_of
from signalprop.nn._finite import is_finite, require_finite
from signalprop.nn._inputs import (
    has_numbers,
    lengths_of,
    of_type,
    part,
    probability,
    reals,
    refuse_beyond_memory,
    takes_lengths,
    tensor,
    within,
)
from signalprop.nn._reset import reset_all
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
    device, dtype
        Of norm and gate.

    Raises
    ------
    ValueError
        Something other than a module, one of another d_model, a size below one, or a probability outside of [0, 1].

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import RotRNN
    >>> ResidualBlock(RotRNN(8, 32, heads=4), 8)(torch.randn(2, 50, 8)).shape
    torch.Size([2, 50, 8])
    """

    def __init__(
        self,
        recurrence: nn.Module,
        d_model: int,
        *,
        dropout: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_model = whole_number(d_model, "d_model", 1, INT64_LIMIT)
        if isinstance(recurrence, Recurrence) and recurrence.d_model != d_model:
            raise ValueError(f"the recurrence must have d_model={d_model}, got {recurrence}.")
        refuse_beyond_memory(4 * d_model * d_model, f"a block with d_model={d_model}", device)
        self.norm = nn.LayerNorm(d_model, device=device, dtype=dtype)
        self.recurrence = part(recurrence, "recurrence")
        self.gate = nn.Linear(d_model, 2 * d_model, device=device, dtype=dtype)
        self.dropout = nn.Dropout(probability(dropout, "dropout"))
        self._takes_lengths = takes_lengths(recurrence)

    def forward(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(batch, time, d_model) to the same shape; `lengths` go to a recurrence whose forward takes them, as `Bidirectional`."""
        inputs = reals(inputs, "inputs", ("batch", "time", self.norm.normalized_shape[0]))
        of_type(inputs, self.norm.weight)
        normed = self.norm(inputs)
        mixed = self.recurrence(normed, lengths=lengths) if self._takes_lengths else self.recurrence(normed)
        mixed = self.dropout(functional.gelu(mixed))
        gated: Tensor = self.dropout(functional.glu(self.gate(mixed), -1))
        return inputs + gated

    def reset_parameters(self) -> None:
        """Draw all parameters again, those of the recurrence too."""
        reset_all(self)


class SequenceClassifier(nn.Module):
    """Encoder, residual blocks, norm, pooling over time, linear read-out: sequences to scores of classes.

    Parameters
    ----------
    recurrence
        Makes the recurrence of one block, for example ``lambda: LRU(64, 128)``; called once per block, twice if bidirectional.
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
        Whether each block runs one recurrence from each end. The second one then has no term D u_t.
    pooling
        ``"mean"`` over the time steps of each sequence, or ``"last"`` of them.
    check_finite
        Whether to look at the scores for NaN and infinities, which an argmax would hide. It costs next to nothing (and one
        wait for the device); only when something is found are the layers searched for where it began. Not done inside
        `torch.compile` and transforms of `torch.func`, which see no numbers; nor are the values of `lengths` checked there.
    device, dtype
        Of all but the recurrences, which `recurrence` makes.

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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        if not callable(recurrence) or isinstance(recurrence, nn.Module):
            raise ValueError(
                f"recurrence must be a function that makes a layer, as lambda: LRU(64, 128), got {type(recurrence).__name__}."
            )
        d_model = whole_number(d_model, "d_model", 1, INT64_LIMIT)
        self.features = None if features is None else whole_number(features, "features", 1, INT64_LIMIT)
        tokens = None if vocabulary is None else whole_number(vocabulary, "vocabulary", 1, INT64_LIMIT)
        outputs, blocks = whole_number(classes, "classes", 1, INT64_LIMIT), whole_number(depth, "depth", 1, 10_000)
        refuse_beyond_memory(
            2 * d_model * ((tokens or 0) + (self.features or 0) + outputs + 2 * d_model * blocks),
            f"a classifier with d_model={d_model}, vocabulary={tokens}, features={self.features}, classes={outputs} and "
            f"depth={blocks}",
            device,
        )
        if tokens is not None and features is None:
            self.encoder: nn.Module = nn.Embedding(tokens, d_model, **where)
        elif self.features is not None and tokens is None:
            self.encoder = nn.Linear(self.features, d_model, **where)
        else:
            raise ValueError(
                "give either vocabulary, for tokens, or features, for real numbers, "
                f"got vocabulary={shown(vocabulary)} and features={shown(features)}."
            )

        def layer() -> nn.Module:
            if not flag(bidirectional, "bidirectional"):
                return recurrence()
            back = recurrence()
            if isinstance(back, Recurrence):
                back.D = None
            return Bidirectional(recurrence(), back)

        self.blocks = nn.ModuleList(ResidualBlock(layer(), d_model, dropout=dropout, **where) for _ in range(blocks))
        self.norm = nn.LayerNorm(d_model, **where)
        self.head = nn.Linear(d_model, outputs, **where)
        self.pooling = one_of(pooling, POOLINGS, "pooling")
        self.check_finite = flag(check_finite, "check_finite")

    def forward(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores (batch, classes); of each sequence only the first ``lengths[b]`` steps are read."""
        inputs, lengths = self._accept(inputs, lengths)
        sequence = self.encoder(inputs)
        for block in self.blocks:
            sequence = block(sequence, lengths)
        scores: Tensor = self.head(self._pooled(self.norm(sequence), lengths))
        if self.check_finite and has_numbers(scores) and not is_finite(scores):
            self._explain(inputs, lengths)
        return scores

    def reset_parameters(self) -> None:
        """Draw all parameters again, those of the recurrences too."""
        reset_all(self)

    def _accept(self, inputs: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        inputs = tensor(inputs, "inputs")
        ndim, wanted = (2, "(batch, time)") if self.features is None else (3, f"(batch, time, {self.features})")
        if (
            inputs.ndim != ndim
            or (self.features is not None and inputs.shape[2] != self.features)
            or not inputs.shape[1]
        ):
            raise ValueError(f"inputs must have shape {wanted} with at least one time step, got {tuple(inputs.shape)}.")
        if self.features is None and inputs.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"tokens must be of type int64 or int32, got {inputs.dtype}.")
        if self.features is not None and not inputs.is_floating_point():
            raise ValueError(f"inputs must be real floating-point numbers, got type {inputs.dtype}.")
        if self.features is not None:
            of_type(inputs, self.head.weight)
        if lengths is not None:
            lengths = lengths_of(lengths, *inputs.shape[:2])
            # Zeros, so that a NaN or a foreign token in the padding reaches neither the scores nor a gradient.
            padding = ~within(inputs, lengths)
            inputs = inputs.masked_fill(padding if ndim == 2 else padding[..., None], 0)
        self._check_tokens(inputs)
        return inputs, lengths

    def _check_tokens(self, inputs: Tensor) -> None:
        # Only a CPU is asked, where it costs no wait; a GPU stops with an assertion of its own.
        if self.features is not None or inputs.device.type != "cpu" or not has_numbers(inputs) or not inputs.numel():
            return
        assert isinstance(self.encoder, nn.Embedding)
        low, high = int(inputs.min()), int(inputs.max())
        if low < 0 or high >= self.encoder.num_embeddings:
            raise ValueError(
                f"tokens must lie in 0..{self.encoder.num_embeddings - 1}, got {low if low < 0 else high}."
            )

    def _pooled(self, sequence: Tensor, lengths: Tensor | None) -> Tensor:
        if lengths is None:
            return sequence.mean(1) if self.pooling == "mean" else sequence[:, -1]
        lengths = lengths.to(sequence.device)
        if self.pooling == "last":
            return sequence.gather(1, (lengths - 1)[:, None, None].expand(-1, 1, sequence.shape[2]))[:, 0]
        inside = within(sequence, lengths)[..., None]
        # In float32 at least: the sum of a long sequence leaves the range of float16.
        wide = torch.promote_types(sequence.dtype, torch.float32)
        return (sequence.masked_fill(~inside, 0.0).sum(1, dtype=wide) / lengths[:, None]).to(sequence.dtype)

    @torch.no_grad()
    def _explain(self, inputs: Tensor, lengths: Tensor | None) -> None:
        """Raise with the first layer and step that is not finite."""
        if inputs.is_floating_point():
            require_finite(inputs, "the inputs", ValueError, "check the data.")
        sequence = self.encoder(inputs)
        require_finite(sequence, "the outputs of encoder", FloatingPointError, "look at its weights.")
        for index, block in enumerate(self.blocks):
            kind = type(block.recurrence).__name__
            sequence = block(sequence, lengths)
            advice = "what goes into this block is finite: look at its weights, and at its state_energy."
            if lengths is not None:
                sequence = sequence.masked_fill(~within(sequence, lengths)[..., None], 0.0)  # padding is never read
            require_finite(sequence, f"the outputs of blocks.{index} ({kind})", FloatingPointError, advice)
        raise FloatingPointError(
            "the scores are not finite though all blocks are; look at the weights of norm and head."
        )
