r"""Lyapunov exponents of products of independent Gaussian matrices: what fresh linear steps do to each direction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import whole_number
from signalprop.fields import as_field

Floats = NDArray[np.float64]
MAX_N = 10**7


def ginibre_exponents(n: int, field: str = "real") -> Floats:
    r"""All Lyapunov exponents of W_t .. W_2 W_1, independent n x n matrices with entries of variance 1/n.

    .. math:: \lambda_i=\tfrac12\Bigl(\psi\bigl(\tfrac{\beta(n-i+1)}2\bigr)+\log\tfrac2{\beta n}\Bigr),\qquad i=1,\dots,n

    Growth per step, as a natural logarithm, of lengths along the i-th direction; of energies it is twice that. psi is the
    digamma function; beta is 1, 2 or 4.

    Parameters
    ----------
    n
        Width, 1 to 1e7.
    field
        ``"real"``, ``"complex"`` or ``"quaternion"``.

    Returns
    -------
    float64 array of shape (n,)
        Descending. For quaternion weights each counts for two directions of C^{2n}.

    Raises
    ------
    ValueError
        A width outside of this range, an unknown field.

    Notes
    -----
    Status P. Newman, for real weights; complex and quaternion ones by the same reduction, since the i-th step of QR leaves the
    length of a Gaussian vector of n-i+1 entries. Cost O(n).

    Examples
    --------
    >>> ginibre_exponents(8).round(4)[:2]
    array([-0.0651, -0.1416])
    """
    from scipy.special import digamma

    width = whole_number(n, "n", 1, MAX_N)
    beta = as_field(field).beta
    left = np.arange(width, 0, -1, dtype=np.float64)
    exponents: Any = 0.5 * (digamma(0.5 * beta * left) + math.log(2.0 / (beta * width)))
    return np.asarray(exponents, dtype=np.float64)
