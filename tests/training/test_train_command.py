import dataclasses
import json
import math
import tomllib
import typing
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from signalprop._declared import hints, required
from signalprop._numbers import show
from signalprop.cli import app
from signalprop.cli._completion import configuration_names
from signalprop.tasks import MAKERS, TASKS, load_arrays, make
from signalprop.training import Settings, configurations

SMALL_TASK = [
    "--set",
    "train=64",
    "--set",
    "validation=16",
    "--set",
    "test=16",
    "--set",
    "min_length=5",
    "--set",
    "max_length=20",
]
SMALL = ["train", *SMALL_TASK, "--width", "8", "--state", "8", "--heads", "2", "--steps", "4", "--log-every", "2"]
runner = CliRunner()


def test_trains_and_reports(tmp_path):
    result = runner.invoke(app, [*SMALL, "--directory", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["step"] == 4
    assert set(answer["energies"]) == {"1", "2"}
    assert answer["energies"]["1"]["ratio"] >= 1.0
    assert result.stderr == ""
    about = json.loads((tmp_path / "settings.json").read_text())
    assert about["settings"] == answer["settings"]
    again = runner.invoke(app, [*SMALL, "--directory", str(tmp_path), "--resume"])
    assert again.exit_code == 0, again.output
    assert "largest over smallest in the training" in again.stdout
    assert f"test loss      {answer['loss']:.6g} " in again.stdout


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_your_own_arrays_from_the_command_line(tmp_path, kind):
    rng = np.random.default_rng(1)
    inputs = rng.integers(0, 6, size=(40, 9)).astype(np.uint8)
    arrays = {
        "train_inputs": inputs[:32], "train_targets": inputs[:32, 0] % 2, "train_lengths": 1 + inputs[:32, 1],
        "test_inputs": inputs[32:], "test_targets": inputs[32:, 0] % 2,
    }  # fmt: skip
    data = tmp_path / "data.npz"
    if kind == "file":
        np.savez(data, **arrays)
    else:
        data.mkdir()
        for name, array in arrays.items():
            np.save(data / f"{name}.npy", array)
    arguments = ["train", "--task", "arrays", "--set", f"path={data}", "--width", "4", "--state", "8", "--batch", "8"]
    arguments += ["--steps", "3", "--directory", str(tmp_path / "run"), "--json"]
    answers = []
    for more in ([], ["--resume"]):
        result = runner.invoke(app, [*arguments, *more])
        assert result.exit_code == 0, result.output
        answers.append(json.loads(result.stdout))
    assert answers[0] == answers[1]
    assert answers[0]["task"] == "data.npz, 32 sequences of up to 9 steps"
    assert answers[0]["settings"]["options"] == {"path": str(data)}
    about = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert about["data"]["sha256"] == load_arrays(data).fingerprint
    assert json.loads((tmp_path / "run" / "results.json").read_text())["test"]["loss"] == answers[0]["loss"]


def test_energies_of_any_size_are_readable(tmp_path, monkeypatch):
    """Numbers as everywhere else in the package, and no ratio where an energy is 0."""
    from signalprop import training

    real = training.train

    def exploded(settings, **options):
        done = real(settings, **options)
        for row, energy in zip(done.rows, ("1e-30", "1", "1.5e24"), strict=True):
            row |= {"energy_1": energy, "energy_2": "0"}
        return done

    monkeypatch.setattr(training, "train", exploded)
    result = runner.invoke(app, [*SMALL, "--directory", str(tmp_path)])
    assert result.exit_code == 0, result.output
    one, two = (line.split() for line in result.stdout.splitlines() if line.startswith("layer"))
    assert one[1:] == [
        "1",
        *show(-30 * math.log(10)).split(),
        *show(math.log(1.5e24)).split(),
        *show(math.log(1.5e54)).split(),
    ]
    assert two == ["layer", "2", "0", "0", "-"]
    assert max(map(len, result.stdout.split())) < 100
    resumed = runner.invoke(app, [*SMALL, "--directory", str(tmp_path), "--resume", "--json"])
    assert json.loads(resumed.stdout)["energies"]["2"]["ratio"] is None


def test_options_come_before_the_file(tmp_path):
    path = tmp_path / "one.toml"
    sections = (
        '[task]\nname = "copy"\nblanks = 3\ntrain = 64\ntest = 16',
        '[model]\nlayer = "lru"\nd_state = 4',
        "[training]\nepochs = 9",
    )
    path.write_text("\n".join(sections))
    arguments = ["train", "--config", str(path), "--state", "6", "--steps", "2", "--set", "length=2", "--width", "8"]
    result = runner.invoke(app, [*arguments, "--directory", str(tmp_path / "run"), "--json"])
    assert result.exit_code == 0, result.output
    settings = json.loads(result.stdout)["settings"]
    assert settings["options"] == {"blanks": 3, "train": 64, "test": 16, "length": 2}
    assert (settings["task"], settings["layer"], settings["d_state"]) == ("copy", "lru", 6)
    assert json.loads(result.stdout)["step"] == 2


@pytest.mark.parametrize("name", configurations())
def test_shipped_files_are_read_by_name_and_as_files(name, tmp_path):
    settings = Settings(**Settings.read(name))
    assert settings.task in MAKERS
    assert settings.layer in name
    assert settings.epochs == 40
    (tmp_path / "own.toml").write_text(configurations()[name])
    assert Settings.read(tmp_path / "own.toml") == Settings.read(name)


def test_configs_lists_and_prints_what_comes_with_the_package():
    listed = runner.invoke(app, ["configs"])
    assert listed.exit_code == 0, listed.output
    titles = json.loads(runner.invoke(app, ["configs", "--json"]).stdout)
    assert list(titles) == list(configurations()) == ["listops-lru", "listops-rotrnn"]
    for name, title in titles.items():
        assert name in listed.stdout
        assert title.split()[0] in listed.stdout
        assert runner.invoke(app, ["configs", name]).stdout == configurations()[name]
        assert json.loads(runner.invoke(app, ["configs", name, "--json"]).stdout) == tomllib.loads(
            configurations()[name]
        )
    assert configuration_names("listops-r") == ["listops-rotrnn"]


def test_a_name_that_is_none_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (["train", "--config", "listops-rotrn"], ["configs", "listops-rotrn"]):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 2
        said = " ".join(result.stderr.split())
        assert "one of 'listops-lru' or 'listops-rotrnn', got 'listops-rotrn'" in said
    for path in ("missing.toml", "somewhere/listops-lru"):
        with pytest.raises(FileNotFoundError):
            Settings.read(path)
    # A file of any name is read; one that is called like a shipped one needs its folder.
    (tmp_path / "mine").write_text("[model]\ndepth = 5\n")
    (tmp_path / "listops-lru").write_text("[model]\ndepth = 5\n")
    assert Settings.read("mine") == Settings.read("./listops-lru") == {"depth": 5}
    assert Settings.read("listops-lru")["depth"] == 6


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--steps", "0"], "steps must be at least 1, got 0"),
        (["--layer", "gru"], "'gru' is not one of 'rotrnn', 'lru', 'dense'"),
        (["--layer", "lru"], "--heads is a setting of rotrnn, not of --layer lru: leave it out, got 2"),
        (["--heads", "8", "--layer", "lru", "--first-step-rule"], "--first-step-rule is a setting of rotrnn"),
        (["--normalizer", "learned"], "--normalizer is a setting of lru, not of --layer rotrnn"),
        (["--heads", "8", "--layer", "dense", "--r-min", "0.5"], "--r-min is a setting of rotrnn and lru"),
        (["--heads", "8", "--layer", "dense", "--max-phase", "0.5"], "--max-phase is a setting of rotrnn and lru"),
        (["--pooling", "max"], "'max' is not one of 'mean', 'last'"),
        (["--epochs", "2"], "--steps and --epochs exclude each other, got 4 and 2"),
        (["--batch", "65"], "batch must be at most the 64 examples of the training part, got 65"),
        (["--directory", ""], "--directory is empty"),
        (["--set", "max_lenght=6"], "task listops has no 'max_lenght' (did you mean 'max_length'?); it has train,"),
        (["--set", "train=1e3"], "--set train must be a whole number, got '1e3'"),
        (["--set", "train=true"], "--set train must be a whole number, got 'true'"),
        (["--set", "train="], "--set train must be a whole number, got ''"),
        (["--task", "listops-files", "--set", "verify=False"], "task listops-files has no 'train'"),
        (["--task", "sorting"], "'sorting' is not one of"),
        (["--state", "9"], "--state must be divisible by the number of heads, got --state 9 and --heads 2"),
        (["--r-max", "1.5"], "gamma must satisfy 0 < --r-min <= --r-max < 1"),
        (["--max-phase", "9"], "--max-phase must lie in (0, 2 pi], got 9"),
        (["--lr", "nan"], "--lr must be a positive finite number, got nan"),
        (["--dropout", "1"], "dropout must lie in [0, 1), got 1.0"),
        (["--set", "blanks=3"], "task listops has no 'blanks'; it has train, validation"),
        (["--set", "blanks"], "--set takes NAME=VALUE, got 'blanks'"),
        (["--set", "max_length=6"], "window"),
        (
            ["--task", "listops-files", "--set", "directory=/nowhere"],
            "has no 'train'; it has directory, name, verify",
        ),
        (["--config", "/nowhere.toml"], "/nowhere.toml"),
        (["--device", "abacus"], "device must be one that PyTorch can use here, got 'abacus'"),
        (["--directory", "/dev/null"], "/dev/null"),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_code_two(tmp_path, arguments, sentence):
    result = runner.invoke(app, [*SMALL, "--directory", str(tmp_path / "run"), *arguments])
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_wrong_path_of_the_published_files(tmp_path):
    arguments = [
        "train",
        "--task",
        "listops-files",
        "--set",
        "directory=/nowhere",
        "--directory",
        str(tmp_path / "run"),
    ]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert "/nowhere/basic_train.tsv is not there" in result.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[task]\nname = 3 4", "is not a TOML file"),
        ("[optimizer]\nlr = 1", r"has 'optimizer'; the sections read are"),
        (
            "[model]\nlayers = 3",
            r"section \[model\] of .*bad\.toml has no 'layers' \(did you mean 'layer'\?\); it has",
        ),
        ("[model]\nseed = 3", r"section \[model\] of .* has no 'seed'; it has layer, depth"),
        ('[task]\nname = "copy"\noptions = 3', r"options of \[task\] must be a table, \[task\.options\], got 3"),
        ('[task]\nname = "copy"\nblanks = 3\n[task.options]\nblanks = 4', "gives the option 'blanks' twice"),
        ("[task]\nblanks = 3", "does not say which task"),
    ],
)
def test_bad_files_are_sentences(tmp_path, text, sentence):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        Settings.read(path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "task listops-files needs the option 'directory': --set directory=.. on the command line"),
        (["--set", "name=basic"], "task listops-files needs the option 'directory'"),
        (["--set", "directory=2024"], "2024/basic_train.tsv is not there"),
        (["--set", "directory=true"], "true/basic_train.tsv is not there"),
        (["--set", "directory=/nowhere", "--set", "name=other"], "/nowhere/other_train.tsv is not there"),
        (["--set", "directory=/nowhere", "--set", "verify=False"], "--set verify must be true or false, got 'False'"),
        (["--set", "directory=/nowhere", "--set", "verify=1"], "--set verify must be true or false, got '1'"),
        (["--set", "directory=/nowhere", "--set", "verify=true"], "/nowhere/basic_train.tsv is not there"),
        (["--set", "directory="], "--set directory is empty; give a path, such as . for the current folder."),
    ],
)
def test_options_of_the_published_files(tmp_path, arguments, sentence):
    result = runner.invoke(app, ["train", "--task", "listops-files", *arguments, "--directory", str(tmp_path / "run")])
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def of_another_type(kind):
    """Texts that are no value of the type."""
    kinds = {bool: ["False", "1", "yes"], int: ["true", "2.0", "many", ""], float: ["true", "many", ""]}
    return next((texts for one, texts in kinds.items() if one in (kind, *typing.get_args(kind))), [])


@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_every_task_by_its_declared_type(tmp_path, task):
    """A value of another type, and a key that is nearly one, are one sentence; none is a traceback, none is taken."""
    tried = 0
    for name, kind in hints(MAKERS[task]).items():
        needed = [f"{other}=/nowhere" for other in required(MAKERS[task]) if other != name]
        for word, said in [(f"{name}x=1", f"(did you mean {name!r}?)")] + [
            (f"{name}={text}", f"--set {name} must be ") for text in of_another_type(kind)
        ]:
            sets = [part for each in (*needed, word) for part in ("--set", each)]
            result = runner.invoke(app, ["train", "--task", task, *sets, "--directory", str(tmp_path / "run")])
            assert result.exit_code == 2, result.output
            assert said in result.stderr
            assert result.stderr.count("\n") == 1
            tried += 1
    assert tried >= 3


def test_every_setting_is_an_option():
    options = {parameter.name for parameter in typer.main.get_command(app).commands["train"].params}
    settings = {each.name for each in dataclasses.fields(Settings)} - {"options"}
    assert settings <= options


@pytest.mark.parametrize(
    ("key", "text", "declared"),
    [
        ("bidirectional", '"false"', "true or false"),
        ("bidirectional", "0", "true or false"),
        ("first_step_rule", '"false"', "true or false"),
        ("r_max", "true", "a number or None"),
        ("r_min", '"0.5"', "a number or None"),
        ("dropout", "false", "a number"),
        ("layer", "3", "text"),
        ("depth", "2.0", "a whole number"),
        ("heads", '"8"', "a whole number"),
        ("steps", "2.0", "a whole number"),
        ("steps", "true", "a whole number"),
        ("epochs", "1.0", "a whole number or None"),
        ("learning_rate", '"0.1"', "a number"),
        ("learning_rate", "9007199254740993", "a number"),
        ("seed", "[1]", "a whole number"),
    ],
)
def test_a_value_of_another_type_is_refused_alike_in_files_and_in_python(tmp_path, key, text, declared):
    section = {each.name: each.metadata.get("section") for each in dataclasses.fields(Settings)}[key]
    path = tmp_path / "one.toml"
    path.write_text(f"[{section}]\n{key} = {text}\n")
    value = tomllib.loads(f"x = {text}")["x"]
    for arguments in (Settings.read(path), {key: value}):
        with pytest.raises(ValueError, match=f"^{key} must be {declared}, got ") as caught:
            Settings(**arguments)
        assert repr(value) in str(caught.value)
    with pytest.raises(ValueError, match=f"^{key} must be {declared}, got "):
        Settings(**{key: object()})


def test_numbers_of_numpy_and_whole_numbers_for_floats_are_taken_exactly():
    plain = Settings(steps=100, clip=2.0, dropout=0.5, bidirectional=True, options={"train": 64})
    numpy = Settings(
        steps=np.int64(100),
        clip=2,
        dropout=np.float32(0.5),
        bidirectional=np.bool_(True),
        options={"train": np.uint8(64)},
    )
    assert numpy == plain
    assert json.loads(json.dumps(numpy.as_dict())) == plain.as_dict()
    assert type(numpy.clip) is float
    path = Settings(task="listops-files", options={"directory": Path("/x")})
    assert path.options == {"directory": "/x"}


@pytest.mark.parametrize("options", [{"train": "64"}, {"train": 64.0}, {"train": True}, {"train": None}])
def test_options_in_python_have_the_declared_type_too(options):
    for call in (lambda: Settings(options=options), lambda: make("listops", **options)):
        with pytest.raises(ValueError, match=r"^train must be a whole number, got "):
            call()
    with pytest.raises(
        ValueError, match=r"^task copy has no 'blank' \(did you mean 'blanks'\?\); it has blanks, length"
    ):
        make("copy", blank=3)


@pytest.mark.parametrize(
    "change", [lambda text: text.encode("utf-8-sig"), lambda text: text.replace("\n", "\r\n").encode()]
)
def test_byte_order_mark_and_line_ends_of_a_file(tmp_path, change):
    text = '# \u03c7\n[task]\nname = "listops-files"\ndirectory = "x"\n[task.options]\nname = "n"\n[model]\ndepth = 3\n'
    (tmp_path / "one.toml").write_bytes(change(text))
    wanted = {"task": "listops-files", "options": {"directory": "x", "name": "n"}, "depth": 3}
    assert Settings.read(tmp_path / "one.toml") == wanted


def test_other_encodings_of_a_file_are_a_sentence(tmp_path):
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / "one.toml").write_bytes("# \u00e4\n[model]\ndepth = 3\n".encode(encoding))
        with pytest.raises(ValueError, match=r"one\.toml is not text in UTF-8 .* save it as UTF-8\.$"):
            Settings.read(tmp_path / "one.toml")


def test_the_published_configuration_has_no_first_step_rule():
    assert Settings().first_step_rule is False
    for name in configurations():
        assert not Settings(**Settings.read(name)).first_step_rule


def test_a_training_that_breaks_down_is_exit_code_one(tmp_path):
    arguments = [*SMALL, "--directory", str(tmp_path), "--lr", "1e30", "--clip", "0", "--steps", "50"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 1
    assert "training step" in result.stderr


@pytest.mark.parametrize(("name", "layer"), [("listops-lru", "rotrnn"), ("listops-rotrnn", "lru")])
def test_another_layer_leaves_the_settings_of_the_first(name, layer):
    done = runner.invoke(app, ["train", "--config", name, "--layer", layer, "--steps", "1"])
    assert done.exit_code == 2
    assert "is a setting of" not in done.stderr
    assert "listops-1000" in done.stderr  # the data that is not here
