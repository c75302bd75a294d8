"""What the inputs of a batch add to the preactivations of recurrent layers, measured."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from signalprop._checks import shown
from signalprop.initialization._torch_cells import RecurrentLayer, recurrent_layers


def input_std_of(module: nn.Module, batch: Any) -> dict[str, float]:
    """What inputs add to the preactivations of each recurrent layer: `input_std` of `init_recurrent_`, measured on a batch.

    Parameters
    ----------
    module
        As in `init_recurrent_`. It is called on the batch once, in evaluation mode and without gradients, and left as it was.
    batch
        What the module is called with; several arguments as a tuple.

    Returns
    -------
    dict
        For the name of each ``weight_ih`` the standard deviation of W x over units, steps and sequences. Biases count in a
        plain RNN, where they only add; in a gated layer, where they set its memory, they do not. Padding counts, unless
        sequences are packed.

    Raises
    ------
    ValueError
        A module without recurrent layers, or one that does not call all of them on this batch; inputs that are not finite.

    Notes
    -----
    Layers above the first are measured on the states of those below, with the weights that they have at the moment: start the
    module, measure, and start it again.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from signalprop.initialization.torch import init_recurrent_
    >>> rnn = nn.RNN(16, 256)
    >>> batch = 3.0 * torch.randn(50, 32, 16)      # not of unit variance
    >>> found = input_std_of(rnn, batch)
    >>> round(found["weight_ih_l0"], 1)
    0.4
    >>> names = init_recurrent_(rnn, 100, input_std=found)
    """
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {shown(module)}.")
    layers = recurrent_layers(module)
    sums = {layer: _Moments() for layer in layers}

    def look(owner: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        inputs = given[0] if given else named["input"]
        _measure([layer for layer in layers if layer.owner is owner], inputs, sums)

    owners = {id(layer.owner): layer.owner for layer in layers}.values()
    hooks = [owner.register_forward_pre_hook(look, with_kwargs=True) for owner in owners]
    training = [part for part in module.modules() if part.training]
    try:
        module.eval()
        with torch.no_grad():
            module(*batch) if isinstance(batch, tuple) and not isinstance(batch, PackedSequence) else module(batch)
    finally:
        for part in training:
            part.training = True
        for hook in hooks:
            hook.remove()
    return {layer.name("weight_ih"): moments.std(layer) for layer, moments in sums.items()}


class _Moments:
    """Count, sum and sum of squares of what was seen."""

    def __init__(self) -> None:
        self.count, self.first, self.second = 0, 0.0, 0.0

    def add(self, values: torch.Tensor) -> None:
        wide = values.double()
        self.count += wide.numel()
        self.first += float(wide.sum())
        self.second += float(wide.square().sum())

    def std(self, layer: RecurrentLayer) -> float:
        """Standard deviation of all entries."""
        if self.count == 0:
            raise ValueError(f"module does not call the layer of {layer.name('weight_ih')} on this batch.")
        mean = self.first / self.count
        variance = self.second / self.count - mean * mean
        if not math.isfinite(variance):
            raise ValueError(f"batch gives {layer.name('weight_ih')} inputs that are not finite.")
        return math.sqrt(max(variance, 0.0))


def _measure(layers: list[RecurrentLayer], inputs: Any, sums: dict[RecurrentLayer, _Moments]) -> None:
    """Add what one call of a module gives to its layers, from the first up."""
    at = 0
    while at < len(layers):
        here = [layer for layer in layers if layer.below == layers[at].below]
        seen = inputs.data if isinstance(inputs, PackedSequence) else inputs
        for layer in here:
            added = seen @ layer.value("weight_ih").T
            if layer.has_biases and layer.cell in ("tanh", "relu"):
                added = added + layer.value("bias_ih") + layer.value("bias_hh")
            sums[layer].add(added)
        at += len(here)
        if at < len(layers):
            inputs = _alone(here)(inputs)[0]


def _alone(layers: list[RecurrentLayer]) -> nn.Module:
    """The directions of one layer of a module, as a module of their own with the same parameters."""
    owner: Any = layers[0].owner
    weights = layers[0].value("weight_ih")
    more: dict[str, Any] = {"proj_size": layers[0].projection} if layers[0].projection else {}
    if layers[0].cell in ("tanh", "relu"):
        more["nonlinearity"] = layers[0].cell
    make = {"lstm": nn.LSTM, "gru": nn.GRU}.get(str(layers[0].cell), nn.RNN)
    found: nn.RNNBase = make(
        weights.shape[1],
        owner.hidden_size,
        bias=owner.bias,
        batch_first=owner.batch_first,
        bidirectional=owner.bidirectional,
        device="meta",  # draws nothing
        dtype=weights.dtype,
        **more,
    ).to_empty(device=weights.device)
    for layer in layers:
        end = "_reverse" if layer.suffix.endswith("_reverse") else ""
        roles = (
            ["weight_ih", "weight_hh"]
            + ["bias_ih", "bias_hh"] * layer.has_biases
            + ["weight_hr"] * bool(layer.projection)
        )
        for role in roles:
            found.get_parameter(f"{role}_l0{end}").copy_(layer.value(role))
    return found
