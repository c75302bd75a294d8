import dataclasses
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalprop import sample
from signalprop.montecarlo import Plan
from signalprop.montecarlo.blocks import cut, draw_block, work_of

SOME = {"fields": ["real", "complex"], "n": [100, 400], "c": [1, 2.5], "samples": 700, "seed": 3}


def test_cells_are_fields_times_widths_times_depths():
    plan = Plan(**SOME)
    assert [(cell.field, cell.n, cell.k) for cell in plan.cells] == [
        (field, n, k) for field in ("real", "complex") for n, k in ((100, 10), (100, 25), (400, 20), (400, 50))
    ]
    assert [cell.k for cell in Plan("real", 64, k=[3, 0]).cells] == [3, 0]


def test_equal_plans_are_equal_and_frozen():
    plan = Plan(**SOME)
    same = Plan(("real", "complex"), (100, 400), c=(1.0, 2.5), samples=np.int64(700), seed=3)
    assert plan == same
    assert hash(plan) == hash(same)
    assert plan.digest == same.digest
    assert len({plan, same, dataclasses.replace(plan, seed=4)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.seed = 5


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["real", "complex", "quaternion"]), min_size=1, unique=True),
    st.lists(st.integers(1, 10**18), min_size=1, max_size=4, unique=True),
    st.one_of(
        st.tuples(st.just("k"), st.lists(st.integers(0, 3000), min_size=1, max_size=4, unique=True)),
        st.tuples(st.just("c"), st.lists(st.floats(1e-12, 1e-6), min_size=1, max_size=1)),
    ),
    st.integers(2, 10**9),
    st.integers(0, 2**200),
)
def test_toml_round_trip(fields, n, depth, samples, seed):
    plan = Plan(fields, n, **dict([depth]), samples=samples, seed=seed)
    again = Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.digest == plan.digest


def test_files(tmp_path):
    plan = Plan(**SOME, models=["rnn", "lru"])
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml") == plan
    (tmp_path / "short.toml").write_text('fields = "real"\nn = 10\nk = 3\n')
    assert Plan.load(tmp_path / "short.toml") == Plan("real", 10, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fields = [", "plan.toml: the text of the plan is not a TOML file"),
        ("n = 10\nk = 1\n", "a plan needs 'fields', which has no default, such as fields ="),
        ('fields = "real"\nk = 1\n', "a plan needs 'n'"),
        ('fields = "real"\nn = 1\nk = 1\ndirectory = "/etc"\n', "a plan has no 'directory'; it has fields, n, k, c"),
        (
            'fields = "real"\nn = 1\nk = 1979-05-27\n',
            "k must be a list of whole numbers or a whole number or None, got datetime",
        ),
        ('fields = "real"\nn = 1\nk = {a = 1}\n', r"k must be a list of whole numbers .*, got \{'a': 1\}"),
        ('fields = "real"\nn = true\nk = 1\n', "n must be a list of whole numbers or a whole number, got True"),
    ],
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        Plan.load(tmp_path / "plan.toml")


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "plan.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"plan\.toml is not text in UTF-8 \(byte 0xff at place 0\)"):
        Plan.load(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 3}, "needs either k .* or c .*, not both"),
        ({"c": None}, "needs either k"),
        ({"n": []}, "n is an empty list"),
        ({"fields": []}, "fields is an empty list"),
        ({"n": [10, 20, 10]}, "n holds 10 twice"),
        ({"c": [1.0, 1.001]}, r"c = 1\.0 and c = 1\.001 are both k = 10 at n = 100; keep one"),
        ({"c": -1}, "c must be a positive finite number, got -1"),
        ({"c": float("nan")}, "c must be a positive finite number"),
        ({"fields": "octonion"}, "field must be one of 'real', 'complex' or 'quaternion', got 'octonion'"),
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"n": None}, "n must be a list of whole numbers or a whole number, got None"),
        ({"samples": 1}, "samples must be at least 2, got 1"),
        ({"samples": 10**10}, "samples must be at most .* Split the plan over seeds"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"models": "lstm"}, "models must be one of 'rnn' or 'driven', got 'lstm'"),
        ({"method": "exact"}, "method must be one of 'krylov'"),
        ({"method": "tempered", "samples": 100}, "samples must be at least 128, got 100"),
        ({"method": "tempered", "tied": False}, "method='tempered' covers linear tied weights only"),
        ({"n": 10**6, "method": "dense"}, "n must be at most 10000 for method='dense'"),
        ({"activation": "relu", "method": "dense", "fields": "complex"}, "activation='relu' needs field='real'"),
        (
            {"fields": "real", "activation": "relu", "method": "dense", "models": ["rnn", "lru"]},
            "models='driven' needs activation='linear', got 'relu'",
        ),
        ({"n": range(1, 2000), "c": [i / 7 for i in range(1000)]}, "at most 1000000 cells"),
    ],
)
def test_bad_plans(arguments, message):
    with pytest.raises(ValueError, match=message):
        Plan(**{**SOME, **arguments})


@pytest.mark.parametrize(
    "plan",
    [
        Plan(["real", "quaternion"], [20, 300], k=[0, 7, 30], samples=1200, models=["lru", "rnn"], seed=5),
        Plan("real", 30, k=6, samples=500, method="dense", activation="leaky_relu", negative_slope=0.3),
        Plan("complex", 30, k=6, samples=500, method="dense", tied=False, models=["rnn", "lru"]),
    ],
)
def test_draws_are_those_of_sample_digit_for_digit(plan, monkeypatch):
    monkeypatch.setattr("signalprop.montecarlo.blocks._SHORTEST", 0.002)
    blocks = cut(plan)
    assert [piece for block in blocks for piece in block.pieces] == [
        (number, chunk) for number, cell in enumerate(plan.cells) for chunk in range(cell.chunks)
    ]
    draws = iter([draw_block(work_of(plan, block), plan.models, {}) for block in blocks])
    left = next(draws)
    for cell in plan.cells:
        whole = sample(
            cell.n, cell.k, cell.field, samples=plan.samples, seed=plan.seed, method=plan.method,
            activation=plan.activation, negative_slope=plan.negative_slope, tied=plan.tied,
        )  # fmt: skip
        while len(left) < plan.samples:
            left = np.concatenate([left, next(draws)])
        mine, left = left[: plan.samples], left[plan.samples :]
        for column, model in enumerate(plan.models):
            paths = 2.0 * (whole.log_norms if model == "rnn" else whole.lru_log_norms)
            assert (mine[:, 2 * column] == paths[:, -1]).all()
            assert (mine[:, 2 * column + 1] == paths[:, min(1, cell.k) :].max(axis=1)).all()
    assert len(left) == 0
    assert next(draws, None) is None


def test_small_cells_share_a_block_and_large_ones_have_several():
    many = Plan("real", range(10, 210), k=range(1, 51), samples=20)
    assert len(cut(many)) < len(many.cells) / 50
    one = Plan("complex", 10**6, k=200, samples=2000)
    assert len(cut(one)) > 20


def test_a_worker_with_another_version_is_refused():
    plan = Plan("real", 10, k=3, samples=10)
    with pytest.raises(ValueError, match=r"a worker has numpy .*, the run needs 1\.0: digits may differ"):
        draw_block(work_of(plan, cut(plan)[0]), plan.models, {"numpy": "1.0"})


@pytest.mark.parametrize(
    ("name", "value", "declared"),
    [
        ("samples", 700.0, "a whole number"),
        ("samples", "700", "a whole number"),
        ("samples", True, "a whole number"),
        ("seed", 1.0, "a whole number"),
        ("seed", None, "a whole number"),
        ("n", [100, 4.0], "a list of whole numbers or a whole number"),
        ("n", {100: 4}, "a list of whole numbers or a whole number"),
        ("n", "100", "a list of whole numbers or a whole number"),
        ("c", ["1"], "a list of numbers or a number or None"),
        ("c", True, "a list of numbers or a number or None"),
        ("c", 2**53 + 1, "a list of numbers or a number or None"),
        ("fields", 3, "a list of texts or text"),
        ("models", [None], "a list of texts or text"),
        ("negative_slope", "0.1", "a number"),
        ("tied", "false", "true or false"),
        ("tied", 0, "true or false"),
        ("method", 1, "text"),
    ],
)
def test_a_value_of_another_type_is_refused(name, value, declared):
    with pytest.raises(ValueError, match=f"^{name} must be {declared}, got ") as caught:
        Plan(**{**SOME, name: value})
    assert repr(value) in str(caught.value)


def test_numpy_numbers_are_numbers():
    plan = Plan(np.array(["real", "complex"]), np.array([100, 400]), c=np.array([1, 2.5], np.float32), samples=np.int16(700),
                seed=np.uint64(3), tied=np.bool_(True), negative_slope=np.float64(0.01))  # fmt: skip
    assert plan == Plan(**SOME)
    assert plan.digest == Plan(**SOME).digest
    assert Plan("real", np.int64(100), k=np.int32(3)) == Plan("real", 100, 3)
    assert Plan("real", np.array(100), k=3) == Plan("real", 100, 3)
    assert Plan("real", 100, c=1) == Plan("real", 100, c=1.0)


def test_any_way_to_write_a_text_file(tmp_path):
    plan, path = Plan(**SOME), tmp_path / "plan.toml"
    text = plan.to_toml()
    for content in (text.encode("utf-8-sig"), text.replace("\n", "\r\n").encode(), ("# \u03c7\n" + text).encode()):
        path.write_bytes(content)
        assert Plan.load(path) == plan
    assert Plan.from_toml("\ufeff" + text) == plan
    for content in (("# \u00e4\n" + text).encode("latin-1"), text.encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"plan\.toml is not text in UTF-8 \(byte 0x.. at place \d+\); save it as"):
            Plan.load(path)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "pipe", "a pipe"), ("/dev/zero", "a device"), (tmp_path, "a folder")):
        with pytest.raises(ValueError, match=f"is .*{what}"):
            Plan.load(path)
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="huge has more than 16777216 bytes"):
        Plan.load(tmp_path / "huge")
    (tmp_path / "deep").write_text("n = " + "[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        Plan.load(tmp_path / "deep")
    (tmp_path / "long").write_text("n = " + "9" * 100_000)
    with pytest.raises(ValueError, match="is not a TOML file: Exceeds the limit"):
        Plan.load(tmp_path / "long")


def test_a_plan_is_read_from_a_path_alone():
    for odd in (0, None, "", "a\x00b"):
        with pytest.raises(ValueError, match=r"path must be a path, text or a pathlib\.Path, got"):
            Plan.load(odd)


def test_a_fraction_that_a_float_holds_is_a_number():
    assert Plan("real", 6, c=Fraction(1, 2)) == Plan("real", 6, c=0.5)
    with pytest.raises(ValueError, match=r"c must be .*, got Fraction\(1, 3\)"):
        Plan("real", 6, c=Fraction(1, 3))
