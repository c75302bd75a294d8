"""How a value stands in a message, and what numbers hide in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

REFUSED = (
    TypeError,
    ValueError,
    OverflowError,
    RuntimeError,
    AttributeError,
)  # what other libraries raise for "not an array"


def shown(value: Any) -> str:
    """The value for a message, on one line; a very long integer by its size, a tensor by its shape."""
    if hasattr(value, "shape") and not isinstance(value, (np.ndarray, np.generic)):
        return f"a {type(value).__name__} of shape {tuple(value.shape)}"
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"{'-' if value < 0 else ''}1e{int(value.bit_length() * math.log10(2.0))} or so"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # it holds an integer of more digits than Python prints
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def scalar(value: Any) -> Any:
    """The Python number in a scalar or in an array without axes, of NumPy or another library; other values as they are."""
    if isinstance(value, np.ma.MaskedArray) and masked(value):
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        try:
            return value.item()
        except REFUSED:  # a tensor without data, or under a transform
            return value
    return value


def masked(value: Any) -> bool:
    """Whether a masked entry hides in an array, or in a list of them."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    return isinstance(value, (list, tuple)) and any(masked(item) for item in value)
