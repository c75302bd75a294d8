"""Loop equations: E prod_i tr(word_i), words in G and G*, as a polynomial in n, for real and complex Gaussian weights.

Integrate one letter x of a word x A by parts. With a letter y of the same word, A = U y V: y the adjoint of x splits the
word into tr(U) tr(V); y = x (real weights only) reverses a part, tr(U^T V). With a letter of another word y B the two
words join: tr(A B), or tr(A^T B) for y = x (real only). tr(1) = n. Every step removes two letters (P).

States are multisets of cyclic words in canonical form (least rotation; real: least of the word and its transpose). They
are walked level by level, from the given words down to nothing, carrying weights, so only two levels are in memory. The
letter integrated is the first G of the shortest run of Gs in the word with the most runs: for tr G^k (G*)^k this keeps every
state at one word G^a (G*)^b and pure powers: 154 thousand states at k = 23 (real), 9 thousand at k = 25 (complex).
A weight is a polynomial in n packed into one integer (n = 2^B with 2^B above the number of all pairings).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import assert_never

from signalprop._checks import listed, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop.fields import Field, as_field

Word = str | Sequence[str]
State = tuple[str, ...]

MAX_STATES = 1_000_000
MAX_LETTERS = 2_000  # of all words together; far past what the states allow
_ADJOINT = str.maketrans("GH", "HG")


def trace_moment(words: Iterable[Word], field: str = "real", *, max_states: int = MAX_STATES) -> tuple[int, ...]:
    r"""Coefficients of :math:`E \prod_i \mathrm{tr}(w_i)` as a polynomial in n, entries of G with E|g_ij|^2 = 1.

    Parameters
    ----------
    words
        The words w_i. Each is a string of ``G`` and ``G*`` with optional powers, like ``"GGG*G*"`` or ``"G^2 G*^2"``, or a
        sequence of such pieces, like ``("G^3", "G*^3")``. The empty word is the identity. For real weights ``G*`` is G^T.
    field
        ``"real"`` or ``"complex"``.
    max_states
        Bound on the number of states held at one level; about 1 kB each.

    Returns
    -------
    tuple of int
        Ascending powers of n, without trailing zeros; ``(0,)`` if the moment vanishes.

    Raises
    ------
    ValueError
        A word that cannot be read, an unknown or quaternion field, or more states than `max_states`.

    Notes
    -----
    Status P, by integration by parts for Gaussian entries. tr G^k (G*)^k takes about 0.1 s at k = 25 (complex), 1 s at
    k = 20 and two minutes at k = 30 (real).

    Examples
    --------
    >>> trace_moment(["GG*GG*"], "real")
    (0, 0, 1, 2)
    >>> trace_moment([("G^4", "G*^4")], "complex")
    (0, 8, 0, 15, 0, 1)
    >>> trace_moment(["GG*", "GG*"], "complex")
    (0, 0, 1, 0, 1)
    """
    real = _reverses(as_field(field))
    if isinstance(words, str):
        raise ValueError(f"words must be a list of words, got the string {shown(words)}; write [{shown(words)}].")
    limit = whole_number(max_states, "max_states", 1)
    letters = [read_word(word) for word in listed(words, "words", "words")]
    if (total := sum(map(len, letters))) > MAX_LETTERS:
        raise ValueError(
            f"loop equations take words of at most {MAX_LETTERS} letters in all, got {total}; "
            "signalprop.rnn_energy has E tr G^k (G^k)* at any k, signalprop.sample estimates the rest."
        )
    return _Equations(real, limit).moment(letters)


def second_moments(
    k: int, field: str = "real", *, max_states: int = MAX_STATES
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    r"""Coefficients of E (tr M)^2 and of E tr M^2 for M = (G^k)* G^k, ascending powers of n.

    They give the fourth moment of the norm, for a unit vector x:
    E||W^k x||^4 = [E(tr M)^2 + E tr M^2]/(n(n+1) n^{2k}) complex, [E(tr M)^2 + 2 E tr M^2]/(n(n+2) n^{2k}) real.
    Arguments, errors and status as for `trace_moment`; k = 7 takes 2 s and k = 9 half a minute (real).

    Examples
    --------
    >>> second_moments(2, "complex")
    ((0, 0, 16, 0, 7, 0, 1), (0, 8, 0, 13, 0, 3))
    """
    depth = whole_number(k, "k", 0, MAX_LETTERS // 4, "Estimate second moments with signalprop.sample.")
    # Measured: 30 s at k = 9 for real weights, under 1 s for complex ones, four times as much for each further step.
    refuse_beyond_bounds(
        f"wick.second_moments at k = {depth}",
        seconds=(30.0 if _reverses(as_field(field)) else 1.0) * 4.0 ** (depth - 9),
        instead="Estimate second moments with signalprop.sample.",
    )
    word = "G" * depth + "G*" * depth
    square = trace_moment([word, word], field, max_states=max_states)
    return square, trace_moment([word * 2], field, max_states=max_states)


def read_word(word: Word) -> str:
    """A word as a string of ``G`` and ``H`` (H for the adjoint).

    Examples
    --------
    >>> read_word("G^2G*"), read_word(("G", "G*^2"))
    ('GGH', 'GHH')
    """
    refusal = f"a word is a string like 'GGG*G*' or a sequence of pieces like ('G^3', 'G*^3'), got {shown(word)}."
    try:
        pieces = [word] if isinstance(word, str) else listed(word, "word", "pieces")
    except ValueError:
        raise ValueError(refusal) from None
    letters = []
    for piece in pieces:
        if not isinstance(piece, str):
            raise ValueError(refusal)
        text = piece.replace(" ", "")
        position = 0
        while position < len(text):
            if text[position] != "G":
                raise ValueError(
                    f"words have the letters G and G* with optional powers, got {text[position]!r} in {shown(piece)}."
                )
            position += 1
            letter = "G"
            if text.startswith("*", position):
                letter, position = "H", position + 1
            power = 1
            if text.startswith("^", position):
                digits = position + 1
                while digits < len(text) and text[digits].isascii() and text[digits].isdigit():
                    digits += 1
                if digits == position + 1:
                    raise ValueError(f"a power ^ needs a whole number after it, got {shown(piece)}.")
                written = text[position + 1 : digits].lstrip("0")[:20] or "0"  # twenty digits are too many anyway
                power, position = whole_number(int(written), "a power", 0, 10_000), digits
            letters.append(letter * power)
    return "".join(letters)


def _reverses(field: Field) -> bool:
    """Whether a letter contracts with its equal, reversing a part of a word: with real weights."""
    match field:
        case Field.REAL:
            return True
        case Field.COMPLEX:
            return False
        case Field.QUATERNION:
            raise ValueError(
                "field='quaternion' has no loop equations here; use moments.trace_polynomial, or the real result at -2n."
            )
        case _:
            assert_never(field)


class _Equations:
    """Loop equations of one field, with a memory of the words already reduced."""

    def __init__(self, real: bool, max_states: int) -> None:
        self.real = real
        self.max_states = max_states
        self._canonical: dict[str, str] = {}
        self._starts: dict[str, str] = {}
        self._splits: dict[str, list[tuple[State, int, int]]] = {}
        self._joins: dict[tuple[str, str], list[tuple[str, int]]] = {}

    def moment(self, words: list[str]) -> tuple[int, ...]:
        letters = sum(map(len, words))
        if letters % 2 or (not self.real and 2 * sum(word.count("G") for word in words) != letters):
            return (0,)
        bits = math.prod(range(1, letters, 2)).bit_length() + 1
        start, free = self._collect([self.canonical(word) for word in words])
        level = {start: 1 << (bits * free)}
        for _ in range(letters // 2):
            level = self._contract(level, bits)
        packed = level.get((), 0)
        coefficients = []
        while packed:
            coefficients.append(packed & ((1 << bits) - 1))
            packed >>= bits
        return tuple(coefficients) or (0,)

    def _contract(self, level: dict[State, int], bits: int) -> dict[State, int]:
        """Integrate one letter in every state and gather what comes out."""
        below: dict[State, int] = {}
        for state, weight in level.items():
            if len(below) > self.max_states:
                raise ValueError(
                    f"the loop equations for these words need more than max_states={self.max_states} states at one level; "
                    "raise max_states (about 1 kB per state), or estimate the moment by sampling."
                )
            word = max(state, key=lambda w: (_runs(w), len(w)))
            position = state.index(word)
            rest = state[:position] + state[position + 1 :]
            for pieces, free, ways in self.splits(word):
                key = tuple(sorted(rest + pieces)) if pieces else rest
                below[key] = below.get(key, 0) + ((weight * ways) << (bits * free))
            seen = ""
            for index, other in enumerate(rest):
                if other == seen:
                    continue
                seen = other
                alike = weight * rest.count(other)
                others = rest[:index] + rest[index + 1 :]
                for joined, ways in self.joins(word, other):
                    key = tuple(sorted((*others, joined))) if joined else others
                    below[key] = below.get(key, 0) + ((alike * ways) << (0 if joined else bits))
        return below

    def splits(self, word: str) -> list[tuple[State, int, int]]:
        """Partners inside the word: (words that come out, number of tr(1), ways)."""
        if word not in self._splits:
            tail, letter = self.start(word)[1:], self.start(word)[0]
            out: dict[tuple[State, int], int] = {}
            for i, partner in enumerate(tail):
                if partner != letter:
                    key = self._collect([self.canonical(tail[:i]), self.canonical(tail[i + 1 :])])
                elif self.real:
                    key = self._collect([self.canonical(_transpose(tail[:i]) + tail[i + 1 :])])
                else:
                    continue
                out[key] = out.get(key, 0) + 1
            self._splits[word] = [(words, free, ways) for (words, free), ways in out.items()]
        return self._splits[word]

    def joins(self, word: str, other: str) -> list[tuple[str, int]]:
        """Partners in another word: (the joined word, ways)."""
        pair = (word, other)
        if pair not in self._joins:
            tail, letter = self.start(word)[1:], self.start(word)[0]
            turned = _transpose(tail)
            out: dict[str, int] = {}
            for i, partner in enumerate(other):
                if partner == letter and not self.real:
                    continue
                opened = other[i + 1 :] + other[:i]
                joined = self.canonical((tail if partner != letter else turned) + opened)
                out[joined] = out.get(joined, 0) + 1
            self._joins[pair] = list(out.items())
        return self._joins[pair]

    def start(self, word: str) -> str:
        """The rotation that begins with the shortest run of Gs; a pure power as it is."""
        if word not in self._starts:
            best = word
            if "G" in word and "H" in word:
                edges = [i for i in range(len(word)) if word[i] == "G" and word[i - 1] == "H"]
                rotations = [word[i:] + word[:i] for i in edges]
                best = min(rotations, key=lambda rotation: (rotation.index("H"), rotation))
            self._starts[word] = best
        return self._starts[word]

    def canonical(self, word: str) -> str:
        """Least rotation of the word and, for real weights, of its transpose."""
        if word not in self._canonical:
            least = _least_rotation(word)
            self._canonical[word] = min(least, _least_rotation(_transpose(word))) if self.real else least
        return self._canonical[word]

    @staticmethod
    def _collect(words: list[str]) -> tuple[State, int]:
        """Sorted non-empty words, and the number of empty ones, each a factor n."""
        kept = tuple(sorted(word for word in words if word))
        return kept, len(words) - len(kept)


def _runs(word: str) -> int:
    return word.count("GH") + (word[0] == "H" and word[-1] == "G")


def _transpose(word: str) -> str:
    return word[::-1].translate(_ADJOINT)


def _least_rotation(word: str) -> str:
    twice, size = word + word, len(word)
    return min((twice[i : i + size] for i in range(size)), default="")
