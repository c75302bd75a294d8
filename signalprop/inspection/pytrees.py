"""Weights that are in memory: modules of PyTorch, and nested dictionaries of arrays such as the parameters of Flax.

Nothing here imports PyTorch or JAX: whoever hands over one of their objects has imported it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from signalprop._checks import shown
from signalprop.inspection.tensors import Array, Stored, Tensors, of_array


def of_model(model: Any) -> Tensors:
    """The tensors of a model that is in memory.

    Parameters
    ----------
    model
        A `torch.nn.Module`; a mapping of names to arrays, nested at will, such as a state_dict or the parameters of Flax;
        another pytree of JAX.

    Raises
    ------
    ValueError
        Something else, or a model without arrays.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        tensors = {
            name: _of_torch(name, tensor)
            for name, tensor in model.state_dict(keep_vars=True).items()
            if _is_array(tensor)
        }
        found = Tensors(type(model).__name__, tensors, dict(model.named_modules(remove_duplicate=False)))
    else:
        found = Tensors(f"a {type(model).__name__}", flattened(model))
    if not found:
        raise ValueError(
            "model must be a torch.nn.Module, a mapping of names to arrays, or a file of weights, and hold some, got "
            f"{shown(model)}."
        )
    return found


def flattened(tree: Any) -> dict[str, Stored]:
    """Arrays in nested mappings and lists by their path, joined by dots; whatever is no array is left out."""
    found = {
        name: _of_torch(name, leaf) if _is_torch(leaf) else of_array(name, leaf) for name, leaf in _leaves(tree, "")
    }
    jax = sys.modules.get("jax")
    if not found and jax is not None and not isinstance(tree, (str, bytes)):
        # Dataclasses and the like that JAX knows as pytrees.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about iterators, which are no trees
            leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
        named = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}
        found = {name: of_array(name, leaf) for name, leaf in named.items() if name and _is_array(leaf)}
    return found


def _leaves(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(tree, (list, tuple)):
        for place, value in enumerate(tree):
            yield from _leaves(value, f"{name}.{place}" if name else str(place))
    elif name and _is_array(tree):
        yield name, tree


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _of_torch(name: str, tensor: Any) -> Stored:
    storage = str(tensor.dtype).removeprefix("torch.")
    return Stored(name, tuple(tensor.shape), storage, lambda: _numbers(name, tensor))


def _numbers(name: str, tensor: Any) -> Array:
    if tensor.is_meta:
        raise ValueError(f"{name} is on the meta device and has no numbers; give the model its weights first.")
    whole = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor  # a DTensor in shards
    import torch

    wide = torch.complex128 if whole.is_complex() else torch.float64
    return np.asarray(whole.detach().to("cpu").to(wide).resolve_conj().resolve_neg().numpy())
