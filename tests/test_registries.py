"""What is registered is there everywhere: in Python, on the command line, in the advice and among what can be cited."""

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import signalprop
from signalprop import advise, citations, depth_budget, safe_scale
from signalprop._registry import Registry
from signalprop._topics import Topic
from signalprop.activations import SampledActivation
from signalprop.cli import app
from signalprop.criteria import Criterion
from signalprop.fields import Field
from signalprop.initialization import CRITERIA, Found, ScaleCriterion
from signalprop.initialization._entries import EntryScale
from signalprop.methods import Method
from signalprop.recurrences import KINDS, Built, Kind, LinearRecurrence, Parameter, report
from signalprop.recurrences.catalogue import parameters
from signalprop.tasks import MAKERS, TASKS, TaskEntry, copy_memory, make
from signalprop.verify import all_checks
from signalprop.verify.check import Check

PACKAGE = Path(signalprop.__file__).parent
HALF = ScaleCriterion(
    solve=lambda asked: Found(math.log(0.5 / asked.tolerance), "definition"),
    guarantee="half of what Glorot has",
    promise=lambda found: f"half over {found.tolerance:g}, and no more than that",
    how_sure=lambda found: "by definition",
    cites=Topic("half a scale", ("glorot2010", "mezzadri2007")),
    options=("tolerance",),
    reach=lambda field, model: 300,
    beyond="Half is for short horizons.",
    check=lambda field, thorough: Check("half is half", field, "", 0.0, lambda: 0.0),
)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})


@pytest.fixture
def half():
    with CRITERIA.with_record("half", HALF):
        yield
    assert "half" not in CRITERIA


# Registries as such.


def test_names_are_refused_in_a_sentence():
    colours = Registry("colour", str, {"red": "#f00"})
    for name in ("Red", "", "dark red", "-red", 3, None):
        with pytest.raises(
            ValueError, match=r"the name of a colour must be lower-case letters, digits, '-' and '_', got "
        ):
            colours.register(name, "#a00")
    with pytest.raises(ValueError, match="the colour 'red' is already registered"):
        colours.register("red", "#a00")
    with pytest.raises(ValueError, match="the record of a colour must be a str, got 7"):
        colours.register("seven", 7)
    for name in ("blue", None, 3, ["red"], "Red"):
        with pytest.raises(ValueError, match=r"^colour must be one of 'red', got "):
            colours.find(name)


def test_a_record_of_a_context_is_gone_after_an_error():
    colours = Registry("colour", str)
    with pytest.raises(RuntimeError), colours.with_record("red", "#f00"):
        raise RuntimeError
    assert list(colours) == []


# Criteria.


@pytest.mark.usefixtures("half")
def test_a_criterion_in_python():
    found = safe_scale(64, 9, criterion="half", tolerance=2.0)
    assert found.scale == pytest.approx(0.25)
    assert (found.source, found.interval, found.how_sure) == ("definition", (found.scale, found.scale), "by definition")
    assert found.promise == "half over 2, and no more than that"
    assert EntryScale(9, None, {"criterion": "half", "tolerance": 1.0}).std((64, 64), "float32") == pytest.approx(
        0.0625
    )
    with pytest.raises(ValueError, match="'glorot' or 'half', got 'third'"):
        safe_scale(64, 9, criterion="third")
    with pytest.raises(ValueError, match="bound belongs to criterion='quantile'; criterion='half' does not read it"):
        safe_scale(64, 9, criterion="half", bound=3.0)
    with pytest.raises(ValueError, match="tolerance belongs to criterion='bounded' or 'half'; criterion='edge'"):
        safe_scale(64, 9, criterion="edge", tolerance=3.0)
    with pytest.raises(ValueError, match=r"horizon must be at most 300, got 301\. Half is for short horizons\."):
        safe_scale(64, 301, criterion="half")


@pytest.mark.usefixtures("half")
def test_a_criterion_on_the_command_line():
    answer = run("scale", "-n", 64, "-T", 9, "--criterion", "half", "--tolerance", 1)
    assert answer.exit_code == 0, answer.output
    assert "By half: g = 0.5 times Glorot" in answer.stdout
    assert "half over 1, and no more than that." in answer.stdout
    assert "signalprop cite scale --criterion half" in answer.stdout
    refused = run("scale", "-n", 64, "-T", 9, "--criterion", "third")
    assert refused.exit_code == 2
    assert "'third' is not one of 'quantile', 'bounded', 'minimax', 'edge', 'glorot', 'half'." in refused.stderr


@pytest.mark.usefixtures("half")
def test_a_criterion_in_the_advice():
    advice = advise(64, 9)
    assert list(advice.scales) == ["glorot", "quantile", "bounded", "minimax", "edge", "half"]
    assert "half of what Glorot has" in str(advice)
    assert set(advice.as_dict()["scales"]) == set(advice.scales)
    assert "half" not in advise(64, 301).scales  # beyond its reach


@pytest.mark.usefixtures("half")
def test_a_criterion_is_cited_and_verified():
    wanted = {"signalprop", "glorot2010", "mezzadri2007"}
    assert set(citations.references("half")) == wanted
    assert wanted <= set(citations.references("safe_scale", criterion="half"))
    assert {one["key"] for one in json.loads(run("cite", "half", "--json").stdout)["references"]} == wanted
    assert "mezzadri2007," in run("cite", "scale", "--criterion", "half").stdout
    assert "half a scale: glorot2010, mezzadri2007" in run("cite", "--list").stdout
    assert [check.grid for check in all_checks() if check.name == "half is half"] == [field.value for field in Field]


def test_what_is_not_registered_any_more_is_nowhere():
    assert run("scale", "-n", 64, "-T", 9, "--criterion", "half").exit_code == 2
    with pytest.raises(ValueError, match="a topic must be one of"):
        citations.cite("half")
    with pytest.raises(ValueError, match="criterion must be one of"):
        safe_scale(64, 9, criterion="half")


def test_the_members_are_criteria_that_come_with_the_package():
    assert [member.value for member in Criterion] == list(CRITERIA)
    for member in Criterion:
        assert member.options == CRITERIA[member].options
        assert safe_scale(9, 3, criterion=member).criterion == member


# Tasks and layers.


def toy_task(blanks: int = 4, train: int = 16) -> signalprop.tasks.Task:
    return copy_memory(blanks, length=2, symbols=3, train=train, validation=4, test=4)


TOY_TASK = TaskEntry(toy_task, "a toy", Topic("a toy to learn", ("arjovsky2016",)), {"train": 12})
SMALL = {"d_model": 4, "d_state": 4, "heads": 2, "depth": 1, "batch": 4, "steps": 2, "held_out": 4, "log_every": 1}


@pytest.fixture
def toy():
    with TASKS.with_record("toy", TOY_TASK):
        yield


@pytest.mark.usefixtures("toy")
def test_a_task_in_python(tmp_path):
    training = pytest.importorskip("signalprop.training")
    assert np.array_equal(make("toy", blanks=5).train.inputs, toy_task(5).train.inputs)
    assert MAKERS["toy"] is toy_task
    settings = training.Settings(task="toy", options={"blanks": 3}, **SMALL)
    assert settings.task_options() == {"train": 12, "blanks": 3}
    done = training.train(settings, directory=tmp_path)
    assert len(done.task.train) == 12
    assert math.isfinite(done.loss)
    with pytest.raises(ValueError, match="'arrays' or 'toy', got 'game'"):
        make("game")
    with pytest.raises(ValueError, match="'arrays' or 'toy', got 'game'"):
        training.Settings(task="game")
    with pytest.raises(ValueError, match=r"task toy has no 'blank' \(did you mean 'blanks'\?\)"):
        make("toy", blank=3)


@pytest.mark.usefixtures("toy")
def test_a_task_on_the_command_line(tmp_path):
    pytest.importorskip("torch")
    small = ("--width", 4, "--state", 4, "--heads", 2, "--steps", 2, "--batch", 4, "--directory", tmp_path)
    answer = run("train", "--task", "toy", "--set", "blanks=3", *small, "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["settings"]["options"] == {"blanks": 3}
    assert "'adding', 'arrays', 'toy'." in run("train", "--task", "game").stderr
    assert "'adding', 'arrays'." in run("cite", "train", "--task", "game").stderr.replace(", 'toy'", "")
    assert "% a toy to learn" in run("cite", "train", "--task", "toy").stdout
    assert "arjovsky2016" in citations.references("train", task="toy")


def test_a_layer(tmp_path):
    training = pytest.importorskip("signalprop.training")
    from signalprop.nn import LRU

    class Slow(LRU):
        pass

    entry = training.LayerEntry(Slow, "a slow LRU", Topic("a slow layer", ("orvieto2023",)), {"r_min": "r_min"})
    options = {"task": "copy", "options": {"blanks": 3, "train": 16, "validation": 4, "test": 4}}
    with training.LAYERS.with_record("slow", entry):
        settings = training.Settings(layer="slow", r_min=0.9, **options, **{**SMALL, "heads": 8})
        layer = training.build_model(settings, make("copy", **options["options"])).blocks[0].recurrence
        assert type(layer) is Slow
        assert layer.r_min == 0.9
        assert math.isfinite(training.train(settings, directory=tmp_path / "python").loss)
        with pytest.raises(ValueError, match="heads is a setting of rotrnn, not of layer='slow'"):
            training.Settings(layer="slow", heads=2)
        small = ("--width", 4, "--state", 4, "--steps", 2, "--batch", 4, "--directory", tmp_path / "shell")
        sizes = [word for name, size in options["options"].items() for word in ("--set", f"{name}={size}")]
        answer = run("train", "--layer", "slow", "--task", "copy", *sizes, *small)
        assert answer.exit_code == 0, answer.output
        assert answer.stdout.startswith("slow, ")
        assert "'rotrnn', 'lru', 'dense', 'slow'." in run("train", "--layer", "quick").stderr
        assert "% a slow layer" in run("cite", "train", "--layer", "slow").stdout
    with pytest.raises(ValueError, match="layer must be one of 'rotrnn', 'lru' or 'dense', got 'slow'"):
        training.Settings(layer="slow")


# Recurrences.


def leaky(states, given, seed):
    leak = given.get("leak", 0.1)
    layer = LinearRecurrence(np.full(states, 1.0 - leak), np.full((states, given.get("input_size", 1)), leak))
    return Built(f"{states} leaky integrators, leak {leak:g}", layer)


LEAK = Parameter("leak", float, "what is lost per step.")
LEAKY = Kind("leaky integrators", leaky, (KINDS["lru"].parameters[0], LEAK), Topic("a leaky toy", ("arjovsky2016",)))


@pytest.fixture
def leaking():
    with KINDS.with_record("leaky", LEAKY):
        yield
    assert "leaky" not in KINDS


@pytest.mark.usefixtures("leaking")
def test_a_recurrence_in_python():
    found = report("leaky", 4, 30, leak=0.5)
    assert found.stationary == pytest.approx(4 * 0.25 / 0.75)
    assert found.about == "4 leaky integrators, leak 0.5, seed 0"
    with pytest.raises(ValueError, match="leak has no meaning for lru; it belongs to leaky"):
        report("lru", leak=0.5)
    with pytest.raises(ValueError, match="'orthogonal' or 'leaky', got 'drip'"):
        report("drip")


@pytest.mark.usefixtures("leaking")
def test_a_recurrence_on_the_command_line():
    answer = run("recurrence", "leaky", "-n", 4, "-T", 30, "--leak", 0.5, "-d", 2, "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout) == report("leaky", 4, 30, leak=0.5, input_size=2).as_dict()
    page = " ".join(run("recurrence", "--help").stdout.split())
    assert "leaky: leaky integrators." in page
    assert "leaky: what is lost per step." in page
    assert "rotrnn, lru, s4d-lin, s5, leaky: number of inputs" in page
    assert "--leak has no meaning for lru; it belongs to leaky." in run("recurrence", "lru", "--leak", 0.5).stderr
    assert "'orthogonal', 'leaky'." in run("recurrence", "drip").stderr


@pytest.mark.usefixtures("leaking")
def test_a_recurrence_is_cited_and_verified():
    assert "arjovsky2016" in citations.references("recurrence", kind="leaky")
    assert "% a leaky toy" in run("cite", "recurrence", "leaky").stdout
    assert citations.references("leaky") == ("signalprop", "arjovsky2016")
    (check,) = [check for check in all_checks() if check.name.startswith("every kind")]
    assert check.deviation() < check.allowed
    wrong = Kind("wrong", lambda *given: leaky(*given)._replace(layer=Wrong([0.5], [[1.0]])), (), "leaky")
    with KINDS.with_record("wrong", wrong):
        assert check.deviation() > check.allowed


class Wrong(LinearRecurrence):
    def energy(self, *given, **named):
        return 1.01 * super().energy(*given, **named)


def test_a_recurrence_that_is_gone_is_nowhere():
    assert "leak" not in run("recurrence", "--help").stdout
    assert run("recurrence", "leaky").exit_code == 2
    with pytest.raises(ValueError, match="a topic must be one of"):
        citations.cite("leaky")


def test_parameters_that_would_be_mistaken_for_others_are_refused():
    with pytest.raises(ValueError, match="a parameter of a kind must not be called 'seed', which every report has"):
        Kind("seeded", leaky, (Parameter("seed", int, "another seed."),), "leaky")
    other = Kind("other", leaky, (Parameter("gamma", int, "something else."),), "lru")
    with (
        KINDS.with_record("other", other),
        pytest.raises(ValueError, match="the parameter gamma of other is another one"),
    ):
        parameters()


def test_topics_of_one_name_stay_apart():
    """A task may be called as a method is: each keeps what is to be cited for it."""
    entry = TaskEntry(toy_task, "a toy", Topic("a dense toy", ("arjovsky2016",)))
    with TASKS.with_record("dense", entry):
        assert citations.references("dense") == ("signalprop", "ginibre1965", "hill1975", "vehtari2024")
        assert citations.CHOICES["task"]["dense"] == "task_dense"
        assert "arjovsky2016" in citations.references("train", task="dense")


def test_what_cannot_be_cited_is_said():
    with TASKS.with_record("toy", TaskEntry(toy_task, "a toy", "nothing")):
        with pytest.raises(
            ValueError, match="task='toy' was registered to be cited as 'nothing', which is not a topic"
        ):
            citations.cite("train", task="toy")
        assert citations.references("train", task="copy")
    unknown = TaskEntry(toy_task, "a toy", Topic("a toy", ("nobody1900",)))
    with (
        TASKS.with_record("toy", unknown),
        pytest.raises(ValueError, match=r"key must be one of .*, got 'nobody1900'"),
    ):
        citations.cite("toy")


# One list of each.

VOCABULARIES = {
    "fields.py": {field.value for field in Field},
    "methods.py": {method.value for method in Method},
    "activations.py": {activation.value for activation in SampledActivation},
    "initialization/criteria/__init__.py": set(CRITERIA),
    "_catalogue.py": set(TASKS),
    "recurrences/catalogue.py": set(KINDS),
}


def written_out(source):
    """The texts of each tuple, list, set and dict of texts."""
    for node in ast.walk(ast.parse(source)):
        elements = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        found = {one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        if found:
            yield found


@pytest.mark.parametrize("home", VOCABULARIES)
def test_a_vocabulary_is_written_out_once(home):
    others = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).as_posix() != home]
    twice = [
        path.relative_to(PACKAGE).as_posix()
        for path in others
        if any(VOCABULARIES[home] == found for found in written_out(path.read_text(encoding="utf-8")))
    ]
    assert not twice
    assert list(written_out("x = {'real': 1, 'complex': (3, 'a')}")) == [{"real", "complex"}, {"a"}]


def test_options_of_a_budget_name_its_senses():
    with pytest.raises(ValueError, match="bound belongs to criterion='draw'; criterion='mean' does not read it"):
        depth_budget(64, bound=3.0)
