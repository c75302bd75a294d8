"""Parameters drawn again, whether they are plain, sharded or on the meta device."""

from __future__ import annotations

from torch import Tensor, nn

from signalprop.nn.recurrence import Recurrence


def require_plain(layer: Recurrence) -> None:
    """Raise if a parameter of the layer is computed from others: what is drawn for it would be lost."""
    gates = [name for name in getattr(layer, "gated_by", ()) if "." not in name]
    for name in (*layer.dynamics, *gates, "B", "C", "D"):
        if name not in layer._parameters and getattr(layer, name, None) is not None:
            raise ValueError(
                f"{name} of {type(layer).__name__} is computed from other parameters (a parametrization, weight norm, pruning); "
                "draw the parameters before that is registered."
            )


def fill_(parameter: Tensor, values: Tensor) -> None:
    """Copy values that are the same on all processes into a parameter, which may be a DTensor."""
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is not None:
        from torch.distributed.tensor import distribute_tensor

        values = distribute_tensor(values, mesh, parameter.placements)  # type: ignore[attr-defined]
    parameter.copy_(values)


def reset_all(module: nn.Module) -> None:
    """Draw the parameters of everything inside a module again."""
    for name, child in module.named_children():
        reset = getattr(child, "reset_parameters", None)
        if callable(reset):
            reset()
        elif next(child.parameters(recurse=False), None) is not None:
            raise ValueError(
                f"{name}, {type(child).__name__}, has parameters and no reset_parameters(); draw those of its own in another way."
            )
        else:
            reset_all(child)
