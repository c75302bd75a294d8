"""Weights by name, each loaded when it is asked for: what the adapters look at, wherever the weights come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.storage import STORAGES, Storage

Array = NDArray[Any]


@dataclass(frozen=True)
class Stored:
    """One tensor of a model or a file.

    Attributes
    ----------
    name
        Its full name, ``layers.3.mixer.A_log``.
    shape
        Of the tensor.
    storage
        Name of the type it is stored in, as PyTorch has it: ``"bfloat16"``; ``"complex64"``; ``"int64"``.
    load
        Reads its numbers into float64, or complex128 where they are complex.
    """

    name: str
    shape: tuple[int, ...]
    storage: str
    load: Callable[[], Array]

    @property
    def floating(self) -> bool:
        """Whether it holds real numbers in floating point."""
        return self.storage in STORAGES

    @property
    def real_type(self) -> Storage:
        """The type of its numbers, of one part where they are complex."""
        return STORAGES[{"complex64": "float32", "complex128": "float64"}.get(self.storage, self.storage)]

    def numbers(self, *, infinite: str = "") -> Array:
        """Its numbers, in float64 or complex128.

        Parameters
        ----------
        infinite
            ``"-"`` lets minus infinity pass: the logarithm of a zero.

        Raises
        ------
        ValueError
            NaN, or infinities that have no meaning here; the message names the tensor and the place.
        """
        values = self.load()
        broken = np.isnan(values) | (np.isinf(values) & ~((values == -np.inf) & (infinite == "-")))
        if broken.any():
            place = tuple(int(i) for i in np.argwhere(broken)[0])
            count = int(broken.sum())
            more = f", and {count - 1} more" if count > 1 else ""
            raise ValueError(
                f"{self.name} is not finite: {values[place]} at position {list(place)}{more}; mend or retrain it before its "
                "memory can be told."
            )
        return values


@dataclass(frozen=True)
class Tensors(Mapping[str, Stored]):
    """All tensors of a model, by name.

    Attributes
    ----------
    source
        What they come from, in words: a file name, the class of a module.
    modules
        Of a live PyTorch model the modules by name, for what their class and attributes say; else empty.
    """

    source: str
    tensors: Mapping[str, Stored]
    modules: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Stored:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def of_array(name: str, array: Any) -> Stored:
    """A tensor that is in memory as a NumPy array, or becomes one."""
    kind = np.dtype(getattr(array, "dtype", np.float64))
    load = (lambda: np.asarray(array, dtype=np.complex128)) if kind.kind == "c" else (lambda: _doubles(array))
    return Stored(name, tuple(int(size) for size in array.shape), kind.name, load)


def _doubles(array: Any) -> Array:
    return np.asarray(array).astype(np.float64)  # ml_dtypes' bfloat16 included
