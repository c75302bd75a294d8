import itertools
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import __main__ as command
from benchmarks import counting, energies, guard, installation, polynomials, sampling, scan, startup
from benchmarks.report import growth_table, markdown, nice, times
from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender, Row, growth, measure, tasks
from signalprop import moments, rnn_energy
from signalprop.fields import Field
from signalprop.wick import reference


def row(size, seconds, role=OURS, exponent=None, contender=None):
    return Row("task", "case", "n", size, "each", contender or role, role, exponent, seconds, seconds, 2 * seconds, 3)


def test_contenders_take_turns_and_times_are_per_unit():
    order = []
    contenders = [
        Contender("a", OURS, lambda: (order.append("a"), sum(range(2_000_000)))),
        Contender("b", FLOOR, lambda: (order.append("b"), sum(range(2_000_000))), 1000.0),
    ]
    rows = measure("task", Comparison("case", "n", 5, "each", contenders, rounds=4))
    turns = "".join(name for name, _ in itertools.groupby(order))
    assert turns == "ab" * 5  # warm-up, then four rounds
    assert [one.rounds for one in rows] == [4, 4]
    assert all(one.fastest <= one.median <= one.slowest for one in rows)
    assert 100 < rows[0].fastest / rows[1].fastest < 10_000


def test_growth_finds_the_exponent_of_a_power_law():
    rows = [row(n, 3e-6 * n**1.7, exponent=2.0) for n in (10, 40, 100, 700)]
    rows += [row(n, 1e-6, FLOOR, 0.0) for n in (10, 40)]  # two sizes are no law
    (fit,) = growth(rows)
    assert fit.exponent == pytest.approx(1.7)
    assert fit.expected == 2.0
    assert "| n = 10 .. 700 | 1.70 | 2.00 |" in growth_table([fit])


def test_table_has_ratios_to_ours_and_to_the_largest_floor():
    rows = [row(8, 2e-3), row(8, 1e-3, FLOOR), row(8, 5e-4, FLOOR, contender="less"), row(8, 3e-2, OTHER)]
    lines = markdown("About.", "task", rows).splitlines()
    assert "| **signalprop** | 2 ms each | 2 ms .. 4 ms |  | 2.00x |" in lines[6]
    assert "15x | 30x |" in lines[9]


def test_units():
    assert [nice(v) for v in (1.5, 2e-3, 3.25e-6, 4e-9, 0.9999)] == ["1.5 s", "2 ms", "3.25 us", "4 ns", "1 s"]
    assert [times(v) for v in (1.234, 99.6, 1e6)] == ["1.23x", "100x", "1.0e+06x"]


def test_guard_names_what_got_slower_by_more_than_a_fifth(tmp_path):
    before = guard.ratios([row(1, 1.0), row(1, 0.5, FLOOR), row(2, 1.0), row(2, 4.0, OTHER)])
    assert before == {"task / case / n = 1": 2.0, "task / case / n = 2": 0.25}
    path = tmp_path / "baseline.json"
    assert guard.load(path) == {}
    guard.save(path, before, {"machine": "this"})
    guard.save(path, {"other": 3.0}, {"machine": "this"})
    assert guard.load(path) == {**before, "other": 3.0}
    now = guard.ratios([row(1, 1.1), row(1, 0.5, FLOOR), row(2, 1.3), row(2, 4.0, OTHER)])
    (line,) = guard.past(now, guard.load(path))
    assert line == "task / case / n = 2: ratio 0.325, baseline 0.25 (1.30x)"


SIZES = [{"extra": "", "packages": 12, "bytes": 60_000_000}]


def test_command_writes_tables_and_baseline(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr(installation, "sizes", lambda: SIZES)  # which reads every file of every package

    def comparisons(quick):
        for n in (1000, 3000, 9000) if quick else ():
            work = Contender("sum", OURS, lambda n=n: sum(range(n)), 1, 1.0)
            yield Comparison("numbers", "n", n, "", [work, Contender("less", FLOOR, lambda n=n: sum(range(n // 4)))], 2)

    monkeypatch.setattr(startup, "comparisons", comparisons)
    assert command.main(["startup", "--quick", "--write", str(tmp_path), "--baseline"]) == 0
    text = (tmp_path / "RESULTS.md").read_text()
    assert "## startup" in text
    assert "## Growth" in text
    printed = capsys.readouterr().out
    assert text.split("## Installation")[0].split("## startup")[1].strip() in printed
    content = json.loads((tmp_path / "results.json").read_text())
    assert len(content["tasks"]["startup"]["rows"]) == 6
    assert len(content["growth"]) == 1
    # Another task adds to the same files.
    monkeypatch.setattr(scan, "comparisons", comparisons)
    assert command.main(["scan", "--quick", "--write", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "results.json").read_text())
    assert list(content["tasks"]) == ["scan", "startup"]
    assert len(content["growth"]) == 2
    capsys.readouterr()
    slow = {name: ratio / 100 for name, ratio in guard.load(tmp_path / "baseline.json").items()}
    (tmp_path / "baseline.json").write_text(json.dumps({"ratios": slow}))
    assert command.main(["startup", "--quick"]) == 0
    assert "WARNING: startup / numbers / n = 1000: ratio" in capsys.readouterr().err
    assert command.main(["startup", "--quick", "--strict"]) == 1


TOY = '''"""Toy: a sum beside a shorter one."""

from benchmarks.suite import FLOOR, OURS, Comparison, Contender


def comparisons(quick):
    contenders = [Contender("sum", OURS, lambda: sum(range(2000))), Contender("less", FLOOR, lambda: sum(range(500)))]
    yield Comparison("numbers", "n", 2000, "each", contenders, rounds=2)
'''


def test_a_benchmark_is_found_by_its_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "helper.py").write_text("def comparison(quick): ...\n")
    before = tasks()
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(tmp_path)])
    monkeypatch.setitem(sys.modules, "benchmarks.toy", None)  # forgotten afterwards
    del sys.modules["benchmarks.toy"]
    assert set(tasks()) == {*before, "toy"}
    monkeypatch.setattr(command, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr(installation, "sizes", lambda: SIZES)
    assert command.main(["toy", "--write", str(tmp_path)]) == 0
    assert "## toy\n\nToy: a sum beside a shorter one." in (tmp_path / "RESULTS.md").read_text()
    assert "**sum**" in capsys.readouterr().out


def test_the_table_of_the_page_has_every_benchmark():
    page = (Path(benchmarks.__file__).parent / "README.md").read_text()
    assert {"counting", "scan", "startup"} <= set(tasks())
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(tasks())


def test_unknown_task(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["speed"])
    assert stop.value.code == 2
    assert "no task 'speed'; there are bookkeeping, cells, counting" in capsys.readouterr().err


def test_routes_of_the_enumerations_agree():
    assert counting.sympy_counts(4) == reference.permutation_counts(4)
    assert [counting.permutation_leaves(6, last) for last in (0, 4)] == [720, 720]
    assert [counting.matching_leaves(6, last) for last in (0, 4)] == [10395, 10395]
    assert polynomials.by_loop_equations(5, "real") == moments.trace_polynomial(5, "real")


def test_hafnian_route_agrees():
    pytest.importorskip("thewalrus", reason="The Walrus (extra bench) is not installed")
    want = sum(c * 2**power for power, c in enumerate(moments.trace_polynomial(2, "real")))
    assert counting.hafnian_moment(2) == pytest.approx(want)


def test_routes_of_the_energies_agree():
    n, k = np.array([5, 40, 10**6]), np.array([3, 40, 10**4])
    want = rnn_energy(n, k, "complex", log=True)
    np.testing.assert_allclose([float(one) for one in energies.by_mpmath(n, k)], want, rtol=1e-12)
    np.testing.assert_allclose(energies.by_gammaln(n, k), want, atol=1e-6)


@pytest.mark.parametrize("field", [Field.REAL, Field.COMPLEX])
def test_floors_do_the_work_they_name(field):
    # The plain triangle against matrix powers, and einsum against the exact mean.
    h = sampling.plain_triangle(12, field)
    square = np.hstack([h, np.zeros((13, 1))])
    assert sampling.triangle(h, 5, 2) == pytest.approx(2 * np.linalg.matrix_power(square, 5)[0, 0])
    norms = sampling.einsum_paths(30, 5, 400, field)
    energies_drawn = norms[:, 5] ** 2
    error = energies_drawn.std(ddof=1) / math.sqrt(400)
    assert abs(energies_drawn.mean() - float(rnn_energy(30, 5, field))) < 3.9 * error


@pytest.mark.slow
def test_installation_counts_what_is_needed():
    names = {one["extra"]: one for one in installation.sizes()}
    if not names:
        pytest.skip("signalprop is not installed as a distribution here")
    assert names[""]["packages"] > 10
    assert names[""]["bytes"] > 50_000_000
    assert all(one["bytes"] >= names[""]["bytes"] for one in names.values())
