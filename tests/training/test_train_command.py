import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalprop.cli import app
from signalprop.tasks import MAKERS
from signalprop.training import Settings

ROOT = Path(__file__).parents[2]
TASK = [
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
SMALL = ["train", *TASK, "--width", "8", "--state", "8", "--heads", "2", "--steps", "4", "--log-every", "2"]
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
    assert "max/min over the training" in again.stdout
    assert f"test loss      {answer['loss']:.4f}" in again.stdout


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


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_files_are_read(path):
    settings = Settings(**Settings.read(path))
    assert settings.task in MAKERS
    assert settings.layer in path.stem
    assert settings.epochs == 40
    assert "Untested here" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--steps", "0"], "steps must be at least 1, got 0"),
        (["--layer", "gru"], "'gru' is not one of 'rotrnn', 'lru', 'dense'"),
        (["--task", "sorting"], "'sorting' is not one of"),
        (["--state", "9"], "d_state must be divisible by the number of heads, got d_state=9 and heads=2"),
        (["--r-max", "1.5"], "gamma must satisfy 0 < gamma_min <= gamma_max < 1"),
        (["--max-phase", "9"], "max_phase must lie in (0, 2 pi], got 9"),
        (["--layer", "dense", "--r-min", "0.5"], "leave out r_min, r_max and max_phase"),
        (["--normalizer", "learned"], "only an lru has a learned normalizer"),
        (["--lr", "nan"], "learning_rate must be a positive finite number, got nan"),
        (["--dropout", "1"], "dropout must lie in [0, 1), got 1.0"),
        (["--set", "blanks=3"], "task listops has no option 'blanks'; there are train, validation"),
        (["--set", "blanks"], "--set takes NAME=VALUE, got 'blanks'"),
        (["--set", "max_length=6"], "window"),
        (["--task", "listops-files", "--set", "directory=/nowhere"], "has no option 'train'"),
        (["--config", "/nowhere.toml"], "/nowhere.toml"),
        (["--device", "abacus"], "device 'abacus' cannot be used here"),
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
        ("[optimizer]\nlr = 1", r"has 'optimizer'; what is read are the sections"),
        ("[model]\nlayers = 3", r"has 'layers' in \[model\]; there are layer, depth"),
        ("[task]\nblanks = 3", "does not say which task"),
    ],
)
def test_bad_files_are_sentences(tmp_path, text, sentence):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        Settings.read(path)


def test_a_training_that_breaks_down_is_exit_code_one(tmp_path):
    arguments = [*SMALL, "--directory", str(tmp_path), "--lr", "1e30", "--clip", "0", "--steps", "50"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 1
    assert "training step" in result.stderr
