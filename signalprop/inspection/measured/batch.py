"""What a model is called with, which steps of it are padding, and what is refused."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from signalprop._checks import shown

LENGTHS = ("lengths", "length", "seq_lengths", "sequence_lengths", "input_lengths", "seq_lens", "seq_len")
MASKS = ("attention_mask", "input_mask", "mask", "padding_mask")
_NOTHING: tuple[Any, ...] = ()
KEY_PADDING = ("src_key_padding_mask", "key_padding_mask")  # True where there is padding


@dataclass(frozen=True)
class Batch:
    """A call of a model.

    Attributes
    ----------
    args, kwargs
        What it is called with.
    first, last
        The first step of each sequence that counts, and the last one plus one; None where the batch does not say.
    steps
        Length that a mask has, None without one.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    first: Tensor | None
    last: Tensor | None
    steps: int | None

    def bounds(self, sequences: int, steps: int) -> tuple[Tensor, Tensor]:
        """First and last steps for a layer that was given so many sequences and steps; all of them where the batch fits not."""
        fits = (
            self.first is not None
            and self.last is not None
            and len(self.last) == sequences
            and (self.steps == steps if self.steps is not None else int(self.last.max()) <= steps)
        )
        if fits and self.first is not None and self.last is not None:
            return self.first, self.last
        return torch.zeros(sequences, dtype=torch.long), torch.full((sequences,), steps, dtype=torch.long)


def batch_of(model: nn.Module, batch: Any) -> Batch:
    """The call that a batch stands for: a tensor, a tuple of arguments, or a mapping of named ones.

    Raises
    ------
    ValueError
        Something else, tensors on another device than the model, empty ones, NaN or infinities, lengths or masks that do not fit.
    """
    if isinstance(batch, Mapping):
        args, kwargs = _NOTHING, {str(name): value for name, value in batch.items()}
    elif isinstance(batch, (tuple, list)) and not isinstance(batch, PackedSequence):
        args, kwargs = tuple(batch), {}
    elif isinstance(batch, (Tensor, PackedSequence)):
        args, kwargs = (batch,), {}
    else:
        raise ValueError(
            "batch must be what the model is called with: a tensor, a PackedSequence, a tuple of arguments, or a dict of named "
            f"ones, got {shown(batch)}."
        )
    names = _names(model)
    named: dict[str, Any] = {
        names[i] if names is not None and i < len(names) else f"[{i}]": one for i, one in enumerate(args)
    } | kwargs
    found = False
    for name, value in named.items():
        for tensor in _tensors(value):
            found = True
            _require_usable(model, tensor, name, "batch" if len(named) == 1 else f"{name} of the batch")
    if not found:
        raise ValueError(f"batch must hold a tensor, got {shown(batch)}.")
    first, last, steps = _bounds(named)
    known = _accepted(model)
    beside = {
        name for name in (*LENGTHS, *MASKS, *KEY_PADDING) if name in kwargs and known is not None and name not in known
    }
    return Batch(args, {name: one for name, one in kwargs.items() if name not in beside}, first, last, steps)


def in_words(batch: Batch) -> str:
    """Shapes of what the model is called with."""
    pieces = []
    for value in (*batch.args, *batch.kwargs.values()):
        pieces += [
            f"{str(one.dtype).removeprefix('torch.')} ({', '.join(map(str, one.shape))})" for one in _tensors(value)
        ]
    return f"{', '.join(pieces[:3])}{', ..' if len(pieces) > 3 else ''}"


def _names(model: nn.Module) -> list[str] | None:
    try:
        return list(inspect.signature(model.forward).parameters)
    except (TypeError, ValueError):
        return None


def _accepted(model: nn.Module) -> set[str] | None:
    """Names of arguments that the model takes; None where it takes any."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return None
    return {one.name for one in parameters}


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, PackedSequence):
        yield value.data
    elif isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _tensors(one)


def _require_usable(model: nn.Module, tensor: Tensor, name: str, words: str) -> None:
    if tensor.numel() == 0:
        raise ValueError(f"{words} must have at least one sequence of one step, got shape {tuple(tensor.shape)}.")
    places = {one.device for one in model.parameters()}
    if len(places) == 1 and tensor.device not in places and tensor.ndim > 0 and name not in LENGTHS:
        (device,) = places
        raise ValueError(
            f"{words} is on {tensor.device}, the model on {device}; bring them together, as by batch.to({str(device)!r})."
        )
    if tensor.is_floating_point() and not tensor.is_meta:
        bad = ~torch.isfinite(tensor)
        if bool(bad.any()):
            place = tuple(int(i) for i in torch.nonzero(bad)[0])
            count = int(bad.sum())
            more = f", and {count - 1} more" if count > 1 else ""
            raise ValueError(
                f"{words} is not finite: {float(tensor[place])} at position {list(place)}{more}; mend the data before the model."
            )


def _bounds(named: dict[str, Any]) -> tuple[Tensor | None, Tensor | None, int | None]:
    for name in LENGTHS:
        if isinstance(value := named.get(name), (Tensor, list)):
            lengths = torch.as_tensor(value).detach().cpu()
            if lengths.ndim != 1 or lengths.is_floating_point() or not bool((lengths >= 1).all()):
                raise ValueError(f"{name} must be whole numbers from 1, one per sequence, got {shown(value)}.")
            return torch.zeros(len(lengths), dtype=torch.long), lengths.long(), None
    for name in (*MASKS, *KEY_PADDING):
        value = named.get(name)
        if isinstance(value, Tensor) and value.ndim == 2:
            inside = (value == 0 if name in KEY_PADDING else value != 0).detach().cpu()
            if not bool(inside.any(1).all()):
                empty = int(torch.nonzero(~inside.any(1))[0])
                raise ValueError(f"{name} must leave each sequence a step, and sequence {empty} has none.")
            steps = inside.shape[1]
            first = inside.int().argmax(1)
            last = steps - inside.flip(1).int().argmax(1)
            return first, last, steps
    return None, None, None
