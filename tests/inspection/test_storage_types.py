"""Types of storage against PyTorch's, which rounds and decodes by code of its own."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from signalprop.inspection.storage import STORAGES

SHORT = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


def decoded_by_torch(name: str) -> tuple[np.ndarray, np.ndarray]:
    size = STORAGES[name].size
    patterns = np.arange(256**size, dtype=f"<u{size}")
    view = torch.from_numpy(patterns.view(f"<i{size}").copy()).view(getattr(torch, name))
    return patterns, view.to(torch.float64).numpy()


@pytest.mark.parametrize("name", [*SHORT, "float16"])
def test_every_pattern_is_decoded_as_by_torch(name):
    patterns, wanted = decoded_by_torch(name)
    np.testing.assert_array_equal(STORAGES[name].decode(patterns.tobytes()), wanted)


@pytest.mark.parametrize("name", [*SHORT, "float16", "float32"])
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_rounding_is_that_of_torch(name, values):
    storage = STORAGES[name]
    # PyTorch goes by way of float32, which would round twice; and float8 e4m3fn saturates or not by version.
    with np.errstate(over="ignore"):
        single = np.array(values).astype(np.float32).astype(np.float64) if name != "float32" else np.array(values)
    single = single[np.abs(single) <= storage.largest]
    wanted = torch.tensor(single).to(torch.float32).to(getattr(torch, name)).to(torch.float64).numpy()
    np.testing.assert_array_equal(storage.rounded(single), wanted)


@pytest.mark.parametrize("name", [*SHORT, "float16"])
def test_neighbours_are_the_next_numbers(name):
    _, numbers = decoded_by_torch(name)
    finite = np.unique(numbers[np.isfinite(numbers)])
    low, high = STORAGES[name].neighbours(finite)
    np.testing.assert_array_equal(high[:-1], finite[1:])
    np.testing.assert_array_equal(low[1:], finite[:-1])
    assert high[-1] == np.inf
    assert low[0] == -np.inf


def test_infinities_have_no_neighbours():
    for name in STORAGES:
        low, high = STORAGES[name].neighbours([-np.inf, 0.0])
        assert low[0] == high[0] == -np.inf
        assert low[1] < 0.0 < high[1]


def test_beyond_the_largest_number_is_infinity():
    assert STORAGES["bfloat16"].rounded(1e39) == np.inf
    assert STORAGES["float16"].rounded(-1e6) == -np.inf
    assert np.isnan(STORAGES["float8_e4m3fn"].rounded(1e3))
