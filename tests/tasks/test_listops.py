import itertools

import numpy as np
import pytest
from scipy import stats

from signalprop.tasks import Kind, listops
from signalprop.tasks._grammar import Grammar
from signalprop.tasks._trees import CANDIDATES, draw_chunk
from signalprop.tasks.listops import VOCABULARY, decode, evaluate, generate

FREE = {"min_length": 0, "max_length": 10**6}  # nothing is rejected


@pytest.fixture(scope="module")
def published():
    """The published window, less of it."""
    return generate(train=4000, validation=500, test=500)


def drawn(grammar, chunks, seed=0):
    parts = [draw_chunk(grammar, seed, chunk) for chunk in range(chunks)]
    codes, lengths, values = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "lengths", "values")
    )
    return np.split(codes, np.cumsum(lengths)[:-1]), lengths, values


def shape(tokens):
    """Deepest nesting of operators and the numbers of arguments of all operators."""
    deepest, fans, open_fans = 0, [], []
    for word in decode(tokens).split():
        if word == "]":
            fans.append(open_fans.pop())
        elif open_fans:
            open_fans[-1] += 1
        if word.startswith("["):
            open_fans.append(0)
            deepest = max(deepest, len(open_fans))
    return deepest, fans


def length_law(max_depth, max_args, size):
    """P(length = l) for l < size, by the recursion of generating functions p_d = 3/4 x + 1/4 x^2 mean_m p_{d+1}^m."""
    law = np.zeros(size)
    law[1] = 1.0
    for _ in range(max_depth - 1):
        power, mixture = law, np.zeros(size)
        for _ in range(2, max_args + 1):
            power = np.convolve(power, law)[:size]
            mixture += power / (max_args - 1)
        law = np.zeros(size)
        law[2:] = 0.25 * mixture[:-2]
        law[1] += 0.75
    return law


GRAMMARS = [
    Grammar(),
    Grammar(min_length=20, max_length=100),
    Grammar(4, 3, 5, 40),
    Grammar(3, 10, **FREE),
    Grammar(2, 2, 1, 8),
    Grammar(1, 2, 0, 2),
]


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_values_against_the_evaluator_and_the_limits(grammar):
    expressions, lengths, values = drawn(grammar, 1)
    assert len(values) > 50
    deepest, fans = 0, set()
    for tokens, value in zip(expressions[:1000], values, strict=False):
        assert evaluate(decode(tokens)) == value
        depth, arguments = shape(tokens)
        deepest, fans = max(deepest, depth), fans | set(arguments)
    assert deepest == grammar.max_depth - 1
    assert fans == (set(range(2, grammar.max_args + 1)) if grammar.max_depth > 1 else set())
    assert lengths.min() > grammar.min_length
    assert lengths.max() < grammar.max_length


@pytest.mark.parametrize("grammar", [Grammar(), Grammar(min_length=20, max_length=100), Grammar(5, 4, 0, 60)])
def test_the_law_of_lengths(grammar):
    chunks = 20 if grammar.min_length < 500 else 10
    law = length_law(grammar.max_depth, grammar.max_args, grammar.max_length)[grammar.min_length + 1 :]
    _, lengths, _ = drawn(grammar, chunks)
    trees = chunks * CANDIDATES
    accepted = law.sum()
    assert abs(len(lengths) - trees * accepted) < 4 * np.sqrt(trees * accepted * (1 - accepted))
    # Twenty bins of about the same probability.
    bins = np.searchsorted(np.linspace(0, 1, 21)[1:-1], (np.cumsum(law) - law / 2) / accepted)
    expected = np.bincount(bins, law, minlength=20) / accepted * len(lengths)
    counts = np.bincount(bins[lengths - grammar.min_length - 1], minlength=20)
    kept = expected > 0
    assert not counts[~kept].any()
    assert stats.chisquare(counts[kept], expected[kept]).pvalue > 1e-4


def test_operators_digits_and_arguments_are_uniform():
    expressions, _, _ = drawn(Grammar(3, 6, **FREE), 2)
    codes = np.bincount(np.concatenate(expressions), minlength=16)
    assert codes[0] == 0
    assert stats.chisquare(codes[1:11]).pvalue > 1e-4
    assert stats.chisquare(codes[11:15]).pvalue > 1e-4
    assert codes[15] == codes[11:15].sum()
    fans = [fan for tokens in expressions for fan in shape(tokens)[1]]
    assert stats.chisquare(np.bincount(fans)[2:]).pvalue > 1e-4


def test_the_law_of_values():
    """Depth 2, two or three arguments: all expressions enumerated and evaluated by the other route."""
    law = np.full(10, 0.075)
    for fan in (2, 3):
        for operator in ("[MIN", "[MAX", "[MED", "[SM"):
            for digits in itertools.product("0123456789", repeat=fan):
                law[evaluate(f"{operator} {' '.join(digits)} ]")] += 0.25 / 2 / 4 / 10**fan
    assert np.isclose(law.sum(), 1)
    _, _, values = drawn(Grammar(2, 3, **FREE), 10)
    assert stats.chisquare(np.bincount(values, minlength=10), law * len(values)).pvalue > 1e-4


def test_the_published_window(published):
    assert published.kind is Kind.CLASSIFICATION
    assert (published.symbols, published.features, published.classes, published.answers) == (16, 0, 10, 1)
    assert published.vocabulary == VOCABULARY
    assert published.steps == 1999
    assert {name: len(part) for name, part in published.parts.items()} == {
        "train": 4000,
        "validation": 500,
        "test": 500,
    }
    for part in published.parts.values():
        assert part.inputs.dtype == np.uint8
        np.testing.assert_array_equal(part.inputs > 0, part.mask)
        assert 500 < part.lengths.min() < 550
        assert 1900 < part.lengths.max() < 2000
    assert [evaluate(decode(row)) for row in published.test.inputs[:200]] == published.test.targets[:200].tolist()


def test_classes_are_not_balanced(published):
    shares = published.shares
    # The standard error of a share of 0.17 is 0.006 here.
    np.testing.assert_allclose(shares[[0, 9]], 0.17, atol=0.025)
    assert shares[1:9].max() < 0.12
    assert published.chance == np.mean(published.test.targets == shares.argmax())
    assert abs(published.baseline - stats.entropy(shares)) < 0.1
    assert published.baseline < np.log(10)


def test_no_expression_comes_twice(published):
    for task in (published, generate(train=2000, validation=20, test=400, min_length=3, max_length=7)):
        rows = [row.tobytes() for part in task.parts.values() for row in part.inputs]
        assert len(set(rows)) == len(rows)


def test_first_draws_of_a_short_window_do_repeat():
    expressions, _, _ = drawn(Grammar(min_length=3, max_length=7), 5)
    assert len({tokens.tobytes() for tokens in expressions}) < len(expressions)


def test_reproducible_and_longer_parts_begin_with_shorter_ones():
    options = {"validation": 30, "test": 40, "min_length": 20, "max_length": 100}
    short, again, long = (generate(train=train, **options) for train in (100, 100, 700))
    other = generate(train=100, seed=1, **options)
    for name, part in short.parts.items():
        for field in ("inputs", "targets", "lengths"):
            np.testing.assert_array_equal(getattr(part, field), getattr(again.parts[name], field))
            np.testing.assert_array_equal(getattr(part, field), getattr(long.parts[name], field)[: len(part)])
        assert not (part.inputs == other.parts[name].inputs).all(axis=1).any()


def test_chunks_do_not_depend_on_each_other():
    grammar = Grammar(min_length=20, max_length=100)
    forwards = [draw_chunk(grammar, 5, chunk).codes for chunk in range(3)]
    backwards = [draw_chunk(grammar, 5, chunk).codes for chunk in (2, 1, 0)]
    for first, second in zip(forwards, reversed(backwards), strict=True):
        np.testing.assert_array_equal(first, second)


def test_all_there_are_and_not_one_more():
    task = generate(train=8, validation=1, test=1, max_depth=1, min_length=0, max_length=2)
    assert {decode(row) for part in task.parts.values() for row in part.inputs} == set("0123456789")
    with pytest.raises(
        ValueError, match=r"only 10 different expressions were found, but 11 are needed.* widen the window"
    ):
        generate(train=9, validation=1, test=1, max_depth=1, min_length=0, max_length=2)


def test_progress():
    seen = []
    generate(train=300, validation=0, test=10, min_length=20, max_length=100, progress=lambda *now: seen.append(now))
    assert seen == sorted(seen)
    assert seen[-1] == (310, 310)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": 0}, "train must be at least 1, got 0"),
        ({"validation": -1}, "validation must be at least 0"),
        ({"test": 0}, "test must be at least 1"),
        ({"test": 1.5}, "test must be a whole number"),
        ({"max_depth": 0}, "max_depth must be at least 1"),
        ({"max_args": 1}, "max_args must be at least 2"),
        (
            {"min_length": 100, "max_length": 101},
            r"max_length must be at least min_length \+ 2, got 101 and min_length=100",
        ),
        (
            {"max_depth": 3, "max_args": 3},
            "no expression of max_depth=3 and max_args=3 is longer than 17 tokens.* got 500",
        ),
        ({"max_depth": 1}, "is longer than 1 tokens"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        generate(**options)


def test_module_names_what_is_public():
    for name in listops.__all__:
        assert hasattr(listops, name)
