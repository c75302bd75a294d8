"""State energies of the recurrences inside a model: as they are on real inputs, and as they would be on white ones."""

from __future__ import annotations

from types import TracebackType

import torch
from torch import Tensor, nn

from signalprop._checks import instance_of, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop.nn import GatedRecurrence, Recurrence
from signalprop.training.cost import LONGEST_SECONDS

__all__ = ["StateEnergies", "white_energy"]

IMPULSES = 16  # at a time, which bounds the memory
_NUMBER_SECONDS, _STATE_BYTES = 5e-8, 64.0  # measured


class StateEnergies:
    """Averages of ||x_t||^2 over all sequences that a model sees inside the ``with`` block, padding left out.

    Parameters
    ----------
    model
        With layers of `signalprop.nn` in it.

    Attributes
    ----------
    lengths
        Set before each call of the model: the steps of its sequences, (batch,).

    Raises
    ------
    ValueError
        Something other than a model; lengths that are not those of the sequences; an average before any sequence.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU, SequenceClassifier
    >>> model = SequenceClassifier(lambda: LRU(16, 32), 16, 10, vocabulary=18, depth=2)
    >>> with StateEnergies(model) as energies:
    ...     energies.lengths = torch.tensor([100, 80])
    ...     _ = model(torch.randint(18, (2, 100)), energies.lengths)
    >>> len(energies.mean()), len(energies.last())
    (2, 2)
    """

    def __init__(self, model: nn.Module) -> None:
        self.layers = recurrences(instance_of(model, nn.Module, "model", "a torch.nn.Module"))
        self.lengths: Tensor = torch.empty(0, dtype=torch.int64)
        self._sums = torch.zeros(len(self.layers), 2, dtype=torch.float64)
        self._counts = torch.zeros(len(self.layers), 2, dtype=torch.float64)
        self._handles: list[torch.utils.hooks.RemovableHandle] = []

    def __enter__(self) -> StateEnergies:
        for place, layer in enumerate(self.layers):

            def record(
                layer: nn.Module, arguments: tuple[Tensor, ...], named: dict[str, Tensor], place: int = place
            ) -> None:
                assert isinstance(layer, Recurrence)
                self._add(place, layer, arguments[0] if arguments else named["inputs"])

            self._handles.append(layer.register_forward_pre_hook(record, with_kwargs=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def mean(self) -> list[float]:
        """Of each layer: the average over all steps of all sequences."""
        self._refuse_unseen()
        return (self._sums[:, 0] / self._counts[:, 0]).tolist()

    def last(self) -> list[float]:
        """Of each layer: the average over the last steps of the sequences."""
        self._refuse_unseen()
        return (self._sums[:, 1] / self._counts[:, 1]).tolist()

    def _refuse_unseen(self) -> None:
        if not bool((self._counts > 0).all()):
            raise ValueError(
                "model has seen no sequence inside `with StateEnergies(model)`, so there is no average yet."
            )

    @torch.no_grad()
    def _add(self, place: int, layer: Recurrence, inputs: Tensor) -> None:
        energy = layer.states(inputs).double().square().sum(-1).cpu()
        lengths = self.lengths.cpu()
        if lengths.shape != energy.shape[:1] or not bool(((lengths >= 1) & (lengths <= energy.shape[1])).all()):
            raise ValueError(
                f"lengths must be set to the steps of the {len(energy)} sequences, each from 1 to {energy.shape[1]}, before the "
                f"model is called, got {shown(lengths)}."
            )
        inside = torch.arange(energy.shape[1]) < lengths[:, None]
        last = energy.gather(1, lengths[:, None] - 1)
        self._sums[place] += torch.stack([energy[inside].sum(), last.sum()])
        self._counts[place] += torch.tensor([inside.sum(), len(lengths)])


@torch.no_grad()
def white_energy(layer: Recurrence, steps: int) -> Tensor:
    """E||x_t||^2 at t = 1, .., steps for white inputs of unit variance and the current weights, (steps,) in float64.

    (P) The sum of the squared responses to unit impulses, one input at a time: of an impulse at the first step, which may have
    its own normaliser, and of one at a later step. Costs a forward pass of 2 d_model sequences.

    Raises
    ------
    ValueError
        Not a layer of `signalprop.nn`, or one with gates, which is not linear in its inputs; steps out of range, or more than
        fit in memory.

    Examples
    --------
    >>> from signalprop.nn import RotRNN
    >>> white_energy(RotRNN(8, 16, heads=2, first_step_rule=True), 5)
    tensor([2.0000, 2.0000, 2.0000, 2.0000, 2.0000], dtype=torch.float64)
    """
    instance_of(layer, Recurrence, "layer", "a signalprop.nn.Recurrence")
    if isinstance(layer, GatedRecurrence):
        raise ValueError(
            "layer must not have gates that read the inputs, for its response to white ones is no sum of impulses."
        )
    steps = whole_number(steps, "steps", 1, 10**6)
    at_once = 2.0 * min(IMPULSES, layer.d_model) * steps
    refuse_beyond_bounds(
        f"the energies of white inputs over {steps} steps",
        seconds=_NUMBER_SECONDS * 2.0 * layer.d_model * steps * (layer.d_model + 2.0 * layer.d_state),
        memory=at_once * (4.0 * layer.d_model + _STATE_BYTES * layer.d_state),
        instead="Ask for fewer steps.",
        default_seconds=LONGEST_SECONDS,
    )
    first, later = torch.zeros(2, steps, dtype=torch.float64)
    axes = torch.eye(layer.d_model, device=layer.B.device, dtype=layer.B.dtype)
    for start in range(0, layer.d_model, IMPULSES):
        columns = axes[start : start + IMPULSES]
        inputs = columns.new_zeros(2, len(columns), steps, layer.d_model)
        inputs[0, :, 0] = columns
        if steps > 1:
            inputs[1, :, 1] = columns
        response = layer.states(inputs.flatten(0, 1)).double().square().sum(-1).cpu()
        first, later = first + response[: len(columns)].sum(0), later + response[len(columns) :].sum(0)
    # Started at step 1, the impulse has had t - 1 steps at step t; all earlier ones are added up. At t = 1 there is none.
    energy: Tensor = first + later.cumsum(0)
    return energy


def recurrences(model: nn.Module) -> list[Recurrence]:
    """The recurrences of a model in the order they stand in it."""
    return [layer for layer in model.modules() if isinstance(layer, Recurrence)]


def names(model: nn.Module) -> list[str]:
    """What they are called in a log: the number of the block from 1, with a b for the one that runs back."""
    found = []
    for name, layer in model.named_modules():
        if isinstance(layer, Recurrence):
            block = int(name.split(".")[1]) + 1
            found.append(f"{block}b" if name.endswith(".back") else str(block))
    return found
