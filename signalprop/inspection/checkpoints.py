"""Weights in files, read without the code of the model and without running any: safetensors, PyTorch's, NumPy's."""

from __future__ import annotations

import pickletools
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from signalprop._checks import path_of, shown
from signalprop._extras import required
from signalprop._files import read_json
from signalprop.inspection._safetensors import read_safetensors
from signalprop.inspection.pytrees import flattened
from signalprop.inspection.storage import STORAGES
from signalprop.inspection.tensors import Array, Stored, Tensors

ENDINGS = (".safetensors", ".npz", ".pt", ".pth", ".bin", ".ckpt")
_INDEX = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


def read_checkpoint(path: Any) -> Tensors:
    """The tensors of a file, or of a folder as `transformers` saves a model.

    Parameters
    ----------
    path
        A file that ends in .safetensors, .npz, .pt, .pth, .bin or .ckpt; the index of a model in several files
        (``model.safetensors.index.json``); or a folder with one of these.

    Returns
    -------
    Tensors
        By name. Numbers are read when they are asked for, one tensor at a time.

    Raises
    ------
    ValueError
        A file of none of these formats, a damaged one, one with code in it, a folder without weights.
    OSError
        What the system says of a file that is missing or cannot be read.

    Notes
    -----
    No code of the file is run: PyTorch's files are read as weights alone, NumPy's without pickled objects. PyTorch's need
    PyTorch.
    """
    place = path_of(path, "path")
    found = _of_folder(place) if place.is_dir() else _of_file(place)
    if not found:
        raise ValueError(f"{str(place)!r} holds no tensors.")
    return Tensors(str(place), found)


def _of_file(place: Path) -> dict[str, Stored]:
    place.stat()  # says what is missing
    if place.name.endswith(".index.json"):
        return _of_index(place)
    if place.suffix == ".safetensors":
        return read_safetensors(place)
    if place.suffix == ".npz":
        return _of_numpy(place)
    if place.suffix in ENDINGS:
        return _of_torch(place)
    raise ValueError(f"a model is read from a file that ends in {', '.join(ENDINGS)}, got {str(place)!r}.")


def _of_folder(place: Path) -> dict[str, Stored]:
    for name in _INDEX:
        if (place / name).is_file():
            return _of_index(place / name)
    for pattern in ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.npz"):
        if files := sorted(place.glob(pattern)):
            return {name: tensor for file in files for name, tensor in _of_file(file).items()}
    raise ValueError(f"{str(place)!r} is a folder without weights: no file in it ends in {', '.join(ENDINGS)}.")


def _of_index(place: Path) -> dict[str, Stored]:
    """A model in several files: the index says which tensor is in which."""
    where = read_json(place).get("weight_map")
    if not isinstance(where, dict) or not all(isinstance(name, str) for name in where.values()):
        raise ValueError(f"{str(place)!r} is not the index of a model: it has no weight_map from tensors to files.")
    files: dict[str, dict[str, Stored]] = {}
    for name in sorted(set(where.values())):
        if Path(name).name != name:
            raise ValueError(f"{str(place)!r} names the file {shown(name)}, which is not beside it.")
        if not (place.parent / name).is_file():
            raise ValueError(f"{str(place)!r} names the file {shown(name)}, which is missing.")
        files[name] = _of_file(place.parent / name)
    for tensor, name in where.items():
        if tensor not in files[name]:
            raise ValueError(f"{str(place)!r} says that {tensor} is in {shown(name)}, but it is not.")
    return {tensor: files[name][tensor] for tensor, name in where.items()}


def _of_numpy(place: Path) -> dict[str, Stored]:
    try:
        with zipfile.ZipFile(place) as archive:
            headers = {
                name: _numpy_header(archive, name, place) for name in archive.namelist() if name.endswith(".npy")
            }
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{str(place)!r} is not an .npz file of NumPy, or is damaged.") from error
    found = {}
    for member, (shape, dtype) in headers.items():
        name = member.removesuffix(".npy").replace("/", ".")
        if dtype.hasobject:
            raise ValueError(
                f"{str(place)!r} has code in it: {name} is a pickled object, which is not read; save arrays of numbers alone."
            )
        if dtype.kind == "V" and dtype.itemsize == 2 and dtype.names is None:  # what NumPy makes of JAX's bfloat16
            found[name] = Stored(name, shape, "bfloat16", _reader(place, member, _from_bfloat16))
        elif dtype.kind in "fiub":
            found[name] = Stored(name, shape, dtype.name, _reader(place, member, lambda one: one.astype(np.float64)))
        elif dtype.kind == "c":
            found[name] = Stored(name, shape, dtype.name, _reader(place, member, lambda one: one.astype(np.complex128)))
    return found


def _numpy_header(archive: zipfile.ZipFile, name: str, place: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    with archive.open(name) as file:
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
        except ValueError as error:
            raise ValueError(f"{str(place)!r} is damaged: {name} in it is not an array of NumPy.") from error
    return shape, dtype


def _reader(place: Path, member: str, widen: Callable[[Any], Array]) -> Callable[[], Array]:
    def load() -> Array:
        with np.load(place, allow_pickle=False) as archive:
            return widen(archive[member.removesuffix(".npy")])

    return load


def _from_bfloat16(array: Any) -> Array:
    return STORAGES["bfloat16"].decode(np.ascontiguousarray(array).tobytes()).reshape(array.shape)


def _of_torch(place: Path) -> dict[str, Stored]:
    with required(f"{str(place)!r}, a file of PyTorch,", "torch"):
        import torch
    try:
        content = torch.load(place, map_location="cpu", weights_only=True, mmap=True)
    except RuntimeError:  # not in an archive: of an old version, or no file of PyTorch
        content = _unmapped(place)
    except Exception as error:
        raise _refusal(place, error) from error
    found = flattened(content)
    if not found:
        raise ValueError(f"{str(place)!r} holds no tensors by name, but {shown(content)}; save model.state_dict().")
    return found


def _unmapped(place: Path) -> Any:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickles of another version, which are then refused or read
            return torch.load(place, map_location="cpu", weights_only=True)
    except Exception as error:
        raise _refusal(place, error) from error


def _refusal(place: Path, error: Exception) -> Exception:
    """The sentence for a file that PyTorch does not read as weights alone; errors of the system as they are."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    if "GLOBAL" in str(error) or _is_pickle(place):
        return ValueError(
            f"{str(place)!r} has code in it, or objects that are no tensors, and is not read: only weights are; save "
            "model.state_dict() instead of the model."
        )
    return ValueError(f"{str(place)!r} is not a file of weights that PyTorch reads, or is damaged.")


def _is_pickle(place: Path) -> bool:
    """Whether it is a plain pickle, which is parsed here and never run."""
    try:
        with place.open("rb") as file:
            return any(code.name == "STOP" for code, _, _ in pickletools.genops(file))
    except (ValueError, OSError):
        return False
