"""Odd values for an argument: those that equal a good one, and those that are wrong or may be."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import torch

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)


class Whole(int):
    """An integer of a class of its own."""


class Text(str):
    """A text of a class of its own."""


def real_numbers(good: Any) -> bool:
    """Whether `good` is an array, list or tuple of real numbers."""
    if isinstance(good, (list, tuple, np.ndarray)) and len(good):
        try:
            return np.asarray(good).dtype.kind in "iuf"
        except ValueError:
            return False
    return False


def equal(good: Any) -> list[tuple[Any, bool]]:
    """Values that say the same as `good`, each with whether it must be taken for it, not only if it is taken at all."""
    if isinstance(good, (bool, np.bool_)):
        return [(np.bool_(good), False), (np.array(good), False)]
    if isinstance(good, int):
        fitting = [kind(good) for kind in INTEGERS if good <= np.iinfo(kind).max]
        floats = [float(good), *(kind(good) for kind in FLOATS if int(kind(good)) == good)]
        others = [Fraction(good), Decimal(good), np.array(good), np.ma.array(good),
                  torch.tensor(good), complex(good), np.array(good, object)]  # fmt: skip
        return [*((one, True) for one in [*fitting, Whole(good)]), *((one, False) for one in floats + others)]
    if isinstance(good, float):
        exact = [kind(good) for kind in FLOATS if float(kind(good)) == good]
        others = [Decimal(good), np.array(good), np.array(good, np.float16), np.ma.array(good), torch.tensor(good),
                  complex(good), np.array(good, object)]  # fmt: skip
        return [*((one, True) for one in [*exact, Fraction(good)]), *((one, False) for one in others)]
    if type(good) is str:
        return [(np.str_(good), True), (Text(good), True)]
    if real_numbers(good):
        array = np.asarray(good)
        apart = np.zeros((*array.shape, 2), array.dtype)[..., 0]
        apart[...] = array
        same = [array, array.astype(array.dtype.newbyteorder(">")), np.asfortranarray(array), apart, array.astype(object),
                array.tolist(), np.ma.array(array), np.ma.array(array, mask=np.zeros(array.shape, bool)),
                array.astype(np.longdouble), torch.tensor(array), array.astype(complex),
                array.astype(np.complex64)]  # fmt: skip
        same += [array.astype(kind) for kind in (np.float16, np.float32) if np.array_equal(array.astype(kind), array)]
        same += [pd.Series(array)] if array.ndim == 1 else []
        return [(one, False) for one in same]
    return []


def _entry_replaced(good: Any, value: Any) -> Any:
    array = np.asarray(good).astype(complex if isinstance(value, complex) else np.float64)
    array.flat[array.size - 1] = value
    return array


def wrong(good: Any) -> list[Any]:
    """Values that are wrong for most arguments; some are right for some."""
    scalars: list[Any] = [
        float("nan"), np.float16("nan"), np.longdouble("nan"), float("inf"), -float("inf"), np.float32("inf"), -1, -0.5, 0,
        0.0, -0.0, 0.5, 1, 2, 3, 1.5, 100, 127, 128, 10**5, 10**9, 2**63 - 1, 2**63, 2**64 - 1, np.uint64(2**64 - 1), 10**30,
        np.int8(100), np.uint8(200), np.int16(300), np.float16(100), np.float32(0.3), np.float64(0.1), -(10**30), 10**400,
        1e17, 1e300, -1e300, 1e-200, 1e-320, 5e-324, np.float16(65504), np.int8(-128), np.longdouble("1e4000"),
        Fraction(1, 3), Fraction(10**400, 3), Decimal("NaN"), Decimal("0.3"), Decimal("1e5000"), True, False, np.bool_(True),
        1 + 1j, 1j, np.complex64(1 + 1j), complex("nan"), None, "", "text", "0.5", "nan", "²", b"1", b"real", bytearray(b"4"),
        np.datetime64("2020"), np.timedelta64(3, "D"), np.datetime64("NaT"), pd.NaT, pd.NA, object(), lambda *_: 0,
        slice(3), Ellipsis, np.ma.masked,
    ]  # fmt: skip
    arrays: list[Any] = [
        [], (), {}, set(), {"a": 1}, [1.0, [2.0]], [[1, 2], [3]], ["a"], [None], [True], [1j], [10**30], ["1", 2], (0.5, 0.25),
        np.array([]), np.zeros((0, 2)), np.zeros((2, 0)), np.array([1, 2]), np.array([1.0, np.nan]), np.array([np.inf, 1.0]),
        np.array([1.5, 2.0], np.float16), np.array([1 + 1j, 2]), np.array([1, None], object), np.array(["a", "b"]),
        np.array([True, False]), np.array(np.nan), np.array(1j), np.array("2020", "datetime64[D]"), np.ones((2, 2)), -np.eye(2),
        np.ones((2, 2, 2)), np.full((2, 2), 1e300), np.full((2, 2), 5e-324), np.full((2, 2), np.nan), 1j * np.eye(2),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), np.array([300, 2], np.uint16), np.array([2**64 - 1], np.uint64),
        np.ma.array(4, mask=True), np.ma.array([4, 2], mask=[False, True]), np.ma.array(np.eye(2), mask=[[0, 1], [0, 0]]),
        pd.Series([1, 2]), pd.Series([], dtype=float), pd.Series([1, None]), pd.DataFrame({"a": [1, 2]}),
        torch.tensor(float("nan")),
        torch.tensor([1, 2]), torch.tensor([0.5, 0.25], requires_grad=True), torch.tensor(1j), torch.empty(0),
        torch.tensor(True),
        torch.ones(2, 2, dtype=torch.bfloat16), torch.ones(1).to_sparse(), range(3), iter([1, 2]), memoryview(b"12"),
    ]  # fmt: skip
    if real_numbers(good):
        array = np.asarray(good)
        mask = np.zeros(array.shape, bool)
        mask.flat[0] = True
        arrays += [
            _entry_replaced(good, np.nan), _entry_replaced(good, np.inf), _entry_replaced(good, -1.0),
            _entry_replaced(good, 1e300), _entry_replaced(good, 1 + 1j), _entry_replaced(good, 5e-324),
            np.ma.array(array, mask=mask),
            np.ma.array(array, mask=True), -array, array[..., :1], array[..., :0], array[None], np.concatenate([array, array]),
            array.astype(str), array.astype(bool), array.astype("datetime64[s]") if array.dtype.kind in "iu" else array * 1j,
        ]  # fmt: skip
    if isinstance(good, (bool, np.bool_)):
        scalars += ["True", "False", 2]
    if isinstance(good, str):
        scalars += [good.upper(), f" {good}", good.encode(), [good], (good, good), np.array([good]), f"{good}\x00"]
    if isinstance(good, torch.Tensor):
        arrays += [
            good.double(), good.half(), good.to(torch.bfloat16), good * float("nan"), good * 1j, good.int(), good[..., :1],
            good[..., :0], good[None], good.numpy(), good.bool(), torch.full_like(good, 1), good.flatten(), good.clone().t() if
            good.ndim <= 2 else good.transpose(0, 1), good.tolist(),
        ]  # fmt: skip
    return scalars + arrays
