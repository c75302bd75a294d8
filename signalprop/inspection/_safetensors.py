"""Files of the format safetensors: eight bytes, a header of JSON, then the numbers.

The package `safetensors` hands bfloat16 and float8 to NumPy only where `ml_dtypes` is there, and would be one more
requirement of every installation; the format is a page long (https://huggingface.co/docs/safetensors, "Format"), and a test
holds this reader against the package. The file is mapped, not read: what is not asked for takes no memory.
"""

from __future__ import annotations

import json
import math
import mmap
import re
from pathlib import Path
from typing import Any

import numpy as np

from signalprop.inspection.storage import STORAGES
from signalprop.inspection.tensors import Array, Stored

_LARGEST_HEADER = 100_000_000  # bytes; the limit of the format
_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_WHOLE = {
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "I8": "i1",
    "U64": "u8",
    "U32": "u4",
    "U16": "u2",
    "U8": "u1",
    "BOOL": "?",
}
_COMPLEX = {"C64": ("complex64", "<c8"), "C128": ("complex128", "<c16")}


def read_safetensors(path: Path) -> dict[str, Stored]:
    """The tensors of a file.

    Raises
    ------
    ValueError
        A file of another format, or one that was cut off.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header, start = _header(file.read(8), file, path, size)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = {}
    for name, entry in sorted(header.items(), key=_in_order):  # files have layer 10 before layer 2
        if name != "__metadata__":
            found[name] = _stored(name, entry, mapped, start, path)
    return found


def _in_order(item: tuple[str, Any]) -> list[tuple[bool, int, str]]:
    """Numbers in a name by their size."""
    parts = re.split(r"(\d+)", item[0])
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _header(first: bytes, file: Any, path: Path, size: int) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= min(size - 8, _LARGEST_HEADER):
        raise ValueError(f"{str(path)!r} is not a safetensors file: it does not begin with the length of a header.")
    try:
        header = json.loads(file.read(length))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ValueError(f"{str(path)!r} is not a safetensors file: its header is not JSON.")
    return header, 8 + length


def _stored(name: str, entry: Any, mapped: mmap.mmap, start: int, path: Path) -> Stored:
    try:
        kind, shape = str(entry["dtype"]), tuple(int(size) for size in entry["shape"])
        begin, end = (start + int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{str(path)!r} is damaged: its header does not say where {name} is.") from None
    if not start <= begin <= end <= len(mapped) or min(shape, default=0) < 0:
        raise ValueError(f"{str(path)!r} is cut off or damaged: {name} ends beyond the file.")
    count = math.prod(shape)
    if kind in _TYPES:
        storage = STORAGES[_TYPES[kind]]
        _require_size(count * storage.size, end - begin, name, path)
        return Stored(name, shape, storage.name, lambda: storage.decode(mapped[begin:end]).reshape(shape))
    if kind in _COMPLEX:
        word, dtype = _COMPLEX[kind]
        _require_size(count * np.dtype(dtype).itemsize, end - begin, name, path)
        return Stored(name, shape, word, lambda: _plain(mapped[begin:end], dtype, shape, np.complex128))
    if kind in _WHOLE:
        dtype = _WHOLE[kind]
        _require_size(count * np.dtype(dtype).itemsize, end - begin, name, path)
        return Stored(name, shape, np.dtype(dtype).name, lambda: _plain(mapped[begin:end], dtype, shape, np.float64))
    return Stored(name, shape, kind.lower(), lambda: _refuse(name, kind))


def _require_size(wanted: int, found: int, name: str, path: Path) -> None:
    if wanted != found:
        raise ValueError(f"{str(path)!r} is damaged: {name} has {found} bytes where its shape needs {wanted}.")


def _plain(raw: bytes, dtype: str, shape: tuple[int, ...], wide: Any) -> Array:
    return np.frombuffer(raw, dtype=np.dtype(dtype).newbyteorder("<")).reshape(shape).astype(wide)


def _refuse(name: str, kind: str) -> Array:
    raise ValueError(f"{name} is stored as {kind}, which is not read here; save it as bfloat16, float16 or float32.")
