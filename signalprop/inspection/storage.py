"""Types in which numbers are stored: decoding them without loss, rounding to them, and the neighbours of a stored number.

NumPy has no bfloat16 and no float8, and `ml_dtypes`, which adds them, comes with JAX alone. The formats are short: a sign,
bits of an exponent, bits of a fraction; so they stand here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._registry import Registry

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Storage:
    """A type of floating-point numbers of at most 64 bits.

    Attributes
    ----------
    name
        What PyTorch calls it: ``"bfloat16"``.
    bits
        All of one number.
    fraction
        Bits of the fraction.
    native
        NumPy's type, where it has one.
    finite_only
        Whether the largest exponent holds numbers as well, NaN in all bits alone (float8 e4m3fn).
    """

    name: str
    bits: int
    fraction: int
    native: str | None = None
    finite_only: bool = False

    @property
    def size(self) -> int:
        """Bytes of one number."""
        return self.bits // 8

    def decode(self, raw: bytes | memoryview) -> Floats:
        """Numbers from little-endian bytes, each of them exactly."""
        if self.native is not None:
            return np.frombuffer(raw, dtype=np.dtype(self.native).newbyteorder("<")).astype(np.float64)
        patterns = np.frombuffer(raw, dtype=f"<u{self.size}")
        if self.name == "bfloat16":  # the upper half of a float32
            with np.errstate(invalid="ignore"):  # NaN that signals
                return (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return np.asarray(self._table[patterns])

    def rounded(self, values: ArrayLike) -> Floats:
        """The nearest numbers of this type, ties to the even fraction; beyond the largest, infinity (NaN where there is none)."""
        wide = np.asarray(values, dtype=np.float64)
        if self.native is not None:
            with np.errstate(over="ignore"):
                return np.asarray(wide.astype(self.native).astype(np.float64))
        magnitude = np.abs(wide)
        with np.errstate(divide="ignore", invalid="ignore"):
            exponent = np.maximum(np.floor(np.log2(np.where(magnitude > 0.0, magnitude, 1.0))), self._lowest)
            # log2 may round up just below a power of two.
            exponent = np.where(np.exp2(exponent) > magnitude, np.maximum(exponent - 1.0, self._lowest), exponent)
            unit = np.exp2(exponent - self.fraction)
            near = np.where(np.isfinite(wide), np.copysign(np.rint(magnitude / unit) * unit, wide), wide)
        beyond = np.isfinite(near) & (np.abs(near) > self.largest)
        return np.asarray(np.where(beyond, np.nan if self.finite_only else np.copysign(np.inf, wide), near))

    def neighbours(self, values: ArrayLike) -> tuple[Floats, Floats]:
        """The numbers of this type just below and just above given ones of this type; infinities stay."""
        wide = np.asarray(values, dtype=np.float64)
        if self.native is not None:
            own = wide.astype(self.native)
            with np.errstate(over="ignore", under="ignore"):
                ends = [np.nextafter(own, own.dtype.type(end)).astype(np.float64) for end in (-np.inf, np.inf)]
            low, high = np.where(np.isinf(wide), wide, ends)
            return low, high
        return -self._above(-wide), self._above(wide)

    def _above(self, wide: Floats) -> Floats:
        """The next number up: a unit of the last place at the magnitude that the interval has."""
        magnitude = np.abs(wide)
        with np.errstate(divide="ignore", invalid="ignore"):
            exponent = np.floor(np.log2(np.where((magnitude > 0.0) & np.isfinite(wide), magnitude, 1.0)))
            exponent = np.where(np.exp2(exponent) > magnitude, exponent - 1.0, exponent)
            # Below a power of two, on its way to zero, the units are half as large.
            exponent = exponent - ((wide < 0.0) & (magnitude == np.exp2(exponent)))
            unit = np.exp2(np.maximum(exponent, self._lowest) - self.fraction)
            unit = np.where(wide == 0.0, np.exp2(self._lowest - self.fraction), unit)
            up = np.where(np.isfinite(wide), wide + unit, wide)
        return np.asarray(np.where(np.isfinite(up) & (up > self.largest), np.inf, up))

    @property
    def _exponents(self) -> int:
        return self.bits - 1 - self.fraction

    @property
    def _lowest(self) -> float:
        """Exponent of the smallest normal number."""
        return 2.0 - 2.0 ** (self._exponents - 1)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        if self.native is not None:
            return float(np.finfo(self.native).max)
        top = 2.0 ** (self._exponents - 1)
        if self.finite_only:  # the fraction of all ones is NaN
            return float(2.0**top * (2.0 - 2.0 * 2.0**-self.fraction))
        return float(2.0 ** (top - 1.0) * (2.0 - 2.0**-self.fraction))

    @cached_property
    def _table(self) -> Floats:
        """Every number of a type of one byte, by its bits."""
        patterns = np.arange(256)
        sign = np.where(patterns & 0x80, -1.0, 1.0)
        exponent = (patterns >> self.fraction) & ((1 << self._exponents) - 1)
        part = (patterns & ((1 << self.fraction) - 1)) / 2.0**self.fraction
        normal = np.ldexp(1.0 + part, exponent + int(self._lowest) - 1)
        value = sign * np.where(exponent == 0, np.ldexp(part, int(self._lowest)), normal)
        top = exponent == (1 << self._exponents) - 1
        if self.finite_only:
            value[top & (part == 1.0 - 2.0**-self.fraction)] = np.nan
        else:
            value[top] = np.where(part[top] == 0.0, sign[top] * np.inf, np.nan)
        return np.asarray(value)


STORAGES: Registry[Storage] = Registry(
    "storage",
    Storage,
    {
        one.name: one
        for one in (
            Storage("float64", 64, 52, "f8"),
            Storage("float32", 32, 23, "f4"),
            Storage("float16", 16, 10, "f2"),
            Storage("bfloat16", 16, 7),
            Storage("float8_e4m3fn", 8, 3, finite_only=True),
            Storage("float8_e5m2", 8, 2),
        )
    },
)
"""Types that weights are stored in, by PyTorch's names."""


def is_one(log_decay: Any, storage: Storage) -> NDArray[np.bool_]:
    """Whether exp(log_decay) is 1 where it is held in a type."""
    return np.asarray(storage.rounded(np.exp(np.asarray(log_decay, dtype=np.float64))) == 1.0)
