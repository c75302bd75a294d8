"""Work on threads: in order, given up at once when nobody waits for it."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from signalprop import _threads
from signalprop._threads import Stopped, Threads, go_on, left_behind, result_of, stop_flag, thread_map
from signalprop.fields import Field
from signalprop.ginibre import _tilted, dense, krylov
from signalprop.ginibre._normals import fill_normal


class Counted:
    """A task that notes how often it was begun."""

    def __init__(self, seconds=0.0, fails_at=None):
        self.begun, self.seconds, self.fails_at = [], seconds, fails_at

    def __call__(self, item):
        self.begun.append(item)
        if item == self.fails_at:
            raise KeyError(item)
        for _ in range(int(self.seconds / 0.005)):
            go_on()
            time.sleep(0.005)
        return item


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("inline", [True, False])
def test_results_come_in_order(workers, inline):
    assert list(thread_map(lambda item: item**2, range(50), workers, inline=inline)) == [item**2 for item in range(50)]
    assert list(thread_map(Counted(), [], workers, inline=inline)) == []


def test_a_consumer_that_fails_drops_what_is_queued():
    task = Counted(seconds=0.2)

    def consume():
        for _ in thread_map(task, range(1000), 2):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        consume()
    assert len(task.begun) <= 4
    assert not left_behind()


def test_a_task_that_fails_drops_what_is_queued():
    task = Counted(fails_at=3)
    with pytest.raises(KeyError):
        list(thread_map(task, range(1000), 2))
    assert len(task.begun) < 30


def test_a_closed_map_tells_its_tasks_to_stop():
    task = Counted(seconds=60.0)
    results = thread_map(lambda item: 0 if item == 0 else task(item), range(3), 3)
    assert next(results) == 0
    results.close()
    assert not left_behind()  # a minute of work was left inside a second


def test_ctrl_c_does_not_wait_for_a_long_call():
    release = threading.Event()

    def task(item):
        if item == 0:
            os.kill(os.getpid(), signal.SIGINT)
        release.wait(60.0)  # cannot be told to stop

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(thread_map(task, range(8), 2, inline=False))
    assert time.monotonic() - began < 30.0
    assert left_behind()
    release.set()
    deadline = time.monotonic() + 30.0
    while left_behind():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_flags_are_of_one_pool():
    one, other = Threads(1), Threads(1)
    flags = [pool.submit(stop_flag).result() for pool in (one, other)]
    one.stop()
    assert [int(flag[0]) for flag in flags] == [1, 0]
    assert stop_flag()[0] == 0
    assert other.submit(lambda: 5).result() == 5
    other.stop()


@pytest.mark.parametrize(
    "work",
    [
        lambda rng: krylov.draw_chunk(50, 40, Field.REAL, 3, rng),
        lambda rng: dense.draw_chunk(5, 4, Field.QUATERNION, dense.Layer(), 3, rng),
        lambda rng: dense.draw_chunk(5, 4, Field.REAL, dense.Layer(tied=False), 3, rng),
        lambda rng: fill_normal(rng, np.empty(10)),
    ],
)
def test_drawing_stops_where_it_is_told_to(work, monkeypatch):
    flag = np.ones(1, np.int64)
    monkeypatch.setattr(_threads._own, "flag", flag, raising=False)
    with pytest.raises(Stopped):
        work(np.random.default_rng(0))
    flag[0] = 0
    work(np.random.default_rng(0))


def test_kernels_of_the_rare_event_sampler_leave_when_told():
    stop, out = np.ones(1, np.int64), np.full(2, 7.0)
    z = np.zeros((2, (4 + _tilted.PAD) ** 2))
    _tilted.norms_kernel(z, 3, 4, 1, out, stop)
    assert (out == 7.0).all()
    assert _tilted._norm(z[0], 3, 4, 1, 4 + _tilted.PAD, np.zeros(64), np.zeros(4), stop) == 0.0


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_pieces_of_normal_numbers_are_one_stream(scale, monkeypatch):
    monkeypatch.setattr("signalprop.ginibre._normals._PIECE", 7)
    want = np.random.default_rng(1).standard_normal((3, 4, 5)) * scale
    np.testing.assert_array_equal(fill_normal(np.random.default_rng(1), np.empty((3, 4, 5)), scale), want)


def test_a_ctrl_c_in_the_moment_a_wait_begins_is_heard():
    """The signal is taken by another thread, so that nothing wakes the one that waits."""
    release = threading.Event()
    threads = Threads(1)

    def pressed():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        release.wait(60.0)

    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            result_of(threads.submit(pressed))
    finally:
        release.set()
        threads.stop()
    assert time.monotonic() - began < 30.0
