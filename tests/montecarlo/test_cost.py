"""Work without end is refused before it starts, with what it would cost and what would do instead."""

import subprocess
import sys

import pytest

import signalprop
from signalprop import sample
from signalprop.fields import Field
from signalprop.ginibre import krylov, tempered
from signalprop.montecarlo import Plan, rare_events
from signalprop.montecarlo.cell import as_cell
from tests.montecarlo.runs import quiet


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: quiet(Plan("real", 10**4, k=10, method="dense", samples=2**30)),
            r"A plan of one cell would take about \d+ years, and 30 days .*method='krylov' has the same law .*allow\(hours=",
        ),
        (
            lambda: quiet(Plan(["real", "complex"], range(1, 3000), k=900, samples=2**20)),
            r"A plan of 5998 cells would take about",
        ),
        (lambda: quiet(Plan("real", 10, k=1, samples=2**30)), r"GiB of memory|would take"),
        (lambda: Plan("real", 10, c=1e12), r"One draw of width 10 and 3\d+ steps would take about .* GiB of memory"),
        (lambda: Plan("real", 10, c=1e308), r"c = 1e\+308 is more steps than a number can hold at n = 10"),
        (lambda: sample(10**4, 10**4, "real", samples=10**4, method="dense"), "hours are allowed"),
        (lambda: sample(10, 10**9, "real", samples=128, method="tempered"), "GiB of memory, and"),
        (lambda: rare_events.estimate(10, 10**9, "real"), r"16 repetitions of 256 particles .* 24 hours are allowed"),
        (lambda: tempered.log_paths(10, 10**18, "complex"), "millions of years"),
    ],
)
def test_refused_before_it_starts(call, message, monkeypatch):
    monkeypatch.setattr("signalprop._cost.physical_memory", lambda: 8.0 * 2**30)
    with pytest.raises(ValueError, match=message):
        call()


def test_allow_lets_it_begin(monkeypatch):
    def begun(*_):
        raise InterruptedError

    monkeypatch.setattr("signalprop.montecarlo.run.cut", begun)
    with signalprop.allow(hours=10**7), pytest.raises(InterruptedError):
        quiet(Plan("real", 10**4, k=10, method="dense", samples=2**20))


def test_a_command_names_its_option(tmp_path):
    Plan("real", 10**4, k=10, method="dense", samples=2**30).save(tmp_path / "plan.toml")
    done = subprocess.run(
        [sys.executable, "-m", "signalprop", "run", str(tmp_path / "plan.toml"), "--directory", str(tmp_path / "run")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--max-hours" in done.stderr
    assert "allow(" not in done.stderr
    assert not (tmp_path / "run" / "blocks").exists()


def test_one_pair_among_many_depths_is_found_at_once():
    class Counting(int):
        compared = 0

        def __eq__(self, other):
            Counting.compared += 1
            return int(self) == int(other)

        __hash__ = int.__hash__

    from signalprop.montecarlo.plan import _refuse_twice

    values = [Counting(i) for i in range(3000)] + [Counting(7)]
    with pytest.raises(ValueError, match="k holds 7 twice"):
        _refuse_twice(values, "k")
    assert Counting.compared < 10 * len(values)


def test_long_paths_of_narrow_layers_come_in_small_chunks():
    for n, method in ((1, "krylov"), (2, "dense")):
        cell = as_cell(n, 600_000, "real", samples=1000, seed=0, method=method)
        assert cell.room < 2**30
    assert (
        krylov.samples_per_chunk(100, 50, Field.REAL) == 205
    )  # digits of chunks that were always small are what they were
