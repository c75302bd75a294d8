import importlib
import math
import subprocess
import sys

import pytest

from signalprop import advise, safe_scale
from signalprop.criteria import Criterion
from signalprop.initialization import _entries
from signalprop.initialization._entries import FIELD_OF_DTYPE, EntryScale, block_width


@pytest.mark.parametrize(("shape", "width"), [((7, 7), 7), ((15, 5), 5), ((20, 5), 5), ((1, 1), 1), ((3, 1), 1)])
def test_width_of_square_and_stacked_kernels(shape, width):
    assert block_width(shape) == width
    assert block_width(shape, wide=True) == width
    assert block_width(shape[::-1], wide=True) == width
    if shape[0] != shape[1]:
        with pytest.raises(ValueError, match="the kernel must have shape"):
            block_width(shape[::-1])


@pytest.mark.parametrize("shape", [(25, 5), (256, 16), (5, 1), (8, 5), (0, 3), (3, 0), (0, 0), (7,), (), (2, 4, 4)])
def test_what_is_no_stack_of_square_gates_is_refused(shape):
    for wide in (False, True):
        for turned in (shape, shape[::-1]):
            with pytest.raises(ValueError, match=r"the kernel must have shape|square gates, and a cell has at most 4"):
                block_width(turned, wide=wide)


def test_each_width_and_field_is_worked_out_once(monkeypatch):
    asked = []

    def counted(n, horizon, field, **options):
        asked.append((n, horizon, str(field)))
        return safe_scale(n, horizon, field, **options)

    monkeypatch.setattr(_entries, "safe_scale", counted)
    scales = EntryScale(30, None, {"criterion": "bounded"})
    for shape in ((8, 8), (32, 8), (16, 16), (8, 8)):
        for dtype in ("float32", "bfloat16", "complex64"):
            field = "complex" if dtype == "complex64" else "real"
            assert scales.std(shape, dtype) == safe_scale(shape[1], 30, field, criterion="bounded").std
    assert sorted(asked) == [(8, 30, "complex"), (8, 30, "real"), (16, 30, "complex"), (16, 30, "real")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None, {}), "either horizon, .* or scale, .* got horizon=None and scale=None"),
        ((10, 0.9, {}), r"either horizon, .* or scale, .* got horizon=10 and scale=0\.9"),
        ((10, None, {"seed": 3}), "an option of the scale must be one of 'criterion', .* or 'bound', got 'seed'"),
        ((None, 0.9, {"bound": 5.0}), r"scale=0\.9 leaves nothing for 'bound' to decide"),
        ((None, -1.0, {}), r"scale must be a positive finite number, got -1\.0"),
        ((None, float("nan"), {}), "scale must be a positive finite number, got nan"),
    ],
)
def test_bad_requests(arguments, message):
    with pytest.raises(ValueError, match=message):
        EntryScale(*arguments)


@pytest.mark.parametrize(
    ("framework", "sentence"),
    [
        ("torch", "needs PyTorch, which is not installed; pip install torch$"),
        ("jax", "needs JAX, which is not installed; pip install jax$"),
    ],
)
def test_a_missing_framework_is_named(monkeypatch, framework, sentence):
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"signalprop.initialization.{framework}", raising=False)
    with pytest.raises(ImportError, match=sentence):
        importlib.import_module(f"signalprop.initialization.{framework}")


def test_frameworks_are_loaded_on_request_only():
    code = (
        "import sys, signalprop\n"
        "assert signalprop.initialization.safe_scale is signalprop.safe_scale\n"
        "for name in ('torch', 'jax'):\n"
        "    assert name not in sys.modules\n"
        "import signalprop.initialization.torch\n"
        "assert signalprop.initialization.torch.ginibre_ and 'torch' in sys.modules and 'jax' not in sys.modules\n"
        "from signalprop.initialization import jax\n"
        "assert jax.ginibre and 'jax' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize("criterion", [None, *Criterion])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_what_is_filled_in_is_what_the_page_prints(criterion, dtype):
    field = FIELD_OF_DTYPE[dtype]
    for n in (1, 2, 3, 7, 29, 64, 500):
        for horizon in (1, 2, 4, 9, 40, 300):
            options = {} if criterion is None else {"criterion": criterion}
            std = EntryScale(horizon, None, options).std((n, n), dtype)
            assert std == safe_scale(n, horizon, field, **options).std
            advice = advise(n, horizon, field) if criterion is None and n * horizon < 5000 else None
            if advice is not None:
                wanted = 1.0 / math.sqrt(n) if advice.verdict == "keep" else std
                assert advice.as_dict()["std"] == wanted
