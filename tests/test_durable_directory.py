"""`Directory` by itself: locks where there are none, and disks that are full."""

import errno
import fcntl
import os
import socket
import subprocess
import sys

import pytest

from signalprop._directory import DamagedError, Directory


def opened(path):
    return Directory(path, "training", "run it again")


@pytest.fixture
def no_flock(monkeypatch):
    def refuse(descriptor, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_where_there_are_no_locks_a_file_takes_their_place(tmp_path, no_flock):
    with opened(tmp_path):
        with pytest.raises(OSError, match=r"is in use by another process \(process \d+ on .*\)") as caught:
            opened(tmp_path)
        assert f"({os.strerror(errno.ENOLCK)}), so after a crash {tmp_path / 'lock.held'} stays behind" in str(
            caught.value
        )
        assert "if no such process is left, delete it" in str(caught.value)
    assert not (tmp_path / "lock.held").exists()
    with opened(tmp_path):
        pass


def test_what_a_killed_process_left_without_locks_is_named(tmp_path, no_flock):
    (tmp_path / "lock.held").write_text("process 7 on elsewhere\n")
    with pytest.raises(OSError, match=r"in use by another process \(process 7 on elsewhere\).* delete it"):
        opened(tmp_path)
    (tmp_path / "lock.held").unlink()
    os.mkfifo(tmp_path / "lock.held")
    with pytest.raises(OSError, match="which one is not known"):
        opened(tmp_path)


def test_another_failure_of_the_lock_has_a_path(tmp_path, monkeypatch):
    def refuse(descriptor, how):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match=r"lock cannot be locked: Input/output error"):
        opened(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_lock_that_is_no_file(tmp_path, make):
    make(tmp_path / "lock")
    with pytest.raises((ValueError, OSError), match="lock"):
        opened(tmp_path)


def test_two_processes(tmp_path):
    code = f"from signalprop._directory import Directory; Directory({str(tmp_path)!r}, 'run', '')"
    with opened(tmp_path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"in use by another process (process {os.getpid()} on {socket.gethostname()})" in done.stderr
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_sealed_files_and_json_come_back(tmp_path):
    with opened(tmp_path) as place:
        place.write_sealed("a", b"\n\x00content\n")
        assert place.read_sealed("a", 100) == b"\n\x00content\n"
        place.write_json("b.json", {"x": [1, 2.5, None], "\u03c7": "\u03c7"})
        assert place.read_json("b.json") == {"x": [1, 2.5, None], "\u03c7": "\u03c7"}
        with pytest.raises(DamagedError, match="more than the"):
            place.read_sealed("a", 3)
        with pytest.raises(FileNotFoundError):
            place.read("c", 3)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@pytest.mark.parametrize("number", FULL)
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, number, call):
    with opened(tmp_path) as place:
        place.replace("file", b"old")
        place.append("file", b" and new")
        original = getattr(os, call)

        def full(*arguments, **options):
            if call != "open" or "part" in str(arguments[0]):
                raise OSError(number, os.strerror(number))
            return original(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(
                OSError, match=r"no space for .*file \(5 bytes: .*What was done before is safe; make room and"
            ):
                place.replace("file", b"newer")
        assert (tmp_path / "file").read_bytes() == b"old and new"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "lock"]


def test_an_interrupt_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    def press(descriptor):
        raise KeyboardInterrupt

    with opened(tmp_path) as place:
        place.replace("file", b"old")
        monkeypatch.setattr(os, "fsync", press)
        with pytest.raises(KeyboardInterrupt):
            place.replace("file", b"new")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "lock"]
        assert (tmp_path / "file").read_bytes() == b"old"
