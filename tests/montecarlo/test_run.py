import json
import os
import random
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from signalprop import energy, run, sample
from signalprop.montecarlo import Plan
from signalprop.montecarlo.blocks import cut
from signalprop.montecarlo.table import COLUMNS
from tests.montecarlo.runs import PLAN, SHORT, numbers, quiet, small_blocks, start, wait_for_blocks  # noqa: F401

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_rows_are_the_estimates_of_sample():
    frame = quiet(PLAN)
    assert len(frame) == 2 * len(PLAN.cells)
    for row in frame.itertuples():
        draw = sample(row.n, row.k, row.field, samples=row.samples, seed=row.seed)
        one = draw.rnn() if row.model == "rnn" else draw.lru()
        assert row.log_mean == one.log_mean
        assert row.relative_stderr == one.relative_stderr
        assert (row.tail_share, row.tail_index) == (one.tail_share, one.tail_index)
        assert (row.trusted, row.verdict) == (one.trusted, one.verdict)
        assert row.log_exact == pytest.approx(one.log_exact, abs=1e-12)
        assert (0.95, row.log_q95_low, row.log_q95_high) in one.log_intervals
        if row.model == "rnn":
            assert row.log_peak_q50 == dict(draw.peak().log_quantiles)[0.5]
    assert frame.attrs["plan"] == PLAN.to_toml()
    assert set(frame["plan"]) == {PLAN.digest[:12]}
    assert set(COLUMNS) <= set(frame.columns)


def test_trusted_means_agree_with_the_exact_ones():
    frame = quiet(PLAN)
    trusted = frame[frame["trusted"]]
    assert len(trusted) >= 8
    assert trusted["z"].abs().max() < 4
    exact = energy.rnn_energy(frame["n"].to_numpy(), frame["k"].to_numpy(), "real", log=True)
    mine = (frame["model"] == "rnn") & (frame["field"] == "real")
    np.testing.assert_allclose(frame["log_exact"][mine], exact[mine], rtol=1e-12)


def test_no_mean_without_its_verdict():
    frame = quiet(Plan("real", 100, k=50, samples=500))
    assert not frame["trusted"].any()
    assert "not reachable with plain sampling" in frame["verdict"][0]
    assert "use method='tempered', or read the exact mean or the median" in frame["verdict"][0]


TEMPERED = Plan(["real", "complex"], 30, k=[5, 12], samples=512, method="tempered", models=["rnn", "lru"], seed=3)


def test_tempered_means_reach_what_plain_draws_miss(tmp_path):
    frame = quiet(TEMPERED, tmp_path, workers=2)
    assert len(frame) == 8
    for row in frame.itertuples():
        draw = sample(row.n, row.k, row.field, samples=512, seed=3, method="tempered")
        one = draw.rnn() if row.model == "rnn" else draw.lru()
        assert (row.log_mean, row.relative_stderr, row.verdict) == (one.log_mean, one.relative_stderr, one.verdict)
        assert row.samples == one.samples == 16
        assert draw.cell.samples == 512
    assert frame["trusted"].all()
    assert frame["z"].abs().max() < 5.2  # Student's law, 15 degrees of freedom: one run of eight rows in a thousand
    singles = [name for name in frame if name.startswith(("log_q", "log_peak", "log_median", "tail", "ess"))]
    assert len(singles) > 20
    assert frame[singles].isna().all(axis=None)
    assert numbers(frame) == numbers(quiet(TEMPERED, executor="processes", workers=2))
    assert numbers(frame) == numbers(quiet(TEMPERED, tmp_path))


class Shuffled:
    """Executor that finishes tasks out of order."""

    def __init__(self, pool, seed):
        self.pool, self.rng = pool, random.Random(seed)

    def submit(self, function, *arguments):
        def late(pause):
            time.sleep(pause)
            return function(*arguments)

        return self.pool.submit(late, 0.05 * self.rng.random())


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_threads_make_the_same_table(workers, tmp_path):
    assert numbers(quiet(PLAN, tmp_path, workers=workers)) == numbers(quiet(PLAN, workers=3))


@pytest.mark.parametrize("seed", [1, 2])
def test_order_does_not_matter(tmp_path, seed):
    order = []
    with ThreadPoolExecutor(4) as pool:
        frame = run(PLAN, tmp_path, Shuffled(pool, seed), progress=lambda state: order.append(state.latest[0].number))
    assert numbers(frame) == numbers(quiet(PLAN))
    assert order != sorted(order)
    assert sorted(order) == list(range(len(cut(PLAN))))


def test_processes_make_the_same_table(tmp_path):
    assert numbers(quiet(PLAN, tmp_path, "processes", workers=2)) == numbers(quiet(PLAN))


def test_what_is_there_is_not_drawn_again(tmp_path, monkeypatch):
    whole = quiet(PLAN, tmp_path)
    monkeypatch.setattr("signalprop.montecarlo.run.draw_block", None)
    assert numbers(quiet(PLAN, tmp_path)) == numbers(whole)
    assert pd.read_csv(tmp_path / "table.csv")["verdict"].tolist() == whole["verdict"].tolist()


def test_a_run_that_fails_goes_on_where_it_was(tmp_path):
    def stop(state):
        if state.done >= 5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        run(PLAN, tmp_path, progress=stop)
    seen = []
    frame = run(PLAN, tmp_path, progress=lambda state: seen.append(state.done))
    assert seen[0] >= 6  # one more block may have been ready when it stopped
    assert numbers(frame) == numbers(quiet(PLAN))


def test_progress_and_running_estimates():
    shares, tables = [], []

    def watch(state):
        shares.append(state.share)
        if state.done in (2, state.total):
            tables.append((state.table(), state.text(), state.seconds_left))

    frame = run(PLAN, progress=watch, workers=1)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    (part, text, left), (last, _, nothing) = tables
    assert 0 < len(part) < len(frame)
    assert part["samples"].iloc[-1] <= PLAN.samples
    assert "verdict" in part
    assert "real n=400 k=10: median" in text
    assert left > 0
    assert nothing == pytest.approx(0.0, abs=1e-6)
    assert numbers(last) == numbers(frame)


def test_blas_is_held_once_and_let_go():
    from threadpoolctl import threadpool_info

    from signalprop._blas import one_blas_thread

    def counts():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = counts()
    inside, entered, leave = [], threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        entered.wait(30)
        inside.append(counts())
    inside.append(counts())  # the other one is still inside
    leave.set()
    thread.join()
    assert all(set(one) <= {1} for one in inside)
    assert counts() == before


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        (
            "rayon",
            "executor must be one of threads, processes, dask://HOST:PORT, tls://HOST:PORT, an executor or a Dask client, "
            "got 'rayon'",
        ),
        ("dask://", "executor must be one of"),
        (42, "executor must be one of"),
        (np.array([1, 2]), r"executor must be one of .* got array\(\[1, 2\]\)"),
    ],
)
def test_unknown_executors(executor, message):
    with pytest.raises(ValueError, match=message):
        quiet(PLAN, executor=executor)


def test_not_a_plan():
    with pytest.raises(
        ValueError, match=r"plan must be a signalprop\.montecarlo\.Plan, as run needs one, got 'plan\.toml'"
    ):
        run("plan.toml")
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        run(PLAN, workers=0)


def test_ctrl_c_leaves_a_directory_to_go_on_with(tmp_path):
    directory = tmp_path / "run"
    process = start(SHORT, directory)
    wait_for_blocks(process, directory, 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert f"To go on: signalprop run {directory}.toml --directory {directory}\n" in err
    assert "Traceback" not in err
    done = len(list(directory.glob("blocks/*.bin")))
    process = start(SHORT, directory, "--json")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert len(rows) == len(SHORT.cells)
    assert all(row["verdict"] for row in rows)
    assert done < len(list(directory.glob("blocks/*.bin")))


@pytest.mark.parametrize(
    ("plan", "options"),
    [
        (Plan("quaternion", 10**6, k=3000, samples=4), ["--executor", "threads", "--workers", "1"]),
        (Plan("real", 4000, k=10**4, samples=4, method="dense"), ["--executor", "threads", "--workers", "1"]),
        (Plan("quaternion", 10**6, k=3000, samples=4), ["--executor", "processes", "--workers", "1"]),
    ],
)
def test_ctrl_c_does_not_wait_for_a_block_of_a_minute(plan, options, tmp_path):
    directory = tmp_path / "run"
    process = start(plan, directory, *options)
    while not (directory / "manifest.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    time.sleep(3.0)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=120)
    assert time.monotonic() - began < 20.0  # two seconds, on a machine with nothing else to do
    assert (process.returncode, out) == (130, "")
    assert err.endswith(f"To go on: signalprop run {directory}.toml --directory {directory} {' '.join(options)}\n")


def test_a_second_process_says_so_and_stops(tmp_path):
    directory = tmp_path / "run"
    first = start(SHORT, directory)
    wait_for_blocks(first, directory, 1)
    first.send_signal(signal.SIGSTOP)  # alive, and not done before the second one looks
    second = start(SHORT, directory)
    _, err = second.communicate(timeout=120)
    assert second.returncode == 2
    assert f"{directory} is in use by another process (process {first.pid} on " in err
    assert "Traceback" not in err
    assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)  # its lock dies with it
    first.communicate()
    third = start(SHORT, directory)
    out, err = third.communicate(timeout=300)
    assert third.returncode == 0, err
    assert "what the mean is worth" in out


class AtOnce:
    """An executor whose tasks are done, or have failed, when they are handed over."""

    def __init__(self, error=None):
        self.error = error

    def submit(self, function, *arguments):
        future = Future()
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(function(*arguments))
        return future


def test_blocks_that_are_ready_are_kept_whatever_ends_the_run(tmp_path):
    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(PLAN, tmp_path, AtOnce(), progress=stop)
    kept = len(list(tmp_path.glob("blocks/*.bin")))
    assert kept == len(cut(PLAN)) > 5  # one was taken, the others were ready
    assert numbers(quiet(PLAN, tmp_path)) == numbers(quiet(PLAN))


def test_a_cluster_that_gives_up_is_a_sentence():
    lost = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})("block")
    for error in (lost, BrokenExecutor("gone")):
        with pytest.raises(
            ChildProcessError, match=f"the workers are gone .{type(error).__name__}., perhaps for want of memory"
        ):
            quiet(PLAN, executor=AtOnce(error))
    with pytest.raises(KeyError, match="mine"):
        quiet(PLAN, executor=AtOnce(KeyError("mine")))
