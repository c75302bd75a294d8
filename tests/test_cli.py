import json
import math
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from signalprop import advise, safe_scale, sample
from signalprop._terminal import show
from signalprop.cli import app

runner = CliRunner()


def run_json(*arguments):
    result = runner.invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(("field", "want"), [("real", 3.5271e7), ("complex", 8229.53)])
def test_energy_as_json(field, want):
    answer = run_json("energy", "-n", "2500", "-k", "250", "--field", field)
    assert answer["Q"] == pytest.approx(want, rel=2e-5)
    assert answer["infinite_width"] == 1.0
    assert answer["c"] == 5.0


def test_energy_of_the_driven_recurrence():
    answer = run_json("energy", "-n", "100", "-k", "50", "--model", "lru", "--scale", "0.9")
    assert answer["infinite_width"] == pytest.approx(sum(0.81**j for j in range(51)))
    assert run_json("energy", "-n", "100", "-k", "50", "--model", "lru")["infinite_width"] == 51.0


def test_energy_beyond_float64_keeps_its_log():
    answer = run_json("energy", "-n", "10", "-k", "5000")
    assert answer["Q"] is None
    assert answer["log_Q"] > 1000


def test_energy_as_text():
    result = runner.invoke(app, ["energy", "-n", "2500", "-k", "250", "--field", "real"])
    assert "3.5271e7" in result.stdout
    assert "infinite width  1\n" in result.stdout
    assert "signalprop sample -n 2500 -k 250 --field real" in result.stdout
    calm = runner.invoke(app, ["energy", "-n", "2500", "-k", "10"]).stdout
    assert "rare draws" not in calm


def test_scale_prints_the_page_and_its_numbers():
    result = runner.invoke(app, ["scale", "-n", "512", "-T", "2000"])
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip("\n") == str(advise(512, 2000))
    answer = run_json("scale", "-n", "4096", "-T", "64")
    assert answer["verdict"] == "keep"
    assert answer["text"] == str(advise(4096, 64))


def test_scale_by_one_criterion(tmp_path):
    picture = tmp_path / "energy.svg"
    result = runner.invoke(app, ["scale", "-n", "64", "-T", "50", "--criterion", "bounded", "--plot", str(picture)])
    assert result.exit_code == 0, result.output
    want = safe_scale(64, 50, criterion="bounded")
    assert f"{want.scale:.8g}" in result.stdout
    assert "<svg" in picture.read_text()
    answer = run_json("scale", "-n", "64", "-T", "20", "--criterion", "quantile", "--samples", "300", "--seed", "4")
    assert answer["scale"] == safe_scale(64, 20, samples=300, seed=4).scale
    assert answer["source"] == "samples"


def test_scale_loads_nothing_heavy():
    code = (
        "import sys; from typer.testing import CliRunner; from signalprop.cli import app; "
        "r = CliRunner().invoke(app, ['scale', '-n', '512', '-T', '300']); assert r.exit_code == 0, r.output; "
        "print([m for m in ('numba', 'scipy', 'matplotlib', 'torch', 'pandas') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_sample_as_json_is_the_estimate_of_the_library():
    answer = run_json("sample", "-n", "50", "-k", "10", "--field", "real", "--samples", "300", "--seed", "4")
    want = sample(50, 10, "real", samples=300, seed=4).rnn().as_dict()
    for name, value in want.items():
        assert answer[name] == value


def test_sample_as_text_says_what_the_mean_is_worth():
    result = runner.invoke(app, ["sample", "-n", "100", "-k", "50", "--field", "real"])
    assert result.exit_code == 0
    assert "mean not reachable with plain sampling here" in result.stdout
    assert "\x1b" not in result.stdout
    lru = runner.invoke(app, ["sample", "-n", "100", "-k", "5", "--model", "lru", "--samples", "100"])
    assert "one input direction reused" in lru.stdout


def test_tempered_sample_prints_its_interval():
    arguments = ["sample", "-n", "40", "-k", "19", "--field", "real", "--method", "tempered", "--samples", "512"]
    want = sample(40, 19, "real", samples=512, method="tempered").rnn()
    text = runner.invoke(app, arguments).stdout
    assert "16 repetitions of a recurrent linear network" in text
    low, high = want.log_interval
    assert f"95 % interval   {show(low)} .. {show(high)}" in text
    assert f"exact mean      {show(want.log_exact)}" in text
    assert "median" not in text
    answer = run_json(*arguments)
    assert answer["log_interval"] == list(want.log_interval)
    assert answer["method"] == "tempered"


@pytest.mark.parametrize(
    "arguments",
    [
        [
            "sample",
            "-n",
            "20",
            "-k",
            "4",
            "--field",
            "real",
            "--method",
            "dense",
            "--activation",
            "leaky_relu",
            "--negative-slope",
            "0.5",
        ],
        ["sample", "-n", "20", "-k", "4", "--method", "dense", "--untied"],
    ],
)
def test_other_layers(arguments):
    result = runner.invoke(app, [*arguments, "--samples", "100"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["energy", "-n", "0", "-k", "1"], "n must be at least 1, got 0"),
        (["energy", "-n", "10", "-k", "-1"], "k must be at least 0, got -1"),
        (
            ["energy", "-n", "10", "-k", "1", "--field", "quaternions"],
            "'quaternions' is not one of 'real', 'complex', 'quaternion'",
        ),
        (["energy", "-n", "ten", "-k", "1"], "integer"),
        (["energy", "-n", "10", "-k", "1", "--scale", "nan"], "scale must be a positive finite number, got nan"),
        (["energy", "-n", "10", "-k", "30000", "--field", "real"], "k must be at most 20000, got 30000"),
        (["energy", "-n", "10"], "-k"),
        (["scale", "-n", "10", "-T", "0"], "horizon must be at least 1, got 0"),
        (["scale", "-n", "10", "-T", "5", "--bound", "4"], "--bound belongs to one criterion"),
        (
            ["scale", "-n", "10", "-T", "5", "--criterion", "bounded", "--tolerance", "-1"],
            "tolerance must be a positive",
        ),
        (["scale", "-n", "10", "-T", "5", "--criterion", "quantile", "--quantile", "1"], "quantile must lie strictly"),
        (["scale", "-n", "10", "-T", "5", "--plot", "x.jpeg"], "ends in .png, .svg or .pdf, got 'x.jpeg'"),
        (["scale", "-n", "10", "-T", "5", "--plot", "/nowhere/x.png"], "No such file or directory"),
        (["sample", "-n", "10", "-k", "3", "--samples", "1"], "samples must be at least 2, got 1"),
        (["sample", "-n", "10", "-k", "3", "--activation", "relu"], "needs field='real'"),
        (["sample", "-n", "99999", "-k", "3", "--method", "dense"], "n must be at most 10000"),
        (["reproduce", "--quick", "--full"], "--quick and --full exclude each other"),
        (["reproduce", "--directory", "/dev/null"], "/dev/null"),
        (["reproduce", "--seed", "-1"], "seed must be at least 0, got -1"),
        (["run", "/nowhere/plan.toml", "--directory", "/tmp/run"], "No such file or directory: '/nowhere/plan.toml'"),
        (["run", "pyproject.toml", "--directory", "/tmp/run"], "a plan has no 'build-system'; it has fields, n, k, c"),
        (["run", "pyproject.toml"], "--directory"),
        (["resample"], "No such command 'resample'"),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_code_two(arguments, sentence):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_run_as_text_and_json_shows_no_mean_without_its_verdict(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('fields = ["real"]\nn = [100]\nk = [5, 50]\nsamples = 300\nmodels = ["rnn", "lru"]\n')
    arguments = ["run", str(plan), "--directory", str(tmp_path / "run")]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line.startswith("real")]
    assert len(lines) == 4
    assert "mean agrees with the exact value" in lines[0]
    assert "mean not reachable with plain sampling here" in lines[2]
    assert str(tmp_path / "run" / "table.csv") in result.stdout
    rows = run_json(*arguments)["rows"]
    assert [row["trusted"] for row in rows] == [True, True, False, False]
    want = sample(100, 50, "real", samples=300).rnn()
    assert rows[2]["verdict"] == want.verdict
    assert rows[2]["log_mean"] == want.log_mean
    assert rows[2]["predicted_relative_stderr"] is None


def test_reproduce_writes_where_it_is_told(tmp_path, monkeypatch):
    from signalprop.figures import reproduce as module

    calls = []
    monkeypatch.setattr(
        module,
        "reproduce",
        lambda directory, quality, **options: calls.append((directory, quality)) or [tmp_path / "a.png"],
    )
    assert run_json("reproduce", "--quick", "--directory", str(tmp_path)) == {
        "quality": "quick",
        "figures": [str(tmp_path / "a.png")],
    }
    assert calls == [(str(tmp_path), "quick")]


@pytest.mark.parametrize(
    ("log_value", "text"),
    [
        (0.0, "1"),
        (-50.0, "1.9287e-22 (e^-50)"),
        (math.log(9.99997e8), "1.0000e9 (e^20.72)"),
        (4e18, "e^4e+18"),
        (-math.inf, "0"),
    ],
)
def test_numbers_of_any_size_are_readable(log_value, text):
    assert show(log_value) == text


def test_info():
    facts = run_json("info")
    assert facts["libraries"]["numba"]
    assert "numba" in runner.invoke(app, ["info"]).stdout


def test_help_lists_the_commands():
    result = runner.invoke(app, ["--help"])
    for command in ("energy", "sample", "run", "verify", "reproduce", "info"):
        assert command in result.stdout
    assert "..." not in result.stdout.split("Commands")[1]


def test_help_and_small_energies_load_nothing_heavy():
    heavy = "{'numba', 'pandas', 'matplotlib', 'scipy', 'torch', 'jax', 'sympy', 'flint'}"
    for argument in ("['--help']", "['energy', '-n', '2500', '-k', '250', '--field', 'real']"):
        code = (
            "import sys; from signalprop.cli import app\n"
            f"try: app({argument})\nexcept SystemExit: pass\n"
            f"loaded = {heavy} & set(sys.modules); assert not loaded, loaded"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_a_closed_pipe_is_not_a_traceback():
    command = f"{sys.executable} -m signalprop --help | head -n 1"
    done = subprocess.run(command, check=False, shell=True, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


def test_running_estimate_stays_beside_the_bar(monkeypatch):
    from types import SimpleNamespace

    from signalprop import _sample_command
    from signalprop._options import Model

    said = []
    monkeypatch.setattr(_sample_command.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(_sample_command, "time", SimpleNamespace(monotonic=lambda: 100.0))  # no time passes
    running = _sample_command._Running(lambda *shown: said.append(shown), Model.RNN, _sample_command.MethodName.KRYLOV)
    whole = sample(9, 4, samples=1200, seed=1, workers=1, progress=running.progress, watch=running.watch)
    assert said[0][0] == 512 / 1200
    assert "(512 draws)" in said[0][1]
    assert [shares for shares, _ in said] == [512 / 1200, 1024 / 1200, 1.0]
    assert {text for _, text in said} == {said[0][1]}
    monkeypatch.setattr(_sample_command, "PATIENCE", 0.0)
    running.watch(whole.log_norms[:3], None)
    assert "(1203 draws)" in said[-1][1]
