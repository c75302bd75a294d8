"""The whole public surface, found by looking, called with odd values: a right answer or one sentence with the argument in it.

``tests/surface`` holds the pieces: ``calls`` finds what is public, ``good`` has a good call of each, ``values`` has the odd ones,
``judge`` says what a sentence is, ``sweep`` puts one into the other. A new function is swept as soon as the reference names it;
one without a good value for a parameter fails here. `test_every_odd_value` tries all of it; the rest is small.
"""

import inspect
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from signalprop._checks import shown, whole_number
from tests.surface import judge, sweep, values
from tests.surface.calls import EXCLUDED, MISSING, Entry, entries, public
from tests.surface.good import CALLS, METHODS

ENTRIES = entries()
# A good call takes longer than a tenth of a second.
COSTLY = (
    "tasks.digits.", "training.trainer.", "symbolic.expansion", "symbolic.lru_summed", "montecarlo.run.", "ginibre.tempered.",
    "initialization.jax.", "initialization.budget.", "wick.cycle_counts",
)  # fmt: skip
QUICK = sorted(name for name in ENTRIES if not name.startswith(COSTLY) and sweep.parameters(ENTRIES[name]))
PLACES = [(name, parameter) for name in QUICK for parameter in sweep.parameters(ENTRIES[name])]

dtypes = st.one_of(
    npst.integer_dtypes(), npst.unsigned_integer_dtypes(), npst.floating_dtypes(), npst.complex_number_dtypes(),
    npst.boolean_dtypes(), npst.datetime64_dtypes(), npst.byte_string_dtypes(max_len=3),
)  # fmt: skip
arrays = npst.arrays(dtypes, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
drawn = st.one_of(
    st.floats(), st.integers(-(10**40), 10**40), st.integers(-3, 300), st.fractions(), st.decimals(), st.complex_numbers(),
    st.text(max_size=5), st.binary(max_size=5), st.floats(width=16).map(np.float16), st.floats(width=32).map(np.float32),
    st.integers(-128, 127).map(np.int8), st.integers(0, 255).map(np.uint8), st.booleans(), arrays,
    arrays.map(lambda array: np.ma.array(array, mask=True)), st.lists(st.floats(), max_size=3),
)  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An odd value may be taken for a path, and something is written there."""
    monkeypatch.chdir(tmp_path)


def test_every_public_name_is_swept_or_excluded_for_a_reason():
    assert not MISSING, "tests/surface/good.py needs a value for each of these"
    assert len(ENTRIES) > 250
    names = set(public())
    for name, reason in EXCLUDED.items():
        assert reason
        assert name in names or name.rpartition(".")[0] in names, f"{name} is gone"
    for name in CALLS:
        assert name in ENTRIES, f"{name} is gone"
    assert len(METHODS) > 20


@settings(
    derandomize=True, max_examples=30, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(st.lists(st.sampled_from(PLACES), min_size=8, max_size=8), st.data())
def test_a_few_odd_values(places, data):
    faults = []
    for name, parameter in places:
        entry = ENTRIES[name]
        good = sweep.fresh(entry.good[parameter])
        listed = [value for value, _ in values.equal(good)] + values.wrong(good)
        value = data.draw(drawn | st.sampled_from(range(len(listed))).map(listed.__getitem__))
        if not sweep.beyond_callers(entry, value):
            faults += sweep.fault(entry, parameter, good, value)
    assert not faults


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_odd_value(name, record_property):
    faults, count = sweep.swept(ENTRIES[name])
    record_property("public surface", astuple(count))  # `conftest` adds these up, from all processes
    assert not faults, "\n".join(faults)


def test_what_was_tried_is_counted(monkeypatch):
    monkeypatch.setattr(judge, "HOME", judge.HOME.removesuffix("/signalprop"))
    entry = Entry(
        "made.up", lambda: lambda n: np.zeros(7)[int(n)], inspect.signature(lambda n: n), {"n": 6}, {"n": "int"}
    )
    faults, count = sweep.swept(entry)
    assert count.functions == 1
    assert count.calls > 100
    assert count.refused >= count.unclear > 10
    assert count.faults == len(faults) >= count.unclear
    assert str(count + count) == (
        f"2 functions, {2 * count.calls} calls with an odd value, {2 * count.refused} of them refused; "
        f"{2 * count.unclear} exceptions that are not sentences, {2 * count.faults} faults in all"
    )


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (lambda n: np.zeros(7)[int(n)], "raises IndexError"),
        (lambda n: int(str(n)), "ValueError from"),
        (lambda n: float(np.log(n)) if not np.ma.isMaskedArray(n) else 0.0, "raises RuntimeWarning"),
        (lambda n: np.asarray(whole_number(np.asarray(n)[()], "n", 1)) + 0, "loses the mask"),
        (lambda n: float(np.real(n)) if np.shape(n) == () else 0.0, "loses the imaginary part"),
        (lambda n: int(n) if isinstance(n, (int, bool)) else refuse("n", n), "takes a truth value for a number"),
        (lambda n: n if type(n) is int else n * np.nan if isinstance(n, float) else refuse("n", n), "gives NaN"),
        (lambda n: n + np.int8(100) if isinstance(n, np.int8) else int(n) if type(n) is int else refuse("n", n), "differs from"),
        (lambda n: n if type(n) is int and n > 0 else refuse("m", n), "does not name n"),
        (lambda n: n if type(n) is int else refuse("n", n), "is refused, though it is 6"),
    ],
)  # fmt: skip
def test_the_sweep_finds_what_it_looks_for(function, fault, monkeypatch):
    monkeypatch.setattr(judge, "HOME", judge.HOME.removesuffix("/signalprop"))
    entry = Entry("made.up", lambda: function, inspect.signature(function), {"n": 6}, {"n": "int"})
    assert any(fault in found for found in sweep.faults(entry, "n"))


def refuse(name, value):
    raise ValueError(f"{name} must be another number, got {shown(value)}.")
