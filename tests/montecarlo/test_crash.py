"""A run that is killed at any moment ends, when resumed, with the table of a run that was not."""

import os
import random
import signal
import threading
import time
from multiprocessing import connection

import pytest

from signalprop.montecarlo.processes import Processes
from tests.montecarlo.runs import LONG, PLAN, SHORT, numbers, quiet, start, wait_for_blocks


def finish(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, (out, err)


def kill(process):
    """End a process as the system would: no handler, no clean-up."""
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
def test_killed_twice_and_resumed(tmp_path):
    directory = tmp_path / "run"
    for blocks in (2, 5):
        process = start(SHORT, directory)
        wait_for_blocks(process, directory, blocks)
        kill(process)
    finish(start(SHORT, directory))
    assert (directory / "table.csv").read_text() == numbers(quiet(SHORT))


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    stat = file.read()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(name))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_worker_processes_do_not_outlive_a_killed_run(tmp_path):
    directory = tmp_path / "run"
    process = start(SHORT, directory, "--executor", "processes", "--workers", "2")
    wait_for_blocks(process, directory, 2)
    workers = children(process.pid)
    assert len(workers) >= 2
    kill(process)
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in workers):
        assert time.monotonic() < deadline, "workers are still there"
        time.sleep(0.05)
    finish(start(SHORT, directory, "--executor", "processes"))
    assert (directory / "table.csv").read_text() == numbers(quiet(SHORT))


def suicide(times, directory):
    """A task that dies by SIGKILL the first `times` times it is tried."""
    tries = len(list(directory.glob("try*")))
    (directory / f"try{tries}").write_text("")
    if tries < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return 5


@pytest.fixture
def processes():
    pool = Processes(2)
    yield pool
    pool.stop()


def test_a_task_whose_worker_dies_is_done_again_and_given_up_in_the_end(tmp_path, processes):
    (tmp_path / "one").mkdir()
    (tmp_path / "all").mkdir()
    again, never = processes.submit(suicide, 1, tmp_path / "one"), processes.submit(suicide, 99, tmp_path / "all")
    assert again.result(120) == 5
    with pytest.raises(
        ChildProcessError, match="3 worker processes died with the same block, perhaps for want of memory"
    ):
        never.result(120)
    assert processes.submit(os.getpid).result(120) != os.getpid()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("moment", ["working", "sending"])
def test_a_worker_killed_while_it_works_or_sends(tmp_path, processes, moment):
    # 64 MB do not fit into a pipe: a worker that has begun to send them hangs in the middle until the parent reads.
    if moment == "sending":
        processes.submit(os.getpid).result(120)
        parent_reads = threading.Event()
        pipe_recv = connection.Connection.recv

        def slow(self):
            parent_reads.wait(60.0)
            return pipe_recv(self)

        connection.Connection.recv = slow
    try:
        future = processes.submit(announced, tmp_path, moment)
        pid = None
        deadline = time.monotonic() + 60.0
        while pid is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            pid = next((int(path.name) for path in tmp_path.glob("[0-9]*")), None)
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
    finally:
        if moment == "sending":
            connection.Connection.recv = pipe_recv
            parent_reads.set()
    assert len(future.result(60)) == (1 << 26 if moment == "sending" else 1)
    assert len(list(tmp_path.glob("[0-9]*"))) == 2  # done twice


def announced(directory, moment):
    """Say who works; then send much, or work for ever the first time."""
    first = not list(directory.glob("[0-9]*"))
    (directory / str(os.getpid())).write_text("")
    if moment == "working" and first:
        time.sleep(600.0)
    return b"x" * (1 << 26) if moment == "sending" else b"x"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_dead_workers_change_no_digit(tmp_path, monkeypatch):
    from signalprop import run

    monkeypatch.setattr("signalprop.montecarlo.blocks._SHORTEST", 0.002)
    before = set(children(os.getpid()))
    killed = []

    def kill_one(state):
        if state.done % 5 == 3:
            workers = [pid for pid in set(children(os.getpid())) - before if is_worker(pid)]
            if workers:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(workers[0])

    frame = run(PLAN, tmp_path, "processes", progress=kill_one, workers=2)
    assert len(killed) >= 2
    assert numbers(frame) == numbers(quiet(PLAN))


def is_worker(pid):
    """Whether a child is a spawned worker, not the resource tracker beside it."""
    with open(f"/proc/{pid}/cmdline") as file:
        return "spawn_main" in file.read()


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path, record_property):
    undisturbed = tmp_path / "undisturbed"
    began = time.monotonic()
    finish(start(LONG, undisturbed))
    whole = time.monotonic() - began
    want = (undisturbed / "table.csv").read_bytes()
    rng = random.Random(20)
    moments, same = [], 0
    for attempt in range(20):
        directory = tmp_path / str(attempt)
        moment = rng.uniform(0.0, whole)
        process = start(LONG, directory)
        time.sleep(moment)
        ended = process.poll() is not None
        kill(process) if not ended else process.communicate()
        kept = len(list(directory.glob("blocks/*.bin")))
        finish(start(LONG, directory))
        same += (directory / "table.csv").read_bytes() == want
        moments.append((round(moment, 2), kept, ended))
    record_property("moments", str(moments))
    print(f"whole {whole:.1f} s; (moment, blocks kept, had ended): {moments}")
    assert same == 20
    assert sum(kept > 0 and not ended for _, kept, ended in moments) >= 5  # most kills hit the middle of the drawing


def test_dask_workers_make_the_same_table_also_when_one_is_killed(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from signalprop import run

    monkeypatch.setattr("signalprop.montecarlo.blocks._SHORTEST", 0.002)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",  # None is the port 8787, which another program may hold
            worker_dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        want = numbers(quiet(PLAN))
        assert numbers(quiet(PLAN, executor=client)) == want
        address = cluster.scheduler_address.removeprefix("tcp://")
        assert numbers(quiet(PLAN, tmp_path / "by_address", f"dask://{address}")) == want

        pids = client.run(os.getpid)
        assert len({os.getpid(), *pids.values()}) == 3
        killed = []

        def kill_one(state):
            if state.done == 5:
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)

        frame = run(PLAN, tmp_path / "killed", client, progress=kill_one)
        assert len(killed) == 1
        assert numbers(frame) == want


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no such host:3"])
def test_no_scheduler_there(address, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("signalprop.montecarlo.executors._SCHEDULER_TIMEOUT", "1s")
    with pytest.raises(ValueError, match=f"no Dask scheduler answers at {address}"):
        quiet(PLAN, executor=f"dask://{address}")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_workers_killed_at_twenty_random_moments(tmp_path, record_property):
    # While they start, wait, work and send: the run goes on and its table is that of an undisturbed one.
    want = numbers(quiet(SHORT))
    rng = random.Random(7)
    killed = 0
    for attempt in range(20):
        directory = tmp_path / str(attempt)
        process = start(SHORT, directory, "--executor", "processes", "--workers", "2")
        deadline = time.monotonic() + rng.uniform(0.0, 12.0)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        for pid in [pid for pid in children(process.pid) if is_worker(pid)][:1]:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        finish(process)
        assert (directory / "table.csv").read_text() == want
    record_property("killed", killed)
    print(f"{killed} workers killed in 20 runs, 20 tables identical")
    assert killed >= 5
