import inspect
import pkgutil
from importlib import import_module

import numpy as np
import pytest

import signalprop
from signalprop.fields import Field, as_field, by_field
from signalprop.ginibre import tempered
from signalprop.ginibre.dense import Layer
from signalprop.initialization.make_table import DrawSet

# Every entry point is called with those of them that it has no default for, and with the small sizes in any case.
ARGUMENTS = {
    "n": 10, "k": 4, "t": 4, "c": 1.0, "words": ["GG*"], "horizon": 4, "samples": 200, "seed": 0, "order": 2, "count": 2,
    "particles": 16, "repetitions": 2, "model": "rnn", "probability": 0.5, "method": "krylov", "index": 1, "draws": 200,
    "reach": 4, "purpose": "test", "input_std": 0.5, "log_bound": 1.0,
    "progress": None, "scales": (1.0,), "scale": 1.5, "activation": "tanh",
    "cell": "linear", "level": 0.5, "chosen": DrawSet(draws=200, reach=20, seed=0), "criterion": "draw", "tied": True,
    "rng": np.random.Generator(np.random.Philox(0)), "layer": Layer(),
}  # fmt: skip
SMALL = ("samples", "particles", "repetitions", "draws", "input_std")
SAME_FOR_ALL = {"signalprop.initialization.criteria.record.everywhere"}
FOR_CELLS = {  # `input_std` belongs to cells that are not linear
    "signalprop.initialization.advice.advise",
    "signalprop.initialization.scale.safe_scale",
}
HELD_BY_ONE_SIGNAL = {"signalprop.initialization.budget.depth_budget"}  # `samples` belongs to criterion="draw"


def test_each_field_is_its_own_name():
    assert [as_field(name) for name in ("real", "complex", "quaternion")] == [
        Field.REAL,
        Field.COMPLEX,
        Field.QUATERNION,
    ]
    assert [field.beta for field in Field] == [1, 2, 4]


@pytest.mark.parametrize("bad", ["quaternions", "", None, 2, "Real"])
def test_unknown_field_lists_the_choices(bad):
    with pytest.raises(ValueError, match=r"field must be one of 'real', 'complex' or 'quaternion', got "):
        as_field(bad)


def entry_points():
    """Every public function of the package with a parameter `field`, found by looking."""
    found = {}
    for module in pkgutil.walk_packages(signalprop.__path__, "signalprop."):
        parts = module.name.split(".")[1:]
        if (
            any(part.startswith("_") for part in parts)
            or parts[0] in ("figures", "verify", "cli")
            or "_picture" in parts[-1]
        ):
            continue
        home = import_module(module.name)
        for name, one in vars(home).items():
            if name.startswith("_") or not inspect.isfunction(one) or one.__module__ != module.name:
                continue
            if one not in (by_field, as_field, tempered.repetition) and "field" in inspect.signature(one).parameters:
                found[f"{module.name}.{name}"] = one
    return found


ENTRY_POINTS = entry_points()


@pytest.fixture
def octonion(monkeypatch):
    """A fourth field that nobody has an answer for yet."""
    member = str.__new__(Field, "octonion")
    member._name_, member._value_ = "OCTONION", "octonion"
    monkeypatch.setitem(Field._member_map_, "OCTONION", member)
    monkeypatch.setitem(Field._value2member_map_, "octonion", member)
    monkeypatch.setattr(Field, "_member_names_", [*Field._member_names_, "OCTONION"])
    assert as_field("octonion") is member
    assert list(Field)[-1] is member
    return member


@pytest.mark.parametrize("name", sorted(set(ENTRY_POINTS) - SAME_FOR_ALL))
def test_a_new_field_has_no_answer_of_another(name, octonion):
    function = ENTRY_POINTS[name]
    given = {
        parameter.name: ARGUMENTS[parameter.name]
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name in ARGUMENTS and (parameter.default is inspect.Parameter.empty or parameter.name in SMALL)
    }
    if name in FOR_CELLS:
        del given["input_std"]
    if name in HELD_BY_ONE_SIGNAL:
        given["criterion"] = ARGUMENTS["criterion"]
    function(**given, field=Field.REAL)
    with pytest.raises((AssertionError, ValueError, KeyError)):
        function(**given, field=octonion)


def test_most_entry_points_are_tried():
    assert len(ENTRY_POINTS) > 25, sorted(ENTRY_POINTS)
