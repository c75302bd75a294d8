import numpy as np
import pytest

import signalprop
from signalprop import exact, moments, recurrences, wick
from signalprop._cost import in_words, refuse_beyond_bounds
from signalprop.wick import reference

FULL = recurrences.LinearRecurrence(np.full((256, 256), 1e-3), np.ones((256, 4)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact.lru_energy(10**6, 10**5, "complex", scale=2), r"[\d.]+ (hours|days), .*energy.lru_energy .*allow\(hours="),
        (lambda: exact.lru_energy(10**6, 2000, "real"), r"about [\d.]+ (minutes|hours), and 10 minutes are allowed"),
        (lambda: exact.rnn_energy(10**3000, 10**5, "complex"), "and 10 minutes are allowed"),
        (lambda: exact.rnn_energy(10**3000, 2000, "real"), "and 10 minutes are allowed"),
        (lambda: wick.second_moments(12, "real"), r"about \d+ minutes"),
        (lambda: wick.second_moments(10**8, "real"), "k must be at most 500, got 100000000"),
        (lambda: reference.permutation_counts(15), "k = 15 would take about .*trace_polynomial .*allow\\(hours="),
        (lambda: reference.matching_counts(11), "k = 11 would take about .*trace_polynomial .*allow\\(hours="),
        (lambda: FULL.energy(10**7), r"a path of 10000000 steps would take about .* structured state matrix\. .*allow\(hours="),
        (lambda: FULL.forward_energy(10**7), "a path of 10000000 steps would take about"),
        (lambda: FULL.energy_variance(10**7), "a recursion of covariances of .* would take about .*lower cost"),
        (lambda: FULL.sample(10**6, samples=1000), "would take about .* has the exact mean"),
        (lambda: FULL.sample(10, samples=10**400), "would take about .* GiB of memory"),
        (lambda: recurrences.state_space_average("s4", 64, 10**6), "an average over 64 nodes would take about"),
        (lambda: recurrences.drawn_average(lambda _: FULL, 100, draws=10**6), "an average over 1000000 draws would take about"),
        (lambda: wick.trace_moment([("G^9000", "G*^9000")], "real"), "at most 2000 letters in all, got 18000"),
    ],
)  # fmt: skip
def test_work_without_end_is_refused_before_it_starts(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("copy", {"train": 10**9}, "The task copy with 1000001000 examples of 120 steps would take"),
        ("copy", {"blanks": 10**12}, "would take about .* days, and 10 minutes are allowed"),
        ("adding", {"steps": 10**7, "train": 10**5}, "would take about .*Ask for fewer examples or steps"),
        ("listops", {"train": 10**9}, "ListOps with .* would take about .*Ask for fewer"),
    ],
)
def test_data_without_end_are_refused(task, options, message):
    with pytest.raises(ValueError, match=message):
        signalprop.tasks.make(task, **options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 10**9}, "This training of 1000000000 steps would take about .* years, and 30 days are allowed"),
        ({"depth": 10_000}, "GiB of memory, and .* are allowed"),
    ],
)
def test_trainings_without_end_are_refused_before_the_model_is_made(settings, message):
    from signalprop.training import Settings, train

    options = {"blanks": 20, "train": 64, "validation": 0, "test": 16}
    with pytest.raises(ValueError, match=message):
        train(Settings(task="copy", layer="lru", options=options, **settings))


def test_the_estimate_of_a_training_follows_its_size(monkeypatch):
    from signalprop.training import Settings, cost

    asked = []
    monkeypatch.setattr(cost, "refuse_beyond_bounds", lambda what, **bounds: asked.append(bounds))
    for steps, depth in ((100, 2), (200, 2), (200, 4)):
        task = signalprop.tasks.make("copy", blanks=20, train=64, validation=0, test=16)
        cost.refuse_impossible(
            Settings(task="copy", layer="lru", steps=steps, depth=depth, log_every=10**6), task, steps
        )
    seconds, memory = zip(*((one["seconds"], one["memory"]) for one in asked), strict=True)
    assert 1.8 < seconds[1] / seconds[0] < 2.0
    assert 1.8 < seconds[2] / seconds[1] < 2.1
    assert memory[0] == memory[1]
    assert 1.5 < memory[2] / memory[1] < 2.1


def test_what_is_affordable_is_not_refused():
    assert exact.lru_energy(10**18, 80, "real") > 81
    assert exact.rnn_energy(10**300, 100, "real") > 1
    assert len(wick.second_moments(4, "real")) == 2


def test_a_path_is_refused_by_the_bound_that_allow_sets():
    path = FULL.energy(100)
    with signalprop.allow(hours=1e-6):
        with pytest.raises(ValueError, match=r"a path of 100 steps would take about .* are allowed"):
            FULL.energy(100)
        with signalprop.allow(hours=1.0):
            assert np.array_equal(FULL.energy(100), path)
    with signalprop.allow(gigabytes=1e-6), pytest.raises(ValueError, match=r"holding the path would take about .* GiB"):
        FULL.energy(1000)


def test_allow_lifts_the_bounds_inside_and_nowhere_else():
    def work():
        refuse_beyond_bounds("This", seconds=4000.0)

    with pytest.raises(ValueError, match="This would take about 67 minutes, and 10 minutes are allowed"):
        work()
    with signalprop.allow(hours=2):
        work()
        with signalprop.allow(gigabytes=1), pytest.raises(ValueError, match="2 GiB of memory, and 1 GiB are allowed"):
            refuse_beyond_bounds("That", seconds=4000.0, memory=2 * 2**30)
        work()
    with pytest.raises(ValueError, match=r"allow\(hours=3\)"):
        work()
    for bad in (0, -1, float("nan"), "2", True):
        with pytest.raises(ValueError, match="hours must be a positive"), signalprop.allow(hours=bad):
            pass


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 second"), (0.5, "0.5 seconds"), (100, "1.7 minutes"), (130_000, "36 hours"), (1e15, "millions of years")],
)
def test_durations_in_words(seconds, words):
    assert in_words(seconds) == words


@pytest.mark.parametrize("bad", [-1, True, float("nan"), "3", 2.5, None])
def test_zonal_coefficients_check_their_argument_at_once(bad):
    with pytest.raises(ValueError, match="k must be"):
        moments.zonal_coefficients(bad)


def test_zonal_coefficients_of_every_integer_type():
    import numpy as np

    for kind in (np.uint8, np.int8, np.int64, float):
        assert list(moments.zonal_coefficients(kind(40))) == list(moments.zonal_coefficients(40))
