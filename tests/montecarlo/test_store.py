import json
import logging
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest
import scipy

from signalprop._directory import _sealed_json
from signalprop.montecarlo import Plan
from signalprop.montecarlo.blocks import cut
from signalprop.montecarlo.store import RunDirectory
from tests.montecarlo.runs import PLAN, numbers, quiet, small_blocks  # noqa: F401

pytestmark = pytest.mark.usefixtures("small_blocks")


def damage(path, how, rng):
    """Flip one byte, cut the end off, or delete."""
    content = bytearray(path.read_bytes())
    if how == "flip":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif how == "cut":
        path.write_bytes(content[: rng.randrange(len(content))])
    else:
        path.unlink()


def damage_and_resume(plan, directory, count, caplog):
    """Damage files, one after the other in turn; all are drawn again, those that are there are named, the table stays."""
    rng = random.Random(0)
    whole = numbers(quiet(plan, directory))
    good = {path.name: path.read_bytes() for path in (directory / "blocks").iterdir()}
    picked = rng.sample(sorted(good), count)
    kinds = {name: ("flip", "cut", "delete")[i % 3] for i, name in enumerate(picked)}
    for name, how in kinds.items():
        damage(directory / "blocks" / name, how, rng)
    caplog.clear()
    drawn = []
    with caplog.at_level(logging.WARNING, "signalprop"):
        frame = quiet_and_count(plan, directory, drawn)
    assert numbers(frame) == whole
    assert sorted(drawn) == sorted(picked)
    named = sorted(Path(record.args[0]).name for record in caplog.records)
    assert named == sorted(name for name, how in kinds.items() if how != "delete")
    assert all("it is drawn again" in record.getMessage() for record in caplog.records)
    assert {path.name: path.read_bytes() for path in (directory / "blocks").iterdir()} == good


def quiet_and_count(plan, directory, drawn):
    from signalprop import run

    return run(plan, directory, progress=lambda state: drawn.append(f"{state.latest[0].number:06d}.bin"))


def test_damaged_files_are_named_and_drawn_again(tmp_path, caplog):
    damage_and_resume(PLAN, tmp_path, 9, caplog)


@pytest.mark.slow
def test_fifty_damaged_files(tmp_path, caplog):
    plan = Plan(["real", "complex"], [50, 400, 900], c=[0.5, 1.0, 1.5], samples=2000, seed=11)
    assert len(cut(plan)) > 60
    damage_and_resume(plan, tmp_path, 50, caplog)


def test_every_byte_counts(tmp_path):
    plan = Plan("real", 10, k=3, samples=4)
    quiet(plan, tmp_path)
    (block,) = cut(plan)
    (path,) = (tmp_path / "blocks").iterdir()
    content = path.read_bytes()
    store = RunDirectory(tmp_path, plan)
    for at in range(len(content)):
        broken = bytearray(content)
        broken[at] ^= 0x10
        path.write_bytes(broken)
        assert store.read(block) is None
    path.write_bytes(content)
    assert store.read(block) is not None
    store.close()


def test_damage_during_the_run_does_not_reach_the_table(tmp_path, caplog):
    from signalprop import run

    def spoil(state):
        if state.done == state.total:
            damage(tmp_path / "blocks" / "000001.bin", "flip", random.Random(1))

    frame = run(PLAN, tmp_path, progress=spoil)
    assert numbers(frame) == numbers(quiet(PLAN))
    assert "000001.bin" in caplog.text
    caplog.clear()
    assert numbers(quiet(PLAN, tmp_path)) == numbers(frame)
    assert caplog.text == ""


def test_another_plan_is_refused(tmp_path):
    quiet(PLAN, tmp_path)
    other = Plan(PLAN.fields, PLAN.n, c=PLAN.c, samples=800, models=PLAN.models, seed=12)
    with pytest.raises(
        ValueError, match=r"holds a run of another plan \(seed = 11 against seed = 12\); use an empty dir"
    ):
        quiet(other, tmp_path)
    with pytest.raises(ValueError, match=r"another plan \(no k against k = \[3\]\)"):
        quiet(Plan(PLAN.fields, PLAN.n, k=[3], samples=800, models=PLAN.models, seed=11), tmp_path)
    quiet(PLAN, tmp_path)


def test_no_resume_wants_an_empty_directory(tmp_path):
    quiet(PLAN, tmp_path, resume=False)
    with pytest.raises(ValueError, match="holds a run already; resume it, or use an empty directory"):
        quiet(PLAN, tmp_path, resume=False)


def test_other_versions_are_refused(tmp_path):
    quiet(PLAN, tmp_path)
    path = tmp_path / "manifest.json"
    good = path.read_bytes()
    for library, version in (("numpy", np.__version__), ("scipy", scipy.__version__), ("numba", numba.__version__)):
        change(path, lambda facts, library=library: facts["versions"].update({library: "1.2.3"}))
        with pytest.raises(
            ValueError, match=rf"was begun with {library} 1\.2\.3, now {version}, and digits may differ"
        ):
            quiet(PLAN, tmp_path)
        path.write_bytes(good)
    quiet(PLAN, tmp_path)


def change(path, how):
    """Change a manifest and give it the checksum of its new content, as another version would have."""
    facts = json.loads(path.read_text())
    facts.pop("sha256")
    how(facts)
    path.write_bytes(_sealed_json(facts))


def test_other_code_is_refused(tmp_path):
    """A second revision never continues a table; the revision alone, with the same files, may."""
    quiet(PLAN, tmp_path)
    path = tmp_path / "manifest.json"
    good = path.read_bytes()
    change(path, lambda facts: facts.update(code="0" * 64, git_revision="abc"))
    with pytest.raises(
        ValueError, match=r"was begun with other code of signalprop \(revision abc, now .*\), and numbers may"
    ):
        quiet(PLAN, tmp_path)
    path.unlink()
    quiet(PLAN, tmp_path)  # the blocks are those of this code
    path.write_bytes(good)
    change(path, lambda facts: facts.update(git_revision="abc"))
    quiet(PLAN, tmp_path)
    assert set(pd.read_csv(tmp_path / "table.csv")["git_revision"]) == {"abc"}


@pytest.mark.slow
def test_every_bit_of_the_manifest_counts(tmp_path):
    flip_bits(tmp_path)


def test_bits_of_the_manifest_count(tmp_path):
    flip_bits(tmp_path, 300)


def flip_bits(directory, count=None):
    quiet(Plan("real", 10, k=3, samples=4), directory)
    path = directory / "manifest.json"
    content = path.read_bytes()
    noticed = tried = 0
    bits = range(8 * len(content))
    for at in bits if count is None else random.Random(3).sample(bits, count):
        broken = bytearray(content)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        tried += 1
        try:
            RunDirectory(directory, Plan("real", 10, k=3, samples=4)).close()
        except ValueError:
            noticed += 1
    assert noticed == tried >= 300


def test_special_files_neither_hang_nor_crash(tmp_path, caplog):
    whole = numbers(quiet(PLAN, tmp_path))
    manifest, block = tmp_path / "manifest.json", tmp_path / "blocks" / "000000.bin"
    good = manifest.read_bytes()
    for content in (b"[" * 10**6, b'{"sha256": 3}', b"\xff\xfe", b"9" * 10**5, b"NaN", good[:-1], good + b" "):
        manifest.write_bytes(content)
        with pytest.raises(ValueError, match=r"manifest\.json .*Delete it to go on with this plan"):
            quiet(PLAN, tmp_path)
    with manifest.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="more than the"):
        quiet(PLAN, tmp_path)
    for make in (os.mkfifo, os.mkdir, a_socket, a_link):
        for path, refused in ((manifest, True), (block, False)):
            path.rmdir() if path.is_dir() else path.unlink()
            make(path)
            if refused:
                with pytest.raises(ValueError, match=r"manifest\.json .*Delete it"):
                    quiet(PLAN, tmp_path)
                path.rmdir() if path.is_dir() else path.unlink()
                path.write_bytes(good)
            elif make is not os.mkdir:
                assert numbers(quiet(PLAN, tmp_path)) == whole
                assert "000000.bin" in caplog.text
            else:
                with pytest.raises(OSError, match=r"000000\.bin"):
                    quiet(PLAN, tmp_path)
                path.rmdir()
                quiet(PLAN, tmp_path)
            caplog.clear()
    with block.open("wb") as file:
        file.truncate(1 << 40)
    assert numbers(quiet(PLAN, tmp_path)) == whole


def a_socket(path):
    before = os.getcwd()
    os.chdir(path.parent)  # the whole path is too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def a_link(path):
    path.symlink_to("/dev/zero")


def test_a_directory_without_a_name_or_of_another_kind(tmp_path):
    with pytest.raises(ValueError, match="directory must be a path, text or a"):
        quiet(PLAN, "")
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(ValueError, match="holds a training; use another directory for a run"):
        quiet(PLAN, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is not a folder"):
        quiet(PLAN, tmp_path / "file")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"plan": 3, "versions": 4}'])
def test_a_broken_manifest_is_named_and_can_be_deleted(tmp_path, content, monkeypatch):
    whole = numbers(quiet(PLAN, tmp_path))
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"manifest\.json cannot be read \(.*Delete it to go on with this plan"):
        quiet(PLAN, tmp_path)
    path.unlink()
    monkeypatch.setattr("signalprop.montecarlo.run.draw_block", None)
    assert numbers(quiet(PLAN, tmp_path)) == whole


def test_blocks_of_another_run_are_never_used(tmp_path):
    quiet(PLAN, tmp_path)
    (tmp_path / "manifest.json").unlink()
    other = Plan(PLAN.fields, PLAN.n, c=PLAN.c, samples=800, models=PLAN.models, seed=12)
    with pytest.raises(ValueError, match=r"000000\.bin is whole but belongs to another run"):
        quiet(other, tmp_path)


def test_leftovers_of_a_killed_process_go(tmp_path):
    (tmp_path / "blocks").mkdir()
    left = tmp_path / "blocks" / "000000.bin.0123456789abcdef.part"
    foreign = tmp_path / "film.mkv.part"
    left.write_bytes(b"half")
    foreign.write_bytes(b"a download")
    quiet(PLAN, tmp_path)
    assert not left.exists()
    assert foreign.exists()


def test_no_link_leads_out_of_the_directory(tmp_path, caplog):
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    run = tmp_path / "run"
    (run / "blocks").mkdir(parents=True)
    for name in ("000000.bin", "000001.bin.0123456789abcdef.part"):
        (run / "blocks" / name).symlink_to(outside)
    (run / "table.csv").symlink_to(outside)
    quiet(PLAN, run)
    assert outside.read_bytes() == b"precious"
    assert "000000.bin is a symbolic link, which is not followed: it is drawn again" in caplog.text
    assert not (run / "table.csv").is_symlink()
    for name in ("lock", "manifest.json"):
        (run / name).unlink()
        (run / name).symlink_to(outside)
        with pytest.raises((OSError, ValueError), match=name):
            quiet(PLAN, run)
        (run / name).unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "blocks").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="is a symbolic link; a run keeps its files inside its own directory"):
        quiet(PLAN, elsewhere)


def test_one_process_at_a_time(tmp_path):
    store = RunDirectory(tmp_path, PLAN)
    with pytest.raises(BlockingIOError, match=rf"is in use by another process \(process {os.getpid()} on "):
        quiet(PLAN, tmp_path)
    store.close()
    quiet(PLAN, tmp_path)


FULL = """
import resource, sys
from signalprop.montecarlo import Plan, blocks
from signalprop import run
blocks._SHORTEST = 0.002
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    run(Plan.load(sys.argv[1]), sys.argv[3], progress=False)
except OSError as error:
    print(error)
    sys.exit(7)
"""


def test_no_room_is_a_sentence_and_can_be_resumed(tmp_path):
    PLAN.save(tmp_path / "plan.toml")
    sizes = [block.rows * 32 for block in cut(PLAN)]
    limit = sorted(sizes)[len(sizes) // 2] + 400  # bytes of one file: the larger half does not fit
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "plan.toml"), str(limit), str(tmp_path / "run")],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert "no space for " in done.stdout
    assert "What was done before is safe; make room and run the same plan in the same directory again" in done.stdout
    assert not list((tmp_path / "run" / "blocks").glob("*.part"))
    assert numbers(quiet(PLAN, tmp_path / "run")) == numbers(quiet(PLAN))


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", disk], check=False, capture_output=True)
    if mount.returncode != 0:
        pytest.skip(f"no file system of 100 kB to be had: {mount.stderr.decode().strip()}")
    try:
        with pytest.raises(OSError, match=r"no space for .*bytes: No space left on device\)"):
            quiet(PLAN, disk)
        kept = len(list((disk / "blocks").glob("*.bin")))
        assert kept > 0
        subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
        drawn = []
        frame = quiet_and_count(PLAN, disk, drawn)
        assert len(drawn) == len(cut(PLAN)) - kept
        assert numbers(frame) == numbers(quiet(PLAN))
    finally:
        subprocess.run(["umount", disk], check=True)
