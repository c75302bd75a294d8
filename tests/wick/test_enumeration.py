import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalprop import wick
from signalprop.wick import matchings, permutations, reference

LARGEST = {"complex": 11, "real": 9}


@pytest.mark.parametrize("field", ["complex", "real"])
def test_rows_equal_the_oracle(field, trace_polynomials):
    for k in range(1, LARGEST[field] + 1):
        assert wick.cycle_counts(k, field) == trace_polynomials[field][k], k


@pytest.mark.slow
@pytest.mark.parametrize(("field", "k"), [("complex", 12), ("real", 10)])
def test_largest_rows_equal_the_oracle(field, k, trace_polynomials):
    assert wick.cycle_counts(k, field) == trace_polynomials[field][k]


@pytest.mark.parametrize("k", range(4, 9))
def test_permutation_kernel_equals_commutators(k):
    assert permutations.count_cycles(k) == reference.permutation_counts(k)


@pytest.mark.parametrize("k", range(4, 7))
def test_matching_kernel_equals_index_sets(k):
    assert matchings.count_cycles(k) == reference.matching_counts(k)


@pytest.mark.parametrize("k", [6, 7, 8])
def test_branches_and_their_mirror_images_make_the_whole_walk(k, monkeypatch):
    whole = permutations.count_cycles(k), matchings.count_cycles(min(k, 7))
    monkeypatch.setattr(permutations, "BRANCHED", 6)
    monkeypatch.setattr(matchings, "BRANCHED", 6)
    assert (permutations.count_cycles(k), matchings.count_cycles(min(k, 7))) == whole
    assert permutations.count_cycles(k) == reference.permutation_counts(k)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(8)))
def test_free_indices_do_not_change_when_paths_are_read_backwards_or_exchanged(sigma):
    backwards = tuple(7 - sigma[7 - i] for i in range(8))
    assert reference.commutator_cycles(backwards) == reference.commutator_cycles(tuple(sigma))
    inverse = reference.inverse(tuple(sigma))
    assert reference.commutator_cycles(inverse) == reference.commutator_cycles(tuple(sigma))


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(10)))
def test_free_indices_do_not_change_when_copies_are_exchanged(order):
    pairing = [(order[2 * i], order[2 * i + 1]) for i in range(5)]
    exchanged = [((f + 5) % 10, (g + 5) % 10) for f, g in pairing]
    assert reference.free_indices(5, exchanged) == reference.free_indices(5, pairing)


@pytest.mark.parametrize("k", range(12))
def test_every_permutation_is_counted_once(k):
    assert sum(wick.cycle_counts(k, "complex")) == math.factorial(k)


@pytest.mark.parametrize("k", range(9))
def test_every_matching_is_counted_once(k):
    assert sum(wick.cycle_counts(k, "real")) == math.prod(range(1, 2 * k, 2))


def test_zero_steps_leave_one_free_index():
    # tr[1] = n
    assert wick.cycle_counts(0, "complex") == wick.cycle_counts(0, "real") == (0, 1)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(7)))
def test_commutator_and_index_classes_agree_on_each_permutation(sigma):
    # The two definitions of V, permutation by permutation: a pairing across the copies identifies indices.
    pairing = [(m, 7 + sigma[m]) for m in range(7)]
    assert reference.commutator_cycles(tuple(sigma)) == reference.free_indices(7, pairing)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(9)), st.permutations(range(9)))
def test_cycle_count_is_a_class_function(p, q):
    p, q = tuple(p), tuple(q)
    conjugate = reference.compose(reference.compose(q, p), reference.inverse(q))
    assert reference.cycles(conjugate) == reference.cycles(p)


@pytest.mark.parametrize(
    ("k", "field", "message"),
    [
        (20, "complex", r"k must be at most 12, got 20\. .*moments\.trace_polynomial\(k, 'complex'\)"),
        (13, "complex", "at most 12"),
        (11, "real", r"at most 10, got 11\. .*moments\.trace_polynomial\(k, 'real'\)"),
        (-1, "real", "k must be at least 0, got -1"),
        (2.5, "complex", r"k must be a whole number, got 2\.5"),
        (float("nan"), "complex", "k must be a whole number, got nan"),
        (True, "complex", "k must be a whole number, got True"),
        (3, "quaternion", r"moments\.trace_polynomial\(k, 'quaternion'\)"),
        (3, "quaternions", "field must be one of"),
    ],
)
def test_bad_input_is_one_sentence(k, field, message):
    with pytest.raises(ValueError, match=message):
        wick.cycle_counts(k, field)
