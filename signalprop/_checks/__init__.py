"""Argument checks shared by the public functions; every failure is one sentence with the name and the value in it.

One rule everywhere: a value is accepted if it is the number asked for, whatever type holds it (Python's, NumPy's of any
width, an array without axes, a fraction), and refused otherwise: truth values, texts and complex numbers are not real numbers,
and a mask is never ignored.
"""

from signalprop._checks.arrays import (
    any_array,
    array_between,
    broadcast,
    finite_array,
    log_array,
    permutation_of,
    probabilities,
    real_array,
    square_matrix,
    whole_numbers,
    whole_tuple,
)
from signalprop._checks.numbers import (
    INT64_LIMIT,
    between,
    even_number,
    exact_number,
    finite_number,
    positive_float,
    probability,
    real_number,
    seed_of,
    whole_number,
)
from signalprop._checks.objects import (
    flag,
    function_or_none,
    instance_of,
    listed,
    pair_of,
    path_of,
    text_of,
)
from signalprop._checks.words import (
    scalar,
    shown,
)

__all__ = [
    "INT64_LIMIT",
    "any_array",
    "array_between",
    "between",
    "broadcast",
    "even_number",
    "exact_number",
    "finite_array",
    "finite_number",
    "flag",
    "function_or_none",
    "instance_of",
    "listed",
    "log_array",
    "pair_of",
    "path_of",
    "permutation_of",
    "positive_float",
    "probabilities",
    "probability",
    "real_array",
    "real_number",
    "scalar",
    "seed_of",
    "shown",
    "square_matrix",
    "text_of",
    "whole_number",
    "whole_numbers",
    "whole_tuple",
]
