"""Whatever surrounds the command line: encodings, terminals, places that cannot be written or are gone, odd file names."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from signalprop.cli import app

PACKAGE = Path(__file__).parents[1] / "signalprop"
PLAN = 'fields = ["real"]\nn = [8]\nk = [3]\nsamples = 64\nseed = 1\n'
# Runs each command of the first argument in this process, and says what came of it in JSON.
RUNNER = """
import json, sys
from typer.testing import CliRunner
from signalprop.cli import app
outcomes = []
for line in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, line)
    outcomes.append([done.exit_code, done.stderr, repr(done.exception)])
print(json.dumps(outcomes))
"""
TRAINING = ["train", "--task", "copy", "--layer", "lru", "--steps", "2", "--width", "4", "--depth", "1", "--state", "4"]


def environment(**changes):
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **changes}


def python(*arguments, timeout=300, **changes):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, timeout=timeout, check=False, env=environment(**changes)
    )


@pytest.fixture
def invoke():
    from typer.testing import CliRunner

    return lambda *line: CliRunner().invoke(app, [str(part) for part in line])


# ---- encodings ----


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"PYTHONIOENCODING": "ascii"}, rb"\xe9 \u6f22 \udcff"),
        ({"PYTHONIOENCODING": "cp1252"}, b"\xe9 \\u6f22 \\udcff"),
        ({"PYTHONIOENCODING": "utf-8"}, "é 漢 \\udcff".encode()),
        (
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:surrogateescape"},
            b"\\xe9 \\u6f22 \xff",
        ),
    ],
)
def test_what_a_stream_has_no_code_for_is_escaped(settings, shown):
    """A path as it may stand in a plan or on the command line, printed to either stream."""
    code = (
        "import sys; from signalprop.cli._standard_streams import escape_what_cannot_be_encoded as escape; escape();"
        "print('\\u00e9 \\u6f22', '\\udcff'); print('\\u00e9 \\u6f22', '\\udcff', file=sys.stderr)"
    )
    done = python("-c", code, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown + b"\n"
    assert done.stderr.decode("latin-1").strip() in {shown.decode("latin-1"), rb"\xe9 \u6f22 \udcff".decode()}


def test_a_path_in_the_output_of_a_command(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    directory = os.fsencode(tmp_path) + b"/\xff \xc3\xa9\n"
    done = subprocess.run(
        [sys.executable, "-m", "signalprop", "run", str(tmp_path / "plan.toml"), "--directory", directory],
        capture_output=True, timeout=300, check=False, env=environment(PYTHONIOENCODING="ascii"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"\\udcff" in done.stdout
    assert Path(os.fsdecode(directory), "table.csv").exists()


def test_nothing_but_ascii_is_said_unless_it_was_given(invoke):
    for line in (
        ["scale", "-n", 512, "-T", 100],
        ["scale", "-n", 512, "-T", 5000, "--criterion", "quantile"],
        ["recurrence", "rotrnn", "-n", 8, "-T", 20],
        ["regime", "-n", 100, "-k", 10],
        ["energy", "-n", 100, "-k", 1000],
        ["verify", "--list"],
        ["cite", "all"],
        ["cite", "nonsense"],
        ["info"],
        *([command, "--help"] for command in ("scale", "sample", "run", "train", "reproduce", "verify", "recurrence")),
    ):
        done = invoke(*line)
        assert (done.stdout + done.stderr).isascii(), line


# ---- terminals ----


@pytest.mark.parametrize("columns", ["", "0", "1", "10", "-5", "x", "99999999"])
def test_any_number_of_columns(invoke, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for line in (["scale", "-n", 64, "-T", 100], ["energy", "-n", 8, "-k", 3], ["energy", "-n", 0, "-k", 3]):
        done = invoke(*line)
        assert done.exit_code == (2 if 0 in line else 0), done.stderr
        words = f"{done.stdout}{done.stderr}".split()
        assert "Traceback" not in words
        assert ("signalprop:" in words) == (0 in line)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"TERM": "dumb"},
        {"TERM": ""},
        {"TERM": "nonsense"},
        {"TERM": "xterm", "NO_COLOR": "1"},
        {"TERM": "xterm", "PYTHONIOENCODING": "ascii"},
        {"TERM": "xterm", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TERM": "xterm", "COLUMNS": "1"},
        {"TERM": "xterm", "COLUMNS": "1000000", "LINES": "0"},
    ],
)
def test_a_bar_on_any_terminal(settings):
    import pty

    master, slave = pty.openpty()
    line = [sys.executable, "-m", "signalprop", "sample", "-n", "300", "-k", "60", "--samples", "3000"]
    with subprocess.Popen(line, stdin=slave, stdout=slave, stderr=slave, env=environment(**settings)) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                seen += os.read(master, 65536)
            except OSError:  # the other end was closed
                break
    os.close(master)
    assert process.returncode == 0
    assert b"median draw" in seen
    assert b"Traceback" not in seen
    if settings.get("TERM") == "dumb":
        assert b"\x1b" not in seen
    if "ascii" in settings.values() or "LC_ALL" in settings:
        assert max(seen) < 128


# ---- places that are gone, cannot be written, or do not take the name ----


def test_a_working_directory_that_was_removed(invoke, tmp_path, monkeypatch):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for line in (
        ["scale", "-n", 8, "-T", 3, "--plot", "a.png"],
        ["run", "plan.toml", "--directory", tmp_path / "a"],
        ["run", plan, "--directory", "a"],
        ["reproduce", "--quick", "--only", "scale_512"],
        ["train", "--config", "settings.toml"],
        [*TRAINING, "--directory", tmp_path / "b"],
    ):
        done = invoke(*line)
        assert (done.exit_code, isinstance(done.exception, SystemExit)) == (2, True), line
        said = " ".join(done.stderr.split())
        assert "working directory was removed; change to another one." in said, said
    for line in (["energy", "-n", 8, "-k", 3], ["info"], ["run", plan, "--directory", tmp_path / "c"]):
        assert invoke(*line).exit_code == 0, line


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("file/a", "a part of it is a file"),
        ("x" * 300, "shorten it"),
        ("circle", "its symbolic links lead in a circle"),
        ("none/a.png", "check the name"),
    ],
)
def test_places_that_the_system_refuses(invoke, tmp_path, place, remedy):
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    where = tmp_path / place
    if not place.endswith(".png"):
        where = where / "a.png"
    done = invoke("scale", "-n", 8, "-T", 3, "--plot", where)
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert remedy in said
    assert "Errno" not in said
    assert said.endswith(".")


def mounts_allowed(tmp_path):
    line = ["unshare", "-m", "mount", "--bind", str(tmp_path), str(tmp_path)]
    try:
        return subprocess.run(line, capture_output=True, check=False, timeout=60).returncode == 0
    except OSError:
        return False


def outcomes_of(lines, folder, mounts, **changes):
    """Exit codes and messages of commands in a folder after mounts that only they see."""
    script = f'{mounts}; cd "{folder}"; exec "$@"'
    runner = [sys.executable, "-c", RUNNER, json.dumps([[str(part) for part in line] for line in lines])]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", script, "sh", *runner],
        capture_output=True, text=True, timeout=600, check=False, env=environment(**changes),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_read_only_working_directory(tmp_path):
    if not mounts_allowed(tmp_path):
        pytest.skip("a directory that root cannot write needs a mount, which is not allowed here")
    folder = tmp_path / "folder"
    (folder / "begun").mkdir(parents=True)
    (folder / "plan.toml").write_text(PLAN)
    lines = [
        ["scale", "-n", 8, "-T", 3, "--plot", "a.png"],
        ["run", "plan.toml", "--directory", "run"],
        ["run", "plan.toml", "--directory", "begun"],
        ["reproduce", "--quick", "--only", "scale_512"],
        TRAINING,
        [*TRAINING, "--directory", "begun"],
        ["energy", "-n", 8, "-k", 3],
        ["sample", "-n", 8, "-k", 3, "--samples", 64],
    ]
    mounts = f'mount --bind "{folder}" "{folder}"; mount -o remount,bind,ro "{folder}"'
    outcomes = outcomes_of(lines, folder, mounts)
    for line, (code, said, exception) in zip(lines[:6], outcomes, strict=False):
        assert code == 2, (line, exception)
        said = " ".join(said.split())
        assert said.endswith("cannot be used (Read-only file system): name a place that can be written."), said
    assert [code for code, _, _ in outcomes[6:]] == [0, 0]


@pytest.mark.slow
def test_a_read_only_machine_with_one_folder_to_write(tmp_path):
    """As in a container: no home, no cache, no folder for temporary files, and results go to a volume."""
    if not mounts_allowed(tmp_path):
        pytest.skip("a read-only machine needs mounts, which are not allowed here")
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "plan.toml").write_text(PLAN)
    closed = f'/tmp /var /root "{PACKAGE}" "{tmp_path}"'
    mounts = (
        f'for one in {closed}; do mount --bind "$one" "$one"; mount -o remount,bind,ro "$one"; done;'
        f'mount --bind "{volume}" "{volume}"; mount -o remount,bind,rw "{volume}"; touch "{volume}/x";'
        f'for one in {closed}; do if touch "$one/x" 2>/dev/null; then exit 1; fi; done'
    )
    lines = [
        ["energy", "-n", 8, "-k", 3],
        ["sample", "-n", 8, "-k", 3, "--samples", 64],
        ["scale", "-n", 8, "-T", 3, "--plot", "a.png"],
        ["run", "plan.toml", "--directory", "run"],
        ["run", "plan.toml", "--directory", "processes", "--executor", "processes", "--workers", 2],
        ["reproduce", "--quick", "--only", "scale_512"],
        [*TRAINING, "--directory", "training"],
    ]
    gone = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"), "/proc/nowhere")
    outcomes = outcomes_of(lines, volume, mounts, **gone)
    assert [code for code, _, _ in outcomes] == [0] * len(lines), outcomes
    assert (volume / "run" / "table.csv").read_bytes() == (volume / "processes" / "table.csv").read_bytes()


# ---- matplotlib ----


@pytest.mark.slow
def test_matplotlib_without_a_home_and_with_a_style_of_the_user(tmp_path):
    """Its words about caches are not ours, and a figure looks the same whatever matplotlibrc lies around."""
    pictures = []
    for name, style in (
        ("plain", ""),
        ("styled", "text.usetex: True\nfont.size: 30\naxes.facecolor: red\nnonsense: 3\n"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "matplotlibrc").write_text(style)
        done = subprocess.run(
            [sys.executable, "-m", "signalprop", "scale", "-n", "8", "-T", "3", "--plot", "a.png"], cwd=folder,
            capture_output=True, text=True, timeout=300, check=False, env=environment(MPLCONFIGDIR="/proc/nowhere"),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        pictures.append((folder / "a.png").read_bytes())
    assert pictures[0] == pictures[1]


def test_every_figure_is_drawn_in_the_house_style():
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "style.context" in path.read_text(encoding="utf-8") or "style.use" in path.read_text(encoding="utf-8")
    ]
    assert found == ["_house_style.py"]


# ---- forks, threads, first starts ----

WORK = """
import signalprop
def work(_=None):
    return [
        float(signalprop.sample(12, 6, "real", samples=600, seed=3).log_norms.sum()),
        float(signalprop.sample(12, 6, "real", samples=100, seed=3, method="dense").log_norms.sum()),
        float(signalprop.sample(12, 30, "real", samples=256, seed=3, method="tempered").log_norms.sum()),
        float(signalprop.rnn_energy(50, 60, "real")),
        float(signalprop.safe_scale(64, 40, "real").scale),
        str(signalprop.exact.lru_energy(7, 5, "quaternion")),
        str(signalprop.precise.rnn_energy(30, 20, "real", digits=40)),
    ]
"""


def test_after_a_fork_and_from_many_threads(tmp_path):
    (tmp_path / "work.py").write_text(WORK)
    code = """
import os, signal, threading
from work import work
first = work()
child = os.fork()
if child == 0:
    signal.alarm(100)
    os._exit(work() != first)
assert os.waitpid(child, 0)[1] == 0
found = []
threads = [threading.Thread(target=lambda: found.append(work())) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join(100)
assert found == [first] * 6
"""
    done = python("-c", code, PYTHONPATH=f"{PACKAGE.parent}{os.pathsep}{tmp_path}")
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver"])
def test_in_pools_of_processes(tmp_path, kind):
    (tmp_path / "work.py").write_text(WORK)
    code = f"""
import multiprocessing
from work import work
if __name__ == "__main__":
    first = work()
    with multiprocessing.get_context({kind!r}).Pool(2) as pool:
        assert pool.map_async(work, range(4)).get(200) == [first] * 4
"""
    (tmp_path / "main.py").write_text(code)
    done = python(str(tmp_path / "main.py"), PYTHONPATH=f"{PACKAGE.parent}{os.pathsep}{tmp_path}")
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
def test_first_starts_at_once(tmp_path):
    """Four processes compile the same kernels into one empty cache; all agree, and so does one that reads what they left."""
    shutil.copytree(PACKAGE, tmp_path / "signalprop", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import signalprop; from signalprop.montecarlo import sampling;"
        "print(signalprop.__file__, signalprop.sample(12, 6, 'real', samples=200, seed=3).log_norms.sum(),"
        "signalprop.sample(12, 6, 'complex', samples=200, seed=3).log_norms.sum(), signalprop.rnn_energy(50, 60, 'real'))"
    )

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", code], env=environment(PYTHONPATH=str(tmp_path)), cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    together = [start() for _ in range(4)]
    said = [process.communicate(timeout=900) for process in together]
    later = start().communicate(timeout=900)
    assert str(tmp_path) in later[0]
    assert {*said, later} == {(later[0], "")}


@pytest.mark.parametrize("mask", ["0777", pytest.param("0000", marks=pytest.mark.slow)])
def test_a_mask_that_takes_or_gives_every_right(tmp_path, mask):
    """Files are made with the rights that the mask leaves; a run reads what it has written all the same."""
    (tmp_path / "plan.toml").write_text(PLAN)
    line = f"umask {mask}; exec {sys.executable} -m signalprop run plan.toml --directory results --json"
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, env=environment()
    )
    if os.geteuid() != 0 and mask == "0777":  # the folder of the run cannot be entered by whoever made it
        assert done.returncode == 2
        assert "check its permissions" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    expected = 0o666 & ~int(mask, 8)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "results").rglob("*") if path.is_file()} == {expected}


# ---- a numba that is told not to compile ----


@pytest.mark.slow
def test_without_compiled_code_all_is_slow_and_the_same(tmp_path):
    """NUMBA_DISABLE_JIT=1 runs every kernel in plain Python, those that are written in LLVM's words by their definitions."""
    code = """
import json, sys
import signalprop
from signalprop import wick
from signalprop.montecarlo import Plan
logs = [
    signalprop.sample(20, 30, field, samples=4, seed=3, method=method).log_norms.tolist()
    for field in ("real", "complex", "quaternion") for method in ("krylov", "dense")
]
logs.append(signalprop.sample(700, 9, "quaternion", samples=2, seed=3).log_norms.tolist())
logs.append(signalprop.sample(9, 5, "real", samples=128, seed=3, method="tempered").log_norms.tolist())
table = signalprop.run(Plan(fields=["real"], n=8, k=[3], samples=64), progress=False)
logs.append(table["log_mean"].tolist())
logs.append([float(signalprop.rnn_energy(500, 60, "real", log=True)), float(signalprop.lru_energy(50, 60, "complex", log=True))])
print(json.dumps([logs, [wick.cycle_counts(4, "real"), wick.cycle_counts(6, "complex"), wick.trace_moment(["GGG*G*"], "real")]]))
"""
    plain, compiled = (json.loads(python("-c", code, **changes).stdout) for changes in ({"NUMBA_DISABLE_JIT": "1"}, {}))
    assert plain[1] == compiled[1]
    for one, other in zip(plain[0], compiled[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
