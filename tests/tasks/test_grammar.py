import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalprop.tasks.listops import VOCABULARY, decode, encode, evaluate

OPERATORS = ["[MIN", "[MAX", "[MED", "[SM"]
TREES = st.recursive(
    st.integers(0, 9),
    lambda inner: st.tuples(st.sampled_from(OPERATORS), st.lists(inner, min_size=1, max_size=5)),
    max_leaves=40,
)


def plain(tree):
    return str(tree) if isinstance(tree, int) else " ".join([tree[0], *map(plain, tree[1]), "]"])


def curried(tree):
    """The published text: ( ( ( OP a ) b ) ] )."""
    if isinstance(tree, int):
        return str(tree)
    text = tree[0]
    for argument in tree[1]:
        text = f"( {text} {curried(argument)} )"
    return f"( {text} ] )"


def value(tree):
    if isinstance(tree, int):
        return tree
    function = {"[MIN": np.min, "[MAX": np.max, "[MED": np.median, "[SM": lambda values: np.sum(values) % 10}[tree[0]]
    return int(function([value(argument) for argument in tree[1]]))


@given(TREES)
def test_value_and_text(tree):
    assert evaluate(plain(tree)) == evaluate(curried(tree)) == value(tree)
    for text in (plain(tree), curried(tree)):
        tokens, lengths = encode([text, "7"])
        assert lengths.tolist() == [len(plain(tree).split()), 1]
        assert [VOCABULARY[code] for code in tokens[0]] == plain(tree).split()
        assert decode(tokens[0]) == plain(tree)
        assert decode(tokens[0], parentheses=True) == curried(tree)
        assert decode(tokens[1]) == "7"


def test_the_example_of_the_paper():
    # Figure 2 of arXiv:2011.04006.
    assert evaluate("[MAX 4 3 [MIN 2 3 ] 1 0 [MED 1 5 8 9 2 ] ]") == 5


def test_padding():
    tokens, lengths = encode(["[SM 1 2 ]", "3"], width=6)
    assert tokens.dtype == np.uint8
    assert tokens.shape == (2, 6)
    assert not tokens[np.arange(6) >= lengths[:, None]].any()
    assert encode([])[0].shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: encode(["1", "[AVG 1 2 ]"]),
            r"expression 2: unknown token '\[AVG'; tokens are 0 1 .* \[MIN \[MAX \[MED \[SM \]",
        ),
        (lambda: encode(["<pad>"]), "unknown token '<pad>'"),
        (lambda: encode(["10"]), "unknown token '10'"),
        (lambda: encode([" ( ) "]), "expression 1: the expression is empty"),
        (lambda: encode(["[MAX 1 2"]), "the brackets do not match"),
        (lambda: encode(["[MAX 1 2 ] ]"]), "the brackets do not match"),
        (lambda: encode(["[MAX 1 ] 2"]), "something follows the last one"),
        (lambda: encode(["1 2"]), "something follows the last one"),
        (lambda: encode("[MAX 1 2 ]"), r"expressions must be a list of texts, got '\[MAX"),
        (lambda: encode(["1", 7]), "expression 2: an expression must be text, got 7"),
        (lambda: encode(["1"], width=10**15), r"1 expression in rows of width=10+ would take about"),
        (lambda: encode(["[MAX 1 2 ]"], width=3), "width must be at least the longest expression, 4 tokens, got 3"),
        (lambda: evaluate("[MAX 1 2"), r"\[MAX is never closed"),
        (lambda: evaluate("1 ]"), "closed that was never opened"),
        (lambda: evaluate("[MED ]"), r"\[MED has no arguments"),
        (lambda: evaluate("1 2"), "there must be exactly one expression, got 2"),
        (lambda: evaluate(""), "there must be exactly one expression, got 0"),
        (lambda: evaluate("[MAX 1 x ]"), r"expression '\[MAX 1 x \]': unknown token 'x'"),
        (lambda: evaluate(7), "expression must be text, got 7"),
        (lambda: decode(np.zeros((2, 2), dtype=int)), r"one row of whole numbers, got shape \(2, 2\)"),
        (lambda: decode(np.array([0.5])), r"tokens must be a whole number, got 0\.5"),
        (lambda: decode(np.array([3, 16])), "tokens must be at most 15, got 16"),
        (lambda: decode(np.array([-1])), "tokens must be at least 0, got -1"),
        (lambda: decode([15], parentheses=True), "all brackets closed for parentheses=True, got \\[15\\]"),
        (lambda: decode([11, 2], parentheses=True), "tokens must be one expression"),
        (lambda: decode([11, 2], parentheses=1), "parentheses must be True or False, got 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
