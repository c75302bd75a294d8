import csv
import os
from dataclasses import replace

import numpy as np
import pytest

from signalprop.tasks.listops import decode, encode, evaluate, generate, load, write
from signalprop.tasks.task import Split

GOOD = "( ( ( [MAX 2 ) 9 ) ] )\t9"


@pytest.fixture(scope="module")
def task():
    return generate(train=60, validation=20, test=30, min_length=10, max_length=60)


@pytest.mark.parametrize("parentheses", [True, False])
def test_round_trip(task, tmp_path, parentheses):
    files = write(task, tmp_path / "data", parentheses=parentheses)
    assert [file.name for file in files] == ["basic_train.tsv", "basic_val.tsv", "basic_test.tsv"]
    assert sorted(files) == sorted((tmp_path / "data").iterdir())
    back = load(tmp_path / "data", verify=True)
    assert (back.chance, back.baseline, back.symbols) == (task.chance, task.baseline, task.symbols)
    assert back.steps == max(part.lengths.max() for part in task.parts.values())
    for name, part in task.parts.items():
        np.testing.assert_array_equal(back.parts[name].inputs, part.inputs[:, : back.steps])
        np.testing.assert_array_equal(back.parts[name].targets, part.targets)
        np.testing.assert_array_equal(back.parts[name].lengths, part.lengths)


def test_the_published_form(task, tmp_path):
    """Columns, parentheses and targets as other programs expect them."""
    file = write(task, tmp_path)[2]
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text, delimiter="\t"))
    assert len(rows) == 30
    for row, tokens in zip(rows, task.test.inputs, strict=True):
        assert row["Source"].startswith("( ( ")
        assert row["Source"].count("(") == row["Source"].count(")") > row["Source"].count("]")
        assert row["Source"].replace("( ", "").replace(" )", "") == decode(tokens)
        assert int(row["Target"]) == evaluate(row["Source"])


def test_without_validation(tmp_path):
    files = write(generate(train=5, validation=0, test=5, min_length=3, max_length=30), tmp_path, name="short")
    assert files[1].read_text() == "Source\tTarget\n"
    assert load(tmp_path, name="short").validation is None


def three_files(folder, text):
    for end in ("val", "test"):
        (folder / f"basic_{end}.tsv").write_text(f"Source\tTarget\n{GOOD}\n")
    (folder / "basic_train.tsv").write_bytes(text if isinstance(text, bytes) else text.encode())


def test_line_ends(tmp_path):
    three_files(tmp_path, f"Source\tTarget\r\n{GOOD}\r\n[MIN 3 1 ]\t1\r\n")
    task = load(tmp_path, verify=True)
    assert task.train.targets.tolist() == [9, 1]
    assert task.train.inputs.shape == (2, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "basic_train.tsv is empty; its first row must be Source and Target"),
        ("Source\tTarget\n", "basic_train.tsv has a header and no example"),
        ("Source,Target\n", "row 1: the columns must be Source and Target, got 'Source,Target'"),
        ("Target\tSource\n", "row 1: the columns must be Source and Target, got 'Target, Source'"),
        (f"{GOOD}\n", "row 1: the columns must be"),
        (f"Source\tTarget\n{GOOD}\n[MAX 1 2 ]\n", "row 3: there must be two columns with a tab between them, got 1"),
        (f"Source\tTarget\n{GOOD}\t4\n", "row 2: there must be two columns .* got 3"),
        (f"Source\tTarget\n\n{GOOD}\n", "row 2: there must be two columns .* got 0"),
        (f"Source\tTarget\n{GOOD}\n{GOOD}\n[MAX 1 2 ]\t12\n", "row 4: the target must be a digit, got '12'"),
        ("Source\tTarget\n[MAX 1 2 ]\t\n", "row 2: the target must be a digit, got ''"),
        (f"Source\tTarget\n{GOOD}\n[AVG 1 2 ]\t1\n", r"row 3: unknown token '\[AVG'"),
        (f'Source\tTarget\n{GOOD}\n"[MAX 1 2 ]"\t2\n', "row 3: unknown token '\"\\[MAX'"),
        (f"Source\tTarget\n{GOOD}\n[MAX 1 2\t2\n", "row 3: the brackets do not match"),
        ("Source\tTarget\n\t2\n", "row 2: the expression is empty"),
        (b"Source\tTarget\n[MAX 1 \xff 2 ]\t2\n", "row 2: unknown token"),
        (f"Source\tTarget\n{GOOD}\n{'1' * 200_000}\t2\n", r"row 3: unknown token '1{57}\.\.\.'; tokens are"),
        ("Source\tTarget\n[MAX 1 2 ]\t2\n".encode("utf-16"), "row 1: the columns must be Source and Target, got"),
        (f"Source\tTarget\n{GOOD}\n[MAX 1 \u00e4 2 ]\t2\n".encode("latin-1"), "row 3: unknown token"),
    ],
)
def test_malformed_rows(tmp_path, text, message):
    three_files(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path)
    assert str(tmp_path / "basic_train.tsv") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_target_is_found_on_request(tmp_path):
    three_files(tmp_path, f"Source\tTarget\n{GOOD}\n[MAX 1 2 ]\t1\n[MAX ]\t0\n")
    assert load(tmp_path).train.targets.tolist() == [9, 1, 0]
    with pytest.raises(ValueError, match="row 3: the target is 1, but the value of the expression is 2"):
        load(tmp_path, verify=True)


def test_wrong_paths(task, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"nowhere/basic_train\.tsv is not there; give the folder that holds basic_train"
    ):
        load(tmp_path / "nowhere")
    write(task, tmp_path)
    (tmp_path / "basic_val.tsv").unlink()
    with pytest.raises(FileNotFoundError, match=r"basic_val\.tsv is not there"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r"name must be the beginning of a file name, got '\.\./basic'"):
        load(tmp_path, name="../basic")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends(tmp_path, mark, end):
    three_files(tmp_path, mark + f"Source\tTarget\n{GOOD}\n[MIN 3 1 ]\t1\n".replace("\n", end).encode())
    assert load(tmp_path, verify=True).train.targets.tolist() == [9, 1]


def wide_and_deep(tokens, depth):
    """An expression of `tokens` tokens in which operators nest `depth` deep, and its value by hand: 7 is the largest digit."""
    inner = ["3"] * (tokens - 2 * depth - 1) + ["7"]
    return " ".join(["[MAX"] * depth + inner + ["]"] * depth), 7


@pytest.mark.parametrize(
    ("tokens", "depth", "parentheses"),
    [
        (30_002, 1, True),
        (30_002, 1, False),
        (30_002, 15_000, True),
        (30_002, 15_000, False),
        (10**6, 3, False),
        pytest.param(10**6, 499_999, True, marks=pytest.mark.slow),
        pytest.param(10**6, 499_999, False, marks=pytest.mark.slow),
    ],
)
def test_what_write_writes_load_reads_at_any_length_and_depth(tmp_path, tokens, depth, parentheses):
    text, value = wide_and_deep(tokens, depth)
    codes, lengths = encode([text])
    assert lengths.tolist() == [tokens]
    part = Split(codes, np.array([value]), lengths)
    small = generate(train=1, validation=0, test=1, min_length=3, max_length=30)
    write(replace(small, train=part, validation=None, test=part), tmp_path, parentheses=parentheses)
    back = load(tmp_path, verify=True)
    np.testing.assert_array_equal(back.train.inputs, codes)
    assert back.train.lengths.tolist() == [tokens]
    assert evaluate(decode(back.test.inputs[0])) == value
    assert csv.field_size_limit() == 131072  # of the process, which is not ours


def test_a_pipe_or_a_folder_in_the_place_of_a_file(task, tmp_path):
    write(task, tmp_path)
    (tmp_path / "basic_val.tsv").unlink()
    os.mkfifo(tmp_path / "basic_val.tsv")
    with pytest.raises(ValueError, match=r"basic_val\.tsv is a pipe or a device, not a file"):
        load(tmp_path)
    (tmp_path / "basic_val.tsv").unlink()
    (tmp_path / "basic_val.tsv").mkdir()
    with pytest.raises(ValueError, match=r"basic_val\.tsv is a folder, not a file"):
        load(tmp_path)
