"""`inspect`: find the recurrences of a model and say what they remember."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signalprop import _progress
from signalprop._checks import between, path_of, shown, whole_number
from signalprop.fields import choices
from signalprop.inspection.adapters import ADAPTERS
from signalprop.inspection.checkpoints import read_checkpoint
from signalprop.inspection.inspection import Inspection
from signalprop.inspection.pytrees import of_model
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site
from signalprop.inspection.tensors import Tensors
from signalprop.inspection.words import MEASURED_ALONE

if TYPE_CHECKING:
    from signalprop.inspection.measured.measure import Findings

LONGEST = 10**6  # steps
LARGEST_INPUT = 10.0


def inspect(
    model: Any,
    batch: Any = None,
    *,
    horizon: int | None = None,
    adapter: str | None = None,
    input_std: float | None = None,
) -> Inspection:
    r"""What the recurrences of a model remember, and for how long: from their parameters alone, or also measured on a batch.

    Parameters
    ----------
    model
        A `torch.nn.Module`; a mapping of names to arrays, nested at will, such as a state_dict or the parameters of Flax; or
        a file or folder as `read_checkpoint` reads it, for which no code of the model is needed: names and shapes decide.
    batch
        What a `torch.nn.Module` is called with: a tensor, a PackedSequence, a tuple of arguments or a dict of named ones. The
        model is run on it once, as it is: in training or evaluation mode, under the automatic mixed precision that is on. Then
        each recurrence is stepped by itself, and what was measured stands beside what parameters promise. ``lengths`` or
        ``attention_mask`` in a dict, and packed sequences, say where each sequence ends; the model gets them if it takes them.
    horizon
        T, the steps over which the model should remember, 1 to 1e6; verdicts are given with respect to it. Left out they say
        how long a layer holds.
    adapter
        Name in `ADAPTERS`, for names and shapes that do not say it or say it wrongly. The other adapters are then left out.
    input_std
        s, the standard deviation of what inputs add to the preactivation of each gate, 0 to 10. Left out it is read from the
        input kernels of RNN, GRU and LSTM, for inputs of unit variance per feature, and is 0 for the others: their gates as
        their biases set them.

    Returns
    -------
    Inspection
        ``print`` it for the page, ``.layers`` for the numbers, ``.plot()`` for the figure.

    Raises
    ------
    ValueError
        A batch that is empty, not finite or on another device, on which the model raises, or for something other than a
        `torch.nn.Module`. A model without recurrences that are known here; weights that are not finite, or have no numbers
        (meta device); a file as in `read_checkpoint`; an adapter that is unknown; numbers out of range.
    OSError
        A file that cannot be read.

    Notes
    -----
    Status P for diagonal recurrences at the gates that are named in `LayerReport.assumes`, and for the powers of dense
    kernels; Status H for what nonlinearities and gates do (`signalprop.meanfield`). Tensors are read one layer at a time.

    With a batch, for RNN, GRU, LSTM, their cells and the layers of `signalprop.nn`: energies of states; the energy of a gradient
    carried back from the last step of each sequence, over the states, relative to its start, for several random cotangents;
    the leading Lyapunov exponents along the longest sequence. Gradients are carried chunk by chunk, so that no graph holds a
    whole sequence, and scaled in between, so that nothing under- or overflows. Of other recurrences the gradient of the output
    at the last step with respect to inputs before. At most 16 sequences are measured. The model is left as it was: parameters,
    gradients, buffers, attributes, random states. Cost: about four more steps of each cell per step and cotangent.

    Examples
    --------
    >>> import numpy as np
    >>> found = inspect({"mixer": {"A_log": np.log(np.arange(1.0, 5.0)), "dt_bias": np.full(4, -4.6), "D": np.ones(4)}})
    >>> found.layers[0].adapter, found.layers[0].gradient.by_e
    ('mamba2', 23)
    """
    settings = Settings(
        None if horizon is None else whole_number(horizon, "horizon", 1, LONGEST),
        checked_std(input_std),
    )
    chosen = None if adapter is None else ADAPTERS.named(adapter, "adapter")
    tensors = read_checkpoint(path_of(model, "model")) if isinstance(model, (str, os.PathLike)) else of_model(model)
    if batch is not None and not tensors.modules:
        raise ValueError(f"batch is for a torch.nn.Module, which can be run; model is {shown(model)}.")
    sites = find_layers(tensors, chosen)
    if not sites and batch is None:
        raise ValueError(no_recurrence(tensors, chosen))
    layers: list[LayerReport] = []
    with _progress.bar(f"looking into {Path(tensors.source).name}") as report:
        for done, (one, site) in enumerate(sites):
            report(done / len(sites), site.name or tensors.source)
            layers += one.look(site, settings)
    if batch is None:
        return Inspection(tensors.source, settings, tuple(layers))
    from signalprop.inspection.measured.measure import measure

    found = measure(model, batch, [site.name for _, site in sites])
    layers = beside(layers, found)
    if not layers:
        raise ValueError(no_recurrence(tensors, chosen))
    return Inspection(tensors.source, settings, tuple(layers), found.run)


def beside(layers: list[LayerReport], found: Findings) -> list[LayerReport]:
    """Reports with what was measured; recurrences that only measuring found stand at the end."""
    known = {layer.name for layer in layers}
    alone = [
        LayerReport(
            name=name,
            adapter="",
            about=found.about.get(name, "recurrence"),
            parameters=(),
            storage=one.computed_in,
            forward=None,
            gradient=None,
            assumes=(MEASURED_ALONE,),
            measured=one,
        )
        for name, one in found.layers.items()
        if name not in known
    ]
    return [*(replace(layer, measured=found.layers.get(layer.name)) for layer in layers), *alone]


def find_layers(tensors: Tensors, chosen: str | None = None) -> list[tuple[Adapter, Site]]:
    """Every recurrence with the adapter that reads it, in the order of the model; a tensor belongs to one layer alone."""
    claimed: set[str] = set()
    found: list[tuple[int, Adapter, Site]] = []
    place = {name: i for i, name in enumerate(tensors)}
    for name, adapter in ADAPTERS.items():
        if chosen not in (None, name):
            continue
        for site in adapter.find(tensors, chosen is not None):
            own = {one.name for one in site.parameters.values()}
            if not own & claimed:
                claimed |= own
                found.append((min(place[one] for one in own), adapter, site))
    return [(adapter, site) for _, adapter, site in sorted(found, key=lambda one: one[0])]


def no_recurrence(tensors: Tensors, chosen: str | None) -> str:
    """The sentence for a model in which nothing was found."""
    names = ", ".join(list(tensors)[:3])
    more = f" and {len(tensors) - 3} more" if len(tensors) > 3 else ""
    if chosen is not None:
        return f"{tensors.source} has no recurrence that adapter={chosen!r} reads; its tensors are {names}{more}."
    return (
        f"{tensors.source} has no recurrence that is known here; its tensors are {names}{more}. If one of them is a recurrence, "
        f"say which with adapter: {choices(ADAPTERS)}."
    )


def checked_std(value: Any) -> float | None:
    """What inputs add to a preactivation, or None."""
    if value is None:
        return None
    return between(value, "input_std", 0.0, LARGEST_INPUT)
