"""ListOps expressions as text and as integers: vocabulary, encoding, decoding, and the value of an expression.

Nothing here knows how expressions are drawn (`_trees`); `evaluate` reads the text from left to right with a stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import INT64_LIMIT, flag, listed, shown, text_of, whole_number, whole_numbers
from signalprop._cost import refuse_beyond_bounds
from signalprop._numbers import counted

PAD = 0
DIGITS = tuple("0123456789")
OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
END = "]"
VOCABULARY = ("<pad>", *DIGITS, *OPERATORS, END)
FIRST_DIGIT, FIRST_OPERATOR, END_CODE = 1, 11, 15
CLASSES = len(DIGITS)
_NUMBER_SECONDS = 2e-9  # of a row of codes, measured

_CODES = {token: code for code, token in enumerate(VOCABULARY) if code != PAD}
_DIGIT_VALUES = {digit: int(digit) for digit in DIGITS}
_NO_PARENTHESES = str.maketrans("()", "  ")


@dataclass(frozen=True, slots=True)
class Grammar:
    """What may be drawn: depth and arguments of the tree and the window of lengths, ``min_length < length < max_length``.

    The root has depth 1 and a node of depth `max_depth` is a digit, so operators nest at most ``max_depth - 1`` deep. The length
    counts digits, operators and closing brackets.
    """

    max_depth: int = 10
    max_args: int = 10
    min_length: int = 500
    max_length: int = 2000

    @classmethod
    def checked(cls, max_depth: Any, max_args: Any, min_length: Any, max_length: Any) -> Grammar:
        """The grammar, if its numbers are in range and some expression fits into the window."""
        grammar = cls(
            whole_number(max_depth, "max_depth", 1, 100),
            whole_number(max_args, "max_args", 2, 100),
            whole_number(min_length, "min_length", 0),
            whole_number(max_length, "max_length", 2, 10**6),
        )
        if grammar.max_length < grammar.min_length + 2:
            raise ValueError(
                f"max_length must be at least min_length + 2, got {grammar.max_length} and min_length={grammar.min_length}: "
                "both ends of the window of lengths are excluded, as in the published generator."
            )
        longest = 1
        for _ in range(grammar.max_depth - 1):
            longest = min(2 + grammar.max_args * longest, grammar.max_length)
        if longest <= grammar.min_length:
            raise ValueError(
                f"no expression of max_depth={grammar.max_depth} and max_args={grammar.max_args} is longer than {longest} "
                f"tokens; min_length must be below that, got {grammar.min_length}."
            )
        return grammar


def encode(expressions: Iterable[str], width: int | None = None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Expressions as rows of codes (positions in `VOCABULARY`), padded on the right by 0, and their lengths.

    Parameters
    ----------
    expressions
        Texts such as ``"[MAX 2 [MIN 3 8 ] 1 ]"``: tokens with spaces between them; parentheses are ignored.
    width
        Columns of the answer; the longest length where it is left out.

    Returns
    -------
    tokens, lengths
        uint8 (expressions, width) and int64 (expressions,).

    Raises
    ------
    ValueError
        An unknown token, an empty expression, brackets that do not match, or an expression longer than `width`; the message
        gives its position, counted from 1. A single text, as its letters are not expressions. More columns than fit in memory.

    Examples
    --------
    >>> tokens, lengths = encode(["[MAX 2 [MIN 3 8 ] 1 ]", "7"])
    >>> tokens
    array([[12,  3, 11,  4,  9, 15,  2, 15],
           [ 8,  0,  0,  0,  0,  0,  0,  0]], dtype=uint8)
    >>> lengths
    array([8, 1])
    """
    rows = []
    for position, expression in enumerate(listed(expressions, "expressions", "texts"), 1):
        try:
            rows.append(encode_one(text_of(expression, "an expression")))
        except ValueError as error:
            raise ValueError(f"expression {position}: {error}") from None
    return pad(rows, width)


def pad(rows: Sequence[NDArray[np.uint8]], width: int | None = None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Rows of codes of any lengths as one array, and their lengths."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    longest = int(lengths.max(initial=0))
    columns = longest if width is None else whole_number(width, "width", 1, INT64_LIMIT)
    if longest > columns:
        raise ValueError(f"width must be at least the longest expression, {longest} tokens, got {columns}.")
    numbers = float(columns) * len(rows)
    refuse_beyond_bounds(
        f"{counted(len(rows), 'expression')} in rows of width={columns}",
        seconds=_NUMBER_SECONDS * numbers,
        memory=2.0 * numbers,
        instead="Take a smaller width.",
    )
    tokens = np.full((len(rows), columns), PAD, dtype=np.uint8)
    if rows:
        tokens[np.arange(columns) < lengths[:, None]] = np.concatenate(rows)
    return tokens, lengths


def encode_one(expression: str) -> NDArray[np.uint8]:
    """Codes of one expression; brackets are counted, arguments are not (see `evaluate`)."""
    words = expression.translate(_NO_PARENTHESES).split()
    try:
        codes = np.frombuffer(bytes(map(_CODES.__getitem__, words)), dtype=np.uint8)
    except KeyError as unknown:
        raise ValueError(f"unknown token {shortened(unknown.args[0])}; tokens are {' '.join(_CODES)}.") from None
    if not codes.size:
        raise ValueError("the expression is empty.")
    if not _one_expression(codes):
        raise ValueError("the brackets do not match, or something follows the last one.")
    return codes


def _one_expression(codes: NDArray[np.integer[Any]]) -> bool:
    """Whether all brackets are closed, and not before the end."""
    opened = np.cumsum((codes >= FIRST_OPERATOR).astype(np.int64) - 2 * (codes == END_CODE))
    return not opened.size or bool(opened[-1] == 0 and (opened[:-1] > 0).all())


def decode(tokens: ArrayLike, *, parentheses: bool = False) -> str:
    """The text of one row of codes; the padding is left out.

    Parameters
    ----------
    tokens
        One row of `encode`.
    parentheses
        With the parentheses of the published files, which pair an operator with its arguments one by one.

    Raises
    ------
    ValueError
        Not a row of codes; with `parentheses`, brackets that do not match.

    Examples
    --------
    >>> tokens, _ = encode(["[MAX 2 [MIN 3 8 ] ]"])
    >>> decode(tokens[0])
    '[MAX 2 [MIN 3 8 ] ]'
    >>> decode(tokens[0], parentheses=True)
    '( ( ( [MAX 2 ) ( ( ( [MIN 3 ) 8 ) ] ) ) ] )'
    """
    codes = whole_numbers(tokens, "tokens", 0, len(VOCABULARY) - 1)
    if codes.ndim != 1:
        raise ValueError(f"tokens must be one row of whole numbers, got shape {codes.shape}.")
    codes = codes[codes != PAD]
    if flag(parentheses, "parentheses") and not _one_expression(codes):
        raise ValueError(
            f"tokens must be one expression with all brackets closed for parentheses=True, got {shown(tokens)}."
        )
    words = [VOCABULARY[code] for code in codes]
    return _parenthesised(words) if parentheses else " ".join(words)


def _parenthesised(words: list[str]) -> str:
    """Currying: ``[MAX a b ]`` is ``( ( ( [MAX a ) b ) ] )``, one pair for each argument and one for the bracket."""
    written: list[str] = []
    open_operators: list[tuple[int, int]] = []  # place in `written`, arguments so far
    for word in words:
        if word in OPERATORS:
            open_operators.append((len(written), 0))
            written.append(word)
            continue
        if word == END:
            place, arguments = open_operators.pop()
            written[place] = "( " * (arguments + 1) + written[place]
            written.append("] )")
        else:
            written.append(word)
        if open_operators:
            place, arguments = open_operators.pop()
            open_operators.append((place, arguments + 1))
            written[-1] += " )"
    return " ".join(written)


def evaluate(expression: str) -> int:
    """The value of an expression, a digit.

    MIN, MAX, MED (median; the mean of the middle two is rounded down) and SM (sum modulo 10) of one argument or more.

    Raises
    ------
    ValueError
        Unknown tokens, brackets that do not match, an operator without arguments, or more than one expression.

    Examples
    --------
    >>> evaluate("[MAX 2 [MED 9 4 5 8 ] [SM 7 8 ] ]")
    6
    """
    words = text_of(expression, "expression")
    try:
        return value_of(words)
    except ValueError as error:
        raise ValueError(f"expression {shortened(words)}: {error}") from None


def value_of(expression: str) -> int:
    """`evaluate` of a text, with messages that do not repeat it."""
    stack: list[tuple[str, list[int]]] = [("", [])]
    for word in expression.translate(_NO_PARENTHESES).split():
        if word in _DIGIT_VALUES:
            stack[-1][1].append(_DIGIT_VALUES[word])
        elif word in OPERATORS:
            stack.append((word, []))
        elif word == END:
            operator, arguments = stack.pop()
            if not stack:
                raise ValueError("a bracket is closed that was never opened.")
            if not arguments:
                raise ValueError(f"{operator} has no arguments.")
            stack[-1][1].append(_apply(operator, arguments))
        else:
            raise ValueError(f"unknown token {shortened(word)}; tokens are {' '.join(_CODES)}.")
    if len(stack) > 1:
        raise ValueError(f"{stack[-1][0]} is never closed.")
    if len(stack[0][1]) != 1:
        raise ValueError(f"there must be exactly one expression, got {len(stack[0][1])}.")
    return stack[0][1][0]


def _apply(operator: str, arguments: list[int]) -> int:
    if operator == "[MIN":
        return min(arguments)
    if operator == "[MAX":
        return max(arguments)
    if operator == "[SM":
        return sum(arguments) % 10
    ordered = sorted(arguments)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2


def shortened(text: str) -> str:
    """A text for a message, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
