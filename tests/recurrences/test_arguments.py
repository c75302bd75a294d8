"""Every public function of `recurrences`, every parameter, every kind of odd value: a finite answer or one sentence.

The list of functions and parameters is read from the module, so that a new one without a good call below fails.
"""

import inspect
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from signalprop import recurrences
from signalprop.recurrences import LRU, Dense, Diagonal, LinearRecurrence, Rotations, RotRNN, ScaledUnitary, Triangular

EYE = np.eye(2)
RESULTS = {"Average", "Report", "SampledEnergies"}  # made by functions, never by a user
RECORDS = {"KINDS", "Built", "Kind", "Parameter"}  # of the catalogue; tests/test_registries.py has them

# One good call each; parameters left out have good defaults.
CALLS = {
    "LRU": {"log_modulus": [-0.1, -0.2], "phase": [0.1, 0.2], "B": [[1.0], [2.0]]},
    "LinearRecurrence": {"A": [[0.5, 0.1], [0.2, 0.4]], "B": EYE},
    "RotRNN": {"angles": [[0.3]], "B": [[[1.0], [0.5]]], "gamma": 0.9},
    "Dense": {"matrix": [[0.5, 0.1], [0.2, 0.4]]},
    "Diagonal": {"log_modulus": [-0.1, -0.2], "phase": [0.1, 0.2]},
    "Rotations": {"log_gamma": [-0.1], "angles": [[0.3]], "head_size": 2},
    "ScaledUnitary": {"unitary": EYE, "log_gamma": -0.1},
    "Triangular": {"matrix": [[0.5, 0.0], [0.2, 0.4]]},
    "drawn_average": {"draw": lambda seed: recurrences.lru(2, 2, seed=seed), "horizon": 3, "draws": 2},
    "gaussian": {"n": 3, "field": "real"},
    "hippo_legs": {"n": 3},
    "hippo_normal": {"n": 3},
    "hippo_normal_modes": {"n": 4},
    "lru": {"state_size": 4, "input_size": 2},
    "lru_average": {"horizon": 4},
    "lru_average_limit": {"r_min": 0.5, "r_max": 0.9},
    "orthogonal": {"n": 3},
    "poisson_kernel": {"r": 0.5, "theta": 0.3},
    "poisson_mean": {"r": 0.5, "max_phase": 0.3},
    "report": {"kind": "gaussian", "state_size": 3, "horizon": 4},
    "report_on": {"recurrence": LinearRecurrence([[0.5, 0.1], [0.2, 0.4]], EYE), "horizon": 4},
    "rotrnn": {"state_size": 4, "input_size": 2},
    "rotrnn_average": {"horizon": 4},
    "s4": {"state_size": 4},
    "s4d_lin": {"state_size": 4},
    "s5": {"state_size": 4, "input_size": 2},
    "state_space_average": {"kind": "s4", "state_size": 4, "horizon": 4, "nodes": 4},
}
OBJECTS = {
    LinearRecurrence: lambda: LinearRecurrence([[0.5, 0.1], [0.2, 0.4]], EYE, C=EYE, heads=2),
    LRU: lambda: recurrences.lru(2, 2, r_max=0.9, output_size=2),
    RotRNN: lambda: recurrences.rotrnn(4, 2, heads=2, output_size=2),
    Dense: lambda: Dense([[0.5, 0.1], [0.2, 0.4]]),
    Diagonal: lambda: Diagonal([-0.1, -0.2], [0.1, 0.2]),
    Rotations: lambda: Rotations([-0.1], [[0.3]], 2),
    ScaledUnitary: lambda: ScaledUnitary(EYE, -0.1),
    Triangular: lambda: Triangular([[0.5, 0.0], [0.2, 0.4]]),
}
METHOD_CALLS = {
    "energy": {"horizon": 4}, "energy_by_head": {"horizon": 4}, "energy_variance": {"horizon": 4},
    "covariance_path": {"horizon": 4}, "stationary_energy": {}, "stationary_by_head": {}, "forward_energy": {"horizon": 4},
    "gradient_energy": {"horizon": 4}, "run": {"inputs": np.ones((3, 2))}, "outputs": {"inputs": np.ones((3, 2))},
    "sample": {"horizon": 3, "samples": 4}, "to_lru": {}, "to_rotrnn": {}, "adjoint": {}, "power": {"k": 3}, "dense": {},
    "radius": {}, "spectral_radius": {}, "from_values": {"values": [0.5, 0.25]},
}  # fmt: skip
INTERNAL = {"apply", "to_modes"}  # kernels of the operators: they take arrays and check nothing

ODD = [
    float("nan"), float("inf"), -float("inf"),
    -1, -0.5, 0, 0.0, 1, 2, 3, 0.5, 1.5, 10**30, -(10**30), 1e300, -1e300, 1e-320,
    1e-200, True, False, 1 + 1j, np.complex128(1j), "x", "", "0.5", "real", b"1", None, object(), {}, lambda *_: 0,
    Fraction(1, 2), Decimal("0.5"), np.float16(0.5), np.float32(0.5), np.longdouble(0.5), np.int8(3), np.uint8(200),
    np.bool_(True), np.array([]), np.zeros((0, 2)), np.array(0.5), np.array(True), np.ma.masked, (0.1, 0.5), (0.5, 0.1), [],
    np.ma.array([0.5, 0.5], mask=[False, True]), np.ma.array(EYE, mask=[[0, 1], [0, 0]]), np.ma.array(EYE, mask=False),
    np.array([0.5, 0.25], np.float16), EYE.astype(np.float16), 1e200 * EYE, 1e-200 * EYE, 1j * EYE, EYE.astype(bool),
    EYE.astype(str), EYE.astype(object), EYE.astype(int), np.array([1.0, np.nan]), np.full((2, 2), np.inf), [1.0, [2.0]],
    [[1.0, 2.0], [3.0]], np.ones((2, 2, 2)), np.ones((1, 2, 2)), np.full((1, 2, 1), 1e200), np.zeros((2, 2)),
    np.datetime64("2020"),
]  # fmt: skip


def parameters_of(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.name != "self"]


def cases():
    for name in recurrences.__all__:
        if name not in RESULTS | RECORDS:
            yield name, None, getattr(recurrences, name), CALLS[name]
    for kind, make in OBJECTS.items():
        for name, method in inspect.getmembers(kind, callable):
            if not name.startswith("_") and name not in INTERNAL:
                yield f"{kind.__name__}.{name}", make, method, METHOD_CALLS[name]


CASES = list(cases())


def test_every_public_name_has_a_good_call():
    assert set(CALLS) | RESULTS | RECORDS == set(recurrences.__all__)
    methods = {name.split(".")[1] for name, make, *_ in CASES if make is not None}
    assert methods == set(METHOD_CALLS)
    for _, make, function, good in CASES:
        assert_finite(call(make, function, good))


def call(make, function, arguments):
    bound = function if make is None or not inspect.isfunction(function) else function.__get__(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return bound(**arguments)


def assert_finite(found):
    """All numbers of an answer, of what it is made of, and of what it gives on."""
    if isinstance(found, LinearRecurrence):
        for each in (found.A, found.B, found.C, found.first):
            assert_finite(each)
    elif isinstance(found, (Dense, Diagonal, Rotations)):
        assert_finite([each for each in vars(found).values() if each is not None])
    elif isinstance(found, recurrences.SampledEnergies):
        assert_finite([found.energies, found.exact, found.stderr, found.z])
    elif isinstance(found, recurrences.Report):
        assert_finite(found.energy)
    elif isinstance(found, recurrences.LinearRecurrence | type(None) | str):
        pass
    elif type(found).__name__ == "Radius":
        assert not np.isnan(found).any()  # a radius of zero has the logarithm -inf
    elif isinstance(found, (list, tuple)):
        for each in found:
            assert_finite(each)
    else:
        assert np.isfinite(found).all()


@pytest.mark.parametrize(("name", "make", "function", "good"), CASES, ids=[case[0] for case in CASES])
def test_an_odd_value_gives_a_finite_answer_or_one_sentence(name, make, function, good):
    for parameter in parameters_of(function):
        flag = inspect.signature(function).parameters[parameter].annotation == "bool"
        for value in ODD:
            shown = f"{name}({parameter}={value!r})"
            try:
                found = call(make, function, {**good, parameter: value})
                if isinstance(found, recurrences.SampledEnergies):
                    found = [found.energies, found.exact, found.stderr, found.z]
            except (ValueError, OverflowError) as error:
                text = str(error)
                assert text.endswith("."), (shown, text)
                assert "\n" not in text, (shown, text)
                assert 20 < len(text) < 400, (shown, text)
                continue
            except BaseException as error:
                pytest.fail(f"{shown} raises {type(error).__name__}: {error}")
            assert flag or not isinstance(value, (bool, np.bool_)), f"{shown} takes a truth value for a number"
            try:
                assert_finite(found)
            except AssertionError:
                pytest.fail(f"{shown} is not finite")


@pytest.mark.parametrize(("name", "make", "function", "good"), CASES, ids=[case[0] for case in CASES])
def test_numpy_scalars_and_half_precision_are_the_numbers_they_show(name, make, function, good):
    """float16 and int8 in place of float and int: the same answer to the last bit, no overflow in between."""
    for parameter in parameters_of(function):
        for value, same in ((np.float16(0.5), 0.5), (np.float32(0.25), 0.25), (np.int8(4), 4)):
            answers = []
            for one in (value, same):
                try:
                    answers.append(numbers(call(make, function, {**good, parameter: one})))
                except (ValueError, OverflowError) as error:
                    answers.append(str(error).split("got")[0])
            assert answers[0] == answers[1], f"{name}({parameter}={value!r})"


def numbers(found):
    """An answer as bytes."""
    if isinstance(found, LinearRecurrence):
        return [numbers(found.A), numbers(found.B), numbers(found.C)]
    if isinstance(found, (Dense, Diagonal, Rotations)):
        return [numbers(each) for each in vars(found).values()]
    if isinstance(found, recurrences.SampledEnergies):
        return numbers(found.energies)
    if isinstance(found, recurrences.Report):
        return numbers(found.energy)
    if isinstance(found, (list, tuple)):
        return [numbers(each) for each in found]
    return None if found is None else np.asarray(found).tobytes()
