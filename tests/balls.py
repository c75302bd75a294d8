"""High-precision references in ball arithmetic, written from the formulas and sharing no code with the package."""

from flint import arb, ctx


def _rising(start, step, count):
    out = [arb(1)]
    for j in range(count):
        out.append(out[-1] * (start + step * j))
    return out


def complex_log_energy(n, k, bits=600):
    """log Q_{n,k}, complex: difference of the rising and the falling factorial, at a precision that survives it."""
    ctx.prec = bits
    try:
        rising = arb(n).rising(k + 2)
        falling = arb(n - k - 1).rising(k + 2) if n > k + 1 else arb(0)
        return ((rising - falling) / ((k + 1) * (k + 2)) / arb(n) ** (k + 1)).log()
    finally:
        ctx.prec = 53


def zonal_log_energy(n, k, field, bits=300):
    """log Q_{n,k}, real or quaternion: the triple sum over (a, b, c), term by term with d as printed."""
    ctx.prec = bits
    try:
        base = arb(n) if field == "real" else arb(-2 * n)
        size = k + 1
        p = _rising(base, 2, size)
        q = _rising(base - 1, 2, size)
        s = _rising(base - 2, -1, size)
        total = p[size] / (2 * k + 1)
        for a in range(1, size + 1):
            for b in range(1, min(a, size - a) + 1):
                c = size - a - b
                gap = a - b
                top = (
                    16 * a**2 * b + 16 * a**2 * c + 16 * a * b**2 - 16 * a * b + 4 * a * c**2 + 4 * a * c
                    + 16 * b**2 * c + 8 * b**2 + 4 * b * c**2 - 12 * b * c - 12 * b - 2 * c**2 - 6 * c
                )  # fmt: skip
                bottom = (2 * gap + 3) * (2 * gap - 1) * (2 * a + c) * (2 * a + c + 1) * (2 * b + c - 1) * (2 * b + c)
                d = arb(top) / bottom
                if gap == 0:
                    d += arb(2) / (2 * a + c)
                total += d * p[a] * q[b] * s[c]
        return (total / base**size).log()
    finally:
        ctx.prec = 53


def relative_error(got, want):
    """|got - want| / max(1, |want|) for a float against a ball."""
    ctx.prec = 300
    try:
        return float(abs(arb(float(got)) - want)) / max(1.0, abs(float(want)))
    finally:
        ctx.prec = 53
