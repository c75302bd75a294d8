import ast
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import signalprop
from signalprop import advise, safe_scale, sample
from signalprop._numbers import show
from signalprop.cli import app
from signalprop.cli._completion import check_names
from signalprop.cli._spoken import options, spoken
from signalprop.initialization.advice_text import page
from signalprop.regimes import classify
from signalprop.verify import all_checks
from signalprop.wick import trace_moment

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
    assert answer["text"] == page(advise(4096, 64), 80)


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


@pytest.mark.parametrize(
    ("cell", "heavy"),
    [
        ("linear", ("numba", "scipy", "matplotlib", "torch", "pandas")),
        ("lstm", ("numba", "matplotlib", "torch", "pandas")),
    ],
)
def test_scale_loads_nothing_heavy(cell, heavy):
    code = (
        "import sys; from typer.testing import CliRunner; from signalprop.cli import app; "
        f"r = CliRunner().invoke(app, ['scale', '-n', '512', '-T', '300', '--cell', {cell!r}]); "
        "assert r.exit_code == 0, r.output; "
        f"print([m for m in {heavy} if m in sys.modules])"
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
    assert "one input direction, reused" in lru.stdout


def test_tempered_sample_prints_its_interval():
    arguments = ["sample", "-n", "12", "-k", "6", "--field", "real", "--method", "tempered", "--samples", "128"]
    want = sample(12, 6, "real", samples=128, method="tempered").rnn()
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
        (["energy", "-n", "ten", "-k", "1"], "'-n' / '--width': it must be a whole number, got 'ten'."),
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
        (
            ["sample", "-n", "10", "-k", "3", "--activation", "relu", "--field", "complex"],
            "needs --field real, because it compares with zero; got --field complex",
        ),
        (["sample", "-n", "99999", "-k", "3", "--method", "dense"], "n must be at most 10000"),
        (["reproduce", "--quick", "--full"], "--quick and --full exclude each other"),
        (["reproduce", "--directory", "/dev/null"], "/dev/null"),
        (["reproduce", "--seed", "-1"], "seed must be at least 0, got -1"),
        (
            ["run", "/nowhere/plan.toml", "--directory", "/tmp/run"],
            "'/nowhere/plan.toml' cannot be used (No such file or directory): check the name.",
        ),
        (
            ["run", "pyproject.toml", "--directory", "/tmp/run"],
            "a plan has no 'build-system'; it has fields, n, k, c",
        ),
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
        (-50.0, "1.9287e-22"),
        (math.log(9.99997e8), "1.0000e9"),
        (4e18, "10^(1.73718e+18)"),
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


@pytest.mark.parametrize("arguments", [["scale", "-n", "64", "-T", "20"], ["verify", "--list"], ["cite", "--list"]])
def test_a_reader_that_has_gone_ends_the_command_in_silence(arguments):
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "signalprop", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()  # before a line is written
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert said == ""


def test_a_closed_pipe_is_not_a_traceback():
    command = f"{sys.executable} -m signalprop --help | head -n 1"
    done = subprocess.run(command, check=False, shell=True, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


def test_running_estimate_stays_beside_the_bar(monkeypatch):
    from types import SimpleNamespace

    from signalprop import _progress
    from signalprop.cli import sample as _sample_command
    from signalprop.models import Model

    said = []
    monkeypatch.setattr(_sample_command, "time", SimpleNamespace(monotonic=lambda: 100.0))  # no time passes
    running = _sample_command._Running(lambda *shown: said.append(shown), Model.RNN, _sample_command.Method.KRYLOV)
    with _progress.using(_progress.text_meter):
        whole = sample(9, 4, "complex", samples=1200, seed=1, workers=1, progress=running.progress, watch=running.watch)
    assert said[0][0] == 512 / 1200
    assert "(512 draws)" in said[0][1]
    assert [shares for shares, _ in said] == [512 / 1200, 1024 / 1200, 1.0]
    assert {text for _, text in said} == {said[0][1]}
    monkeypatch.setattr(_sample_command, "PATIENCE", 0.0)
    with _progress.using(_progress.text_meter):
        running.watch(whole.log_norms[:3], None)
    assert "(1203 draws)" in said[-1][1]


def printed(arguments, width, monkeypatch, code=0):
    """Lines on both streams of a command on a terminal, or in a pipe (None), of this width."""
    monkeypatch.delenv("COLUMNS") if width is None else monkeypatch.setenv("COLUMNS", str(width))
    result = runner.invoke(app, arguments)
    assert result.exit_code == code, result.output
    return (result.stdout + result.stderr).splitlines()


LONG = ["sample", "-n", "100", "-k", "50", "--field", "real", "--samples", "200"]
TALKATIVE = [
    (["energy", "-n", "2500", "-k", "250", "--field", "real", "--model", "driven"], 0),
    (["energy", "-n", "2500", "-k", "250", "--field", "quaternion"], 0),
    (["scale", "-n", "512", "-T", "100", "--criterion", "quantile"], 0),
    (["scale", "-n", "512", "-T", "100", "--criterion", "edge", "--field", "quaternion"], 0),
    (LONG, 0),
    ([*LONG, "--method", "dense", "--activation", "leaky_relu"], 0),
    (["sample", "-n", "30", "-k", "5", "--model", "driven", "--samples", "100"], 0),
    (["recurrence", "rotrnn", "--samples", "50", "-T", "300"], 0),
    (["recurrence", "gaussian", "--samples", "50", "-T", "30"], 0),
    (["recurrence", "s4d-lin", "-d", "2"], 0),
    (["regime", "-n", "10000", "-k", "300"], 0),
    (["moment", "GGG*G*", "GG*", "-n", "1000000"], 0),
    (["verify", "--list"], 0),
    (["verify", "--only", "Hultman"], 0),
    (["cite", "--list"], 0),
    (["info"], 0),
    (["energy", "-n", "10", "-k", "1", "--field", "quaternions"], 2),
    (["sample", "-n", "99999", "-k", "3", "--method", "dense"], 2),
    (["run", "/nowhere/a/path/that/is/not/there/plan.toml", "--directory", "/tmp/run"], 2),
    (["cite", "nothing"], 2),
]


@pytest.mark.parametrize("width", [None, 50, 80, 120])
@pytest.mark.parametrize(
    ("arguments", "code"), TALKATIVE, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_lines_fit_the_terminal(arguments, code, width, monkeypatch):
    lines = printed(arguments, width, monkeypatch, code)
    pasted = any(line.startswith("# ") for line in lines)
    for line in lines:
        assert len(line) <= max(width or 80, 80 if pasted else 0), line
    if "--list" not in arguments:  # checks of laws have an exponential in their names
        assert not any("e^" in line for line in lines)


def test_run_and_train_fit_the_terminal(tmp_path, monkeypatch):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'fields = ["real", "quaternion"]\nn = [100]\nk = [5, 50]\nsamples = 300\nmodels = ["rnn", "driven"]\n'
    )
    lines = printed(["run", str(plan), "--directory", str(tmp_path / "run")], 80, monkeypatch)
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
    assert sum("mean" in line for line in lines) > 8
    short = ["--set", "max_length=20", "--width", "8", "--state", "8", "--depth", "1", "--steps", "2", "--batch", "4"]
    train = ["train", *short, "--set", "train=20", "--set", "validation=10", "--set", "test=10", "--log-every", "1"]
    lines = printed([*train, "--directory", str(tmp_path / "training")], 80, monkeypatch)
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)


@pytest.mark.parametrize(
    "arguments",
    [
        ["energy", "-n", "250", "-k", "120", "--model", "driven", "--field", "real"],
        ["energy", "-n", "250", "-k", "120", "--field", "complex"],
        ["scale", "-n", "64", "-T", "20"],
        ["scale", "-n", "64", "-T", "20", "--field", "complex"],
        ["scale", "-n", "64", "-T", "20", "--criterion", "edge"],
        ["sample", "-n", "30", "-k", "5", "--model", "driven", "--samples", "100", "--method", "dense"],
        ["moment", "GG*"],
        ["regime", "-n", "100", "-k", "30"],
    ],
    ids=" ".join,
)
def test_commands_that_an_answer_names_run_as_pasted(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = re.findall(r"(signalprop [a-z]+ .*?)[.:]?$", runner.invoke(app, arguments).stdout, re.MULTILINE)
    assert named
    for line in named:
        result = runner.invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.output)


def commands():
    """Each command with its parser."""
    return sorted(typer.main.get_command(app).commands.items())


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_refusals_speak_of_options_for_every_option_of_every_command(name):
    """What the library calls `name` the command line calls --name, whatever the sentence around it."""
    command = dict(commands())[name]
    every = options((p.name, p.opts) for _, other in commands() for p in other.params)
    own = options((p.name, p.opts) for p in command.params)
    for parameter in command.params:
        if not any(one.startswith("-") for one in parameter.opts):
            assert parameter.name not in own
            continue
        option = own[parameter.name]
        assert option in parameter.opts
        for message, want in [
            (f"{parameter.name} must be at least 1, got 0.", f"{option} must be at least 1, got 0."),
            (f"ends here; use {parameter.name}='word'.", f"ends here; use {option} word."),
            (
                f"no room at {parameter.name}=12.5, use {parameter.name}=3.",
                f"no room at {option} 12.5, use {option} 3.",
            ),
            (f"needs {parameter.name}=True.", f"needs {option}."),
            (f"got {parameter.name}=<Field.REAL: 'real'>.", f"got {option} real."),
        ]:
            assert spoken(message, own, every) == want
        if "_" in parameter.name:
            within = f"the range is 0 < {parameter.name} <= 1 here"
            assert spoken(within, own, every) == within.replace(parameter.name, option)
            for other in (f"'{parameter.name}' is no file", f"/tmp/{parameter.name}/plan", f"{parameter.name}(3)"):
                assert spoken(other, own, every) == other


def python_in_refusals():
    """Every ``name='value'`` in a sentence that the package raises, with its file."""
    for path in sorted(Path(signalprop.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                for part in ast.walk(node.exc):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        for found in re.findall(r"\b[a-z_]+=(?:'[^']+'|True|False)", part.value):
                            yield path.name, found


# Said by functions that no command calls, or of a key in a file.
_ONLY_PYTHON = {"log=True", "parentheses=True", "form='summed'", "form='sum'", "models='lru'", "models='driven'"}
_ONLY_CELLS = ("cell=", "kind=", "biases=", "bias=", "direction=")  # of cells and layers, which no command asks for


def test_no_refusal_of_the_library_speaks_python_on_the_command_line():
    every = options((p.name, p.opts) for _, command in commands() for p in command.params)
    found = set(python_in_refusals())
    assert len(found) > 10
    for file, text in found:
        said = spoken(f"use {text}.", {}, every)
        assert "=" not in said or text in _ONLY_PYTHON or text.startswith(_ONLY_CELLS), (file, text, said)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["scale", "-n", "10", "-T", "30000", "--criterion", "bounded"], "use --criterion quantile"),
        (["sample", "-n", "99999", "-k", "3", "--method", "dense"], "-n must be at most 10000 for --method dense"),
        (
            ["sample", "-n", "9", "-k", "3", "--activation", "relu", "--field", "real"],
            "use --method dense for activations",
        ),
        (["moment", "GG*", "--field", "quaternion"], "--field quaternion has no loop equations"),
        (["recurrence", "lru", "--r-min", "2"], "0 <= --r-min <= --r-max <= 1 and --r-max > 0, got --r-min 2.0"),
    ],
)
def test_refusals_as_they_are_printed(arguments, sentence):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not re.search(r"\w='", result.stderr)


def test_a_verdict_speaks_of_options_too():
    assert "use --method tempered" in runner.invoke(app, LONG).stdout


@pytest.mark.parametrize("option", ["-k", "--depth", "-T", "--horizon"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["energy", "-n", "50"],
        ["sample", "-n", "50", "--samples", "50"],
        ["scale", "-n", "50"],
        ["regime", "-n", "50"],
        ["recurrence", "lru"],
    ],
)
def test_a_number_of_steps_has_either_spelling(arguments, option):
    plain, other = (runner.invoke(app, [*arguments, given, "12"]) for given in ("-k", option))
    assert plain.exit_code == 0, plain.output
    assert other.stdout == plain.stdout


@pytest.mark.parametrize(("field", "mark"), [("complex", "P"), ("real", "V"), ("quaternion", "V")])
def test_answers_end_with_their_status_and_how_to_cite_them(field, mark):
    for arguments in (
        ["energy", "-n", "50", "-k", "9", "--field", field],
        ["scale", "-n", "50", "-T", "9", "--field", field],
        ["scale", "-n", "50", "-T", "9", "--field", field, "--criterion", "bounded"],
        ["sample", "-n", "50", "-k", "9", "--field", field, "--samples", "50"],
    ):
        text = " ".join(runner.invoke(app, arguments).stdout.split())
        assert field in text
        end = re.split("how sure", text, flags=re.IGNORECASE)[1]
        assert re.search(rf"(average|mean) is {mark},|^ {mark},", end), end
        command = re.search(r"to cite:? (signalprop cite[\w -]*)$", end, re.IGNORECASE)[1]
        cited = runner.invoke(app, shlex.split(command)[1:])
        assert cited.exit_code == 0
        assert "@" in cited.stdout


def test_status_of_sampled_and_defined_scales():
    def sure(*options):
        return runner.invoke(app, ["scale", "-n", "50", "-T", "9", *options]).stdout.split("how sure")[1]

    assert "sampled, with the 95 % interval" in sure("--criterion", "quantile")
    assert "by definition" in sure("--criterion", "glorot")
    assert "P, proved" in sure("--criterion", "edge", "--field", "complex")
    assert "sampled: from a table" in sure("--criterion", "edge")
    assert "H, heuristic" in sure("--criterion", "edge", "-n", "20000")
    untied = runner.invoke(app, ["sample", "-n", "20", "-k", "4", "--method", "dense", "--untied", "--samples", "100"])
    assert "the exact mean is P, proved" in " ".join(untied.stdout.split())
    answer = run_json("sample", "-n", "20", "-k", "4", "--field", "real", "--samples", "100")
    assert answer["cite"] == "signalprop cite sample --field real --method krylov"
    assert run_json("scale", "-n", "50", "-T", "9", "--criterion", "bounded")["status"].startswith("the average is V,")


@pytest.mark.parametrize("criterion", ["quantile", "bounded", "minimax", "edge", "glorot"])
def test_one_criterion_leads_with_its_answer(criterion):
    text = runner.invoke(app, ["scale", "-n", "64", "-T", "20", "--criterion", criterion]).stdout
    found = safe_scale(64, 20, criterion=criterion)
    assert text.startswith(f"By {criterion}: g = {found.scale:.4g} times Glorot, standard deviation {found.std:.4g}")
    assert text.index("ginibre_(") < text.index("criterion  ")


def test_a_moment_is_the_polynomial_of_the_loop_equations():
    answer = run_json("moment", "GGG*G*", "GG*", "--field", "real", "-n", "10")
    assert tuple(answer["coefficients"]) == trace_moment(["GGG*G*", "GG*"], "real")
    assert answer["polynomial"] == "8 n + 6 n^3 + n^5"
    assert int(answer["value"]) == sum(c * 10**p for p, c in enumerate(answer["coefficients"]))
    # By hand: E tr(GG*) = n^2, and E tr(GGG*G*) = n^3 + n for complex weights.
    assert "polynomial      n^2\n" in runner.invoke(app, ["moment", "GG*", "--field", "complex"]).stdout
    assert "polynomial      n + n^3\n" in runner.invoke(app, ["moment", "GGG*G*", "--field", "complex"]).stdout
    assert "polynomial      0\n" in runner.invoke(app, ["moment", "GGG*", "--field", "complex"]).stdout


def test_a_regime_is_what_classify_says():
    want = classify(10_000, 300, "real")
    answer = run_json("regime", "-n", "10000", "-k", "300", "--field", "real")
    assert (answer["regime"], answer["law"], answer["status"]) == (want.regime, want.law, "H")
    assert answer["relative_error"] == want.relative_error


def test_version_and_list_of_checks():
    assert runner.invoke(app, ["--version"]).stdout == f"signalprop {signalprop.__version__}\n"
    checks = all_checks()
    listed = runner.invoke(app, ["verify", "--list"]).stdout
    assert all(check.name in listed for check in checks)
    assert f"{len(checks)} checks" in listed
    some = run_json("verify", "--list", "--only", "Hultman")["checks"]
    assert [one["name"] for one in some] == [check.name for check in checks if "Hultman" in check.name]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["reproduce", "--only", "critical"], {"critical_rnn", "critical_lru"}),
        (["reproduce", "--only", "sta"], {"stability"}),
        (["cite", "temp"], {"tempered"}),
    ],
)
def test_the_shell_completes_names(words, want):
    command = dict(commands())[words[0]]
    parameter = next(p for p in command.params if (p.name == "only" if "--only" in words else p.name == "words"))
    context = typer.Context(command)
    assert {item.value for item in parameter.shell_complete(context, words[-1])} == want


def test_the_shell_completes_checks():
    assert set(check_names("Hult")) == {check.name for check in all_checks() if check.name.startswith("Hult")} != set()


@pytest.mark.parametrize("backend", ["module://matplotlib_inline.backend_inline", "module://not.there", "nonsense"])
def test_a_picture_is_written_under_any_backend(backend, tmp_path):
    picture = tmp_path / "energy.png"
    arguments = ["scale", "-n", "64", "-T", "9", "--plot", str(picture)]
    done = subprocess.run(
        [sys.executable, "-m", "signalprop", *arguments], check=False, capture_output=True, text=True,
        timeout=120, env=os.environ | {"MPLBACKEND": backend},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("module", ["typer", "signalprop.cli._options", "signalprop.citations"])
def test_cite_interrupted_while_it_loads_is_no_traceback(module):
    code = (
        "import signal, os, sys, importlib.abc, runpy\n"
        "class Interrupt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == '{module}': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['signalprop', 'cite', 'tempered']\n"
        "runpy.run_module('signalprop', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_the_command_starts_where_an_interrupt_is_caught():
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"signalprop": "signalprop.__main__:main"}


def test_the_bare_command_prints_its_help_as_it_stands():
    bare, asked = runner.invoke(app, []), runner.invoke(app, ["--help"])
    assert bare.exit_code == 2
    assert bare.stderr.strip() == asked.stdout.strip()
    assert len(bare.stderr.splitlines()) > 15


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sample", "-n", "3", "-k", "2", "--method", "foo"], "'--method': 'foo' is not one of 'krylov'"),
        (["energy", "-n", "3", "-k", "2", "--scale", "x"], "'--scale': it must be a number, got 'x'."),
        (["moment", "GG*", "--field", "quaternion"], "--field quaternion has no loop equations here; take the real result"),
        (["recurrence", "s4d-lin", "-n", "7"], "--states must be even"),
        (["recurrence", "gaussian", "--field", "quaternion"], "use --field real or complex, or signalprop energy --model"),
        (["regime", "-n", "100", "-k", "8000", "--field", "quaternion", "--model", "driven"], "-k must be at most 5000"),
        (["scale", "-n", "64", "-T", "9", "--criterion", "bounded", "--quantile", "0.5"],
         "--quantile belongs to --criterion quantile or edge;"),
        (["energy", "-n", str(10**19), "-k", "3"], "In Python, signalprop.exact has no bound on n."),
        (["reproduce", "--directory", "/dev/null"], "'/dev/null' cannot be used (File exists): "),
        (["train", "--task", "adding", "--set", "steps=1"], "task adding: steps must be at least 2, got 1."),
        (["train", "--task", "arrays", "--set", "path="], "--set path is empty"),
        (["train", "--task", "arrays", "--set", "path=x", "--set", "classes=None"], "must be a whole number, got 'None'."),
        (["train", "--clip", "-1"], "--clip must be a finite number, at least 0, got -1.0."),
    ],
)  # fmt: skip
def test_refusals_speak_as_a_shell_does(arguments, sentence, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not re.search(r"Errno|Value error|None or|max_states|\w='", result.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ["energy", "-n", "1", "-k", "99996", "--field", "complex"],
        ["regime", "-n", "7", "-k", "100000", "--field", "complex"],
        ["sample", "-n", "1", "-k", "5", "--samples", "30"],
        ["scale", "-n", "1000000", "-T", "999700"],
        ["scale", "-n", "64", "-T", "1", "--criterion", "quantile", "--bound", "1000000", "--samples", "200"],
        ["scale", "-n", "64", "-T", "1", "--criterion", "bounded", "--tolerance", "1e6"],
        ["recurrence", "gaussian", "-n", "16", "-T", "100", "--scale", "3"],
        ["recurrence", "rotrnn", "-n", "1", "-T", "1"],
        ["recurrence", "lru", "-n", "1", "-T", "1"],
        ["verify", "--list", "--only", "second threshold"],
    ],
)
def test_numbers_are_read_at_a_glance_and_one_is_singular(arguments):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0
    assert not re.search(r"\de\+\d|\be\^", result.stdout)
    assert not re.search(r"\b1 (steps|states|inputs|units|checks|times as)|\n ", result.stdout.replace("\n  ", ""))


def test_what_stands_above_is_above():
    """A capped scale has no interval of its own: that of what would do is said instead."""
    text = runner.invoke(app, ["scale", "-n", "4096", "-T", "64", "--criterion", "quantile"]).stdout
    assert re.search(r"scale g +1   \(up to 1\.\d+ would do, 95 % interval 1\.\d+ \.\. 1\.\d+\)", text)
    whole = " ".join(runner.invoke(app, ["scale", "-n", "4096", "-T", "64"]).stdout.split())
    assert "'quantile' is Glorot's own g = 1, and draws keep its promise up to g = 1." in whole
    assert "interval 1 .. 1" not in whole
    assert "the average is V" not in runner.invoke(app, ["scale", "-n", "100", "-T", "30000"]).stdout


def test_a_number_is_never_parted():
    advice = advise(512, 2000)
    for width in range(40, 100):
        assert not re.search(r"\d\n +\d{3}\b", page(advice, width)), width
    assert "a width of about 260 000" in " ".join(page(advice, 60).split())
