"""What each check of `signalprop._checks` takes, and what its sentence says."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from signalprop import _checks as checks

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
NO_NUMBERS = (True, False, np.True_, "3", b"3", None, 1j, object(), {}, [], (1, 2), np.ma.masked, np.datetime64("2020"),
              torch.tensor(True), Decimal("3"))  # fmt: skip
# Each check with the name "argument", and a value that it takes.
CHECKS = {
    "whole_number": (lambda value: checks.whole_number(value, "argument", 0, 9), 3),
    "whole_numbers": (lambda value: checks.whole_numbers(value, "argument", 0, 9), [3]),
    "whole_tuple": (lambda value: checks.whole_tuple(value, "argument", 9), (3,)),
    "permutation_of": (lambda value: checks.permutation_of(value, "argument", 9), (1, 0)),
    "even_number": (lambda value: checks.even_number(value, "argument", 0, 8, "for a reason"), 4),
    "seed_of": (lambda value: checks.seed_of(value, "argument"), 3),
    "real_number": (lambda value: checks.real_number(value, "argument"), 0.5),
    "finite_number": (lambda value: checks.finite_number(value, "argument"), 0.5),
    "positive_float": (lambda value: checks.positive_float(value, "argument"), 0.5),
    "exact_number": (lambda value: checks.exact_number(value, "argument", floats=True), 0.5),
    "between": (lambda value: checks.between(value, "argument", -1.0, 1.0), 0.5),
    "probability": (lambda value: checks.probability(value, "argument"), 0.5),
    "flag": (lambda value: checks.flag(value, "argument"), True),
    "text_of": (lambda value: checks.text_of(value, "argument"), "a"),
    "path_of": (lambda value: checks.path_of(value, "argument"), "a"),
    "instance_of": (lambda value: checks.instance_of(value, Fraction, "argument", "a Fraction"), Fraction(1)),
    "function_or_none": (lambda value: checks.function_or_none(value, "argument"), len),
    "pair_of": (lambda value: checks.pair_of(value, "argument"), (1, 2)),
    "listed": (lambda value: checks.listed(value, "argument", "words"), ["a"]),
    "finite_array": (lambda value: checks.finite_array(value, "argument", None), [0.5]),
    "real_array": (lambda value: checks.real_array(value, "argument", None), [0.5]),
    "log_array": (lambda value: checks.log_array(value, "argument", None), [-np.inf]),
    "array_between": (lambda value: checks.array_between(value, "argument", 0.25, 1.0, or_zero=True), [0.5, 0.0]),
    "probabilities": (lambda value: checks.probabilities(value, "argument"), [0.5]),
    "broadcast": (
        lambda value: checks.broadcast({"argument": checks.real_array(value, "argument", None), "n": np.ones(2)}),
        [0.5],
    ),
    "square_matrix": (lambda value: checks.square_matrix(value, "argument"), [[0.5]]),
    "any_array": (lambda value: checks.any_array(value, "argument", "argument must be an array"), [0.5]),
}
HELPERS = {"shown", "scalar"}  # which refuse nothing

anything = st.one_of(
    st.floats(), st.integers(-(10**60), 10**60), st.fractions(), st.decimals(), st.complex_numbers(), st.text(max_size=200),
    st.binary(max_size=9), st.booleans(), st.none(), st.lists(st.floats() | st.none() | st.text(), max_size=4),
    npst.arrays(npst.scalar_dtypes(), npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    st.just(np.ma.masked), st.floats(width=16).map(np.float16), st.just(torch.ones(3)), st.just(pd.NA),
    st.just(np.full((9, 9), np.nan)),
)  # fmt: skip


def test_every_check_is_here():
    public = {
        name
        for name, one in vars(checks).items()
        if name[0] != "_" and getattr(one, "__module__", "").startswith(f"{checks.__name__}.")
    }
    assert public == set(CHECKS) | HELPERS


@pytest.mark.parametrize("name", CHECKS)
@settings(deadline=None)
@given(value=anything)
def test_whatever_comes_is_taken_or_refused_in_one_sentence_with_the_name(name, value):
    check, _ = CHECKS[name]
    try:
        check(value)
    except ValueError as error:
        text = str(error)
        assert text.startswith("argument "), text
        assert text.endswith("."), text
        assert "\n" not in text
        assert len(text) < 400
        assert " got " in text or "masked" in text, text


@pytest.mark.parametrize("name", CHECKS)
def test_a_good_value_is_taken(name):
    check, good = CHECKS[name]
    check(good)


@pytest.mark.parametrize("name", ["whole_number", "even_number", "seed_of", "real_number", "finite_number", "positive_float",
                                  "exact_number", "probability"])  # fmt: skip
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_no_number(name, value):
    with pytest.raises(ValueError, match=r"^argument must .*, got "):
        CHECKS[name][0](value)


@settings(deadline=None)
@given(st.integers(0, 100))
def test_a_whole_number_of_any_type_is_that_number(number):
    kinds = [*INTEGERS, int, float, Fraction, np.float32, np.float64, np.longdouble, np.array, torch.tensor]
    for kind in kinds:
        found = checks.whole_number(kind(number), "n", 0, 100)
        assert type(found) is int
        assert found == number
        assert checks.whole_numbers(kind(number), "n", 0, 100) == number


@settings(deadline=None)
@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30), st.integers(0, 10**30))
def test_whole_numbers_end_where_they_are_said_to_end(number, minimum, width):
    maximum = minimum + width
    if minimum <= number <= maximum:
        assert checks.whole_number(number, "n", minimum, maximum) == number
    else:
        side = rf"at least {minimum}" if number < minimum else rf"at most {maximum}"
        with pytest.raises(ValueError, match=rf"^n must be {side}, got {number}\."):
            checks.whole_number(number, "n", minimum, maximum)


def test_beyond_the_largest_the_other_way_is_named():
    with pytest.raises(ValueError, match=r"^n must be at most 3, got 4\. Use sample\.$"):
        checks.whole_number(4, "n", 0, 3, "Use sample.")
    with pytest.raises(ValueError, match=r"^n must be at most 3, got 4 in the array\. Use sample\.$"):
        checks.whole_numbers([1, 4], "n", 0, 3, "Use sample.")
    with pytest.raises(ValueError, match=r"^n must be at least 0, got -1\.$"):
        checks.whole_number(-1, "n", 0, 3, "Use sample.")


@pytest.mark.parametrize(
    "value", [0.5, float("nan"), float("inf"), np.float16(2.5), Fraction(1, 3), [1.5], [1, float("nan")]]
)
def test_no_whole_numbers(value):
    with pytest.raises(ValueError, match=r"^n must be a whole number, got "):
        checks.whole_numbers(value, "n", 0)


@settings(deadline=None)
@given(
    npst.arrays(
        st.sampled_from([np.int8, np.uint16, np.int64, np.float32]), st.integers(0, 5), elements=st.integers(0, 100)
    )
)
def test_arrays_of_whole_numbers_keep_their_values_and_shape(array):
    found = checks.whole_numbers(array, "n", 0)
    assert found.dtype == np.int64
    assert found.tolist() == array.tolist()
    assert checks.whole_tuple(array, "n", 5) == tuple(array.tolist())


def test_whole_tuples():
    assert checks.whole_tuple(range(3), "n", 3) == (0, 1, 2)
    with pytest.raises(ValueError, match="n must have at most 2 entries, got 3"):
        checks.whole_tuple((1, 2, 3), "n", 2)
    for value in (3, [[1, 2]], np.zeros((0, 2))):
        with pytest.raises(ValueError, match="n must be a list of whole numbers, got"):
            checks.whole_tuple(value, "n", 2)


@settings(deadline=None)
@given(st.permutations(range(6)))
def test_permutations(order):
    assert checks.permutation_of(order, "p", 6) == tuple(order)
    for wrong in ([*order, 7], [order[0], *order], [-1, *order], [*order[:3], order[0]]):
        with pytest.raises(ValueError, match=r"^p must be a permutation, each of 0, .* once, got "):
            checks.permutation_of(wrong, "p", 9)


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_even_numbers(number):
    if number % 2:
        with pytest.raises(ValueError, match=f"^n must be even, as pairs are, got {number}.$"):
            checks.even_number(number, "n", 0, 1000, "as pairs are")
    else:
        assert checks.even_number(number, "n", 0, 1000, "as pairs are") == number


@settings(deadline=None)
@given(st.floats(allow_nan=False) | st.fractions())
def test_real_numbers(number):
    value = float(number)
    assert checks.real_number(number, "x") == value
    for check, fits in (
        (checks.finite_number, math.isfinite(value)),
        (checks.positive_float, math.isfinite(value) and value > 0.0),
        (checks.probability, 1e-12 <= value <= 1.0 - 1e-12),
    ):
        if fits:
            assert check(number, "x") == value
        else:
            with pytest.raises(ValueError, match=r"^x must .*, got "):
                check(number, "x")


def test_numbers_beyond_float64_are_infinite_not_wrapped():
    assert checks.real_number(10**400, "x") == math.inf
    assert checks.real_number(-Fraction(10**400), "x") == -math.inf
    assert math.isnan(checks.real_number(float("nan"), "x"))
    with pytest.raises(ValueError, match=r"x must be finite, got inf at position \(1,\)"):
        checks.finite_array([1, 10**400], "x", 1)


@settings(deadline=None)
@given(st.floats(min_value=1e-300, max_value=1e300) | st.fractions(min_value=Fraction(1, 10**9)))
def test_exact_numbers_keep_every_digit(number):
    assert checks.exact_number(number, "scale", floats=True) == Fraction(number)
    if isinstance(number, float):
        with pytest.raises(ValueError, match=r"an int or a Fraction here, got .*; Fraction\(scale\) takes a float"):
            checks.exact_number(number, "scale", floats=False)
    for bad in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="scale must be positive and finite, got"):
            checks.exact_number(bad, "scale", floats=True)


@pytest.mark.parametrize("value", [0, 1, "True", None, np.array(True), torch.tensor(True)])
def test_only_true_and_false_are_flags(value):
    with pytest.raises(ValueError, match="log must be True or False, got"):
        checks.flag(value, "log")
    assert checks.flag(np.True_, "log") is True


def test_texts_are_plain_and_paths_are_what_a_file_system_takes():
    assert type(checks.text_of(np.str_("rnn"), "model")) is str
    for value in (b"rnn", 3, None, ["rnn"]):
        with pytest.raises(ValueError, match="model must be a name, got"):
            checks.text_of(value, "model", "a name")
    assert checks.path_of("a/b", "directory") == checks.path_of(Path("a/b"), "directory") == Path("a/b")
    for value in ("", "a\x00b", "\ud800", b"a", 0, None, ["a"]):
        with pytest.raises(ValueError, match=r"directory must be a path, text or a pathlib\.Path, got"):
            checks.path_of(value, "directory")


def test_logarithms_are_numbers_or_those_of_zero():
    assert checks.log_array([[0, -np.inf]], "log_energies", 2).tolist() == [[0.0, -np.inf]]
    for odd in (np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"log_energies must be numbers or -inf, got {odd} at position \(1,\)"):
            checks.log_array([0.5, odd], "log_energies", 1)


def test_ranges():
    assert checks.between(np.float32(0.5), "scale", 0.5, 2.0) == 0.5
    assert checks.array_between([[2, 0]], "scale", 0.5, 2.0, or_zero=True).tolist() == [[2.0, 0.0]]
    assert checks.probabilities([1e-12, 0.5], "p").tolist() == [1e-12, 0.5]
    for value in (0.499, 2.001, np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=r"scale must lie between 0\.5 and 2, got .*\. Take less\."):
            checks.between(value, "scale", 0.5, 2.0, "Take less.")
    for value in (0.499, 2.001, 0.0, -0.0):
        with pytest.raises(ValueError, match=rf"scale must lie between 0\.5 and 2, got {value}"):
            checks.array_between([1.0, value], "scale", 0.5, 2.0)
    with pytest.raises(ValueError, match=r"scale must be 0 or lie between 0\.5 and 2, got 0\.1"):
        checks.array_between([0.0, 0.1], "scale", 0.5, 2.0, or_zero=True)
    for value in (0.0, 1.0, 1.0 - 1e-13, -0.5):
        with pytest.raises(ValueError, match=f"p must lie strictly between 0 and 1, got {value}"):
            checks.probabilities([0.5, value], "p")


def test_shapes_that_have_none_in_common():
    one, two, three = np.ones((2, 1)), np.ones(3), np.ones((4, 2))
    assert [array.shape for array in checks.broadcast({"n": one, "k": two})] == [(2, 3), (2, 3)]
    with pytest.raises(ValueError, match=r"^n, k and s must broadcast, got shapes \(2, 1\), \(3,\) and \(4, 2\)\.$"):
        checks.broadcast({"n": one, "k": two, "s": three})


def test_pairs_lists_and_functions():
    assert checks.pair_of(np.array([1, 2]), "range") == (1, 2)
    assert checks.listed(iter("ab"), "words", "words") == ["a", "b"]
    assert checks.function_or_none(None, "progress") is None
    for value in (1, (1,), (1, 2, 3), None):
        with pytest.raises(ValueError, match="range must be two numbers, got"):
            checks.pair_of(value, "range")
    for value in ("ab", b"ab", 3, None, np.ma.array([1], mask=True), np.array(1)):
        with pytest.raises(ValueError, match="words must be a list of words, got"):
            checks.listed(value, "words", "words")
    with pytest.raises(ValueError, match="progress must be a function or None, got 3"):
        checks.function_or_none(3, "progress")


@settings(deadline=None)
@given(npst.arrays(st.sampled_from([np.float16, np.float32, np.float64, np.int16, np.complex64]), (2, 3),
                   elements=st.integers(0, 100)))  # fmt: skip
def test_arrays_keep_their_values(array):
    wanted = np.complex128 if array.dtype.kind == "c" else np.float64
    for same in (array, array.tolist(), np.asfortranarray(array), array.astype(object), torch.tensor(array)):
        found = checks.finite_array(same, "A", 2)
        assert found.dtype == wanted
        assert np.array_equal(found, array)
    if wanted is np.complex128:
        with pytest.raises(ValueError, match="A must be real, got complex numbers"):
            checks.real_array(array, "A", 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0], r"A must have 2 axes and at least one entry, got shape \(1,\)"),
        (np.zeros((0, 2)), r"A must have 2 axes and at least one entry, got shape \(0, 2\)"),
        ([[1.0, math.nan]], r"A must be finite, got nan at position \(0, 1\)"),
        ([["a", "b"]], "A must hold numbers, got .* of type <U1"),
        ([[True, False]], "A must hold numbers, got .* of type bool"),
        ([[1.0], [2.0, 3.0]], "A must be an array of numbers, got"),
        (b"12", "A must be an array of numbers, got"),
        (np.ma.array(np.eye(2), mask=[[0, 1], [0, 0]]), "A has masked entries, got .*; fill them with numbers first"),
        ([np.ma.masked, 1.0], "A has masked entries"),
        (np.array([[1, None]]), "A must be a real number, got None"),
    ],
)
def test_no_arrays(value, message):
    with pytest.raises(ValueError, match=message):
        checks.finite_array(value, "A", 2)


def test_square_matrices():
    assert checks.square_matrix([[1, 2], [3, 4]], "A").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match=r"^A must be square, or a vector, got shape \(1, 2\)\.$"):
        checks.square_matrix([[1, 2]], "A", ", or a vector")
    with pytest.raises(ValueError, match=r"^A must have 2 axes and at least one entry, got shape \(2,\)\.$"):
        checks.square_matrix([1, 2], "A")


@pytest.mark.parametrize("value", [[True, 2], (0.5, False), [[1, 2], [3, True]], [np.True_, 1.0]])
def test_a_truth_value_among_numbers_is_no_number(value):
    for check in (lambda: checks.finite_array(value, "A", None), lambda: checks.whole_numbers(value, "A", 0)):
        with pytest.raises(ValueError, match="A must hold numbers, not truth values, got"):
            check()


def test_what_a_message_shows():
    assert checks.shown("a\nb") == "'a\\nb'"
    assert checks.shown(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    assert checks.shown(10**50) == "1e50 or so"
    assert checks.shown(-(10**50)) == "-1e50 or so"
    assert checks.shown([10**5000]) == "a list of thousands of digits"
    assert checks.shown(torch.ones(2, 3)) == "a Tensor of shape (2, 3)"
    assert len(checks.shown("x" * 500)) == 80


@settings(deadline=None)
@given(anything)
def test_what_a_message_shows_is_short_and_on_one_line(value):
    assert len(checks.shown(value)) <= 80
    assert "\n" not in checks.shown(value)


def test_scalars():
    for value in (np.float32(0.5), np.array(0.5), torch.tensor(0.5)):
        assert checks.scalar(value) == 0.5
        assert type(checks.scalar(value)) is float
    for value in ("text", np.array([0.5]), np.ma.masked, None):
        assert checks.scalar(value) is value


def test_ranges_and_shapes_are_refused_here_alone():
    elsewhere = {
        path.name
        for path in Path(checks.__file__).parent.parent.rglob("*.py")
        if path.parent.name != "_checks" and re.search("must (lie between|broadcast)", path.read_text(encoding="utf-8"))
    }
    assert not elsewhere
