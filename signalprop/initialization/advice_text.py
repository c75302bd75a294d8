"""The page that `signalprop scale` prints: answer, why, what to paste, details, for a reader who trains models.

What it says stands in `signalprop.initialization.advice_words`; here is when it says it, and with which numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signalprop._numbers import counted, number, power, rounded
from signalprop._status import mean_status
from signalprop._text import columns, lines_of
from signalprop.fields import Field, by_field
from signalprop.initialization import one_draw_table
from signalprop.initialization.advice_words import code, sentence
from signalprop.initialization.criteria import CRITERIA

if TYPE_CHECKING:
    from signalprop.initialization.advice import Advice
    from signalprop.initialization.scale import SafeScale

WIDEST = 100  # columns; longer lines are hard to read
MOST_HEADS = 32
TRAINED = (9.0, 90.0)  # steps over sqrt(n) that benchmarks/initialization trained at, all of them FAR past the budget
FAR = 4
_TORCH_DEFAULT = 1.0 / math.sqrt(3.0)  # nn.RNN: uniform(-1/sqrt(n), 1/sqrt(n))
_TEN = math.log(10.0)


@dataclass(frozen=True)
class Block:
    """Something to paste: a title, then sentences and (label, code) in the order they are read."""

    title: str
    items: tuple[str | tuple[str, str], ...]


def page(advice: Advice, width: int | None = None) -> str:
    """The whole page, in `width` columns (default: those of the terminal); only lines to paste may be longer."""
    room = min(columns(), WIDEST) if width is None else width
    head = lines_of(sentence("head", n=advice.n, steps=_steps(advice.horizon), field=advice.field.value), room, "", "")
    lines = [*head, "=" * max(map(len, head)), ""]
    if advice.field is Field.REAL:
        lines += [*lines_of(sentence("cells_first", option="add --cell tanh, relu, gru or lstm"), room, "", ""), ""]
    lines += lines_of(answer(advice), room, "", "")
    lines += ["", "Why"]
    for text in why(advice):
        lines += _point(text, room)
    for block in paste(advice):
        lines += ["", *_block(block, room)]
    lines += ["", *_details(advice, room), "", *lines_of(status(advice), room, "", "")]
    # Blocks bring their own empty lines: one between two of them is enough.
    return "\n".join(line for line, after in zip(lines, [*lines[1:], "end"], strict=True) if line or after)


def answer(advice: Advice) -> str:
    """The first sentence or two."""
    found = advice.scales["quantile"]
    return sentence(
        "rescale_one" if advice.verdict == "rescale" and found.scale == 1.0 else advice.verdict,
        g=f"{found.scale:.4g}",
        std=f"{found.std:.4g}",
        glorot_std=f"{advice.scales['glorot'].std:.4g}",
        just="" if advice.horizon <= advice.budget else "just about ",
        fate=_fate(advice),
    )


def why(advice: Advice) -> list[str]:
    """The reasons for the answer."""
    time = sentence(
        "time",
        steps=_steps(advice.horizon),
        are="is" if advice.horizon == 1 else "are",
        c=number(advice.c),
        n=advice.n,
    )
    if advice.verdict == "keep":
        share = _exploding(advice)
        draws = sentence("draws", **_glorot_values(advice) | {"share": share[0].upper() + share[1:]})
        return [time, draws, *_average(advice), _end(advice)]
    found = advice.scales["quantile"]
    left = advice.log_median(found.scale)
    values = {"g": f"{found.scale:.4g}", "horizon": advice.horizon, "median": factor(left)}
    if advice.verdict == "rescale":
        low = advice.log_energy[0.05] + 2.0 * advice.horizon * math.log(found.scale)
        fate = sentence("scaled", low=factor(low), **values)
    else:
        fate = sentence("forgets", nothing=": nothing survives" if left < -14.0 else "", **values)
    return [time, _glorot(advice), fate, _holds(advice)]


def paste(advice: Advice) -> list[Block]:
    """What to paste, in the order of the page."""
    gaussian = _gaussian(advice, advice.scale)
    if advice.verdict == "keep":
        blocks = [Block(sentence("paste"), gaussian)]
    elif advice.verdict == "rescale":
        blocks = [Block(sentence("paste"), gaussian), Block(sentence("paste_more"), _norm_preserving(advice))]
    else:
        trained = (sentence("trained"),) if _was_trained(advice) else ()
        blocks = [
            Block(sentence("paste_norm"), (*_norm_preserving(advice), *trained)),
            Block(sentence("paste_gaussian"), gaussian),
        ]
    return blocks


def scale_lines(found: SafeScale) -> list[str]:
    """Lines to paste for one scale."""
    argument = f"scale={found.scale:.8g}"
    return _code_lines(_gaussian_lines(found.n, found.field, found.scale, argument))


def factor(log_value: float) -> str:
    """A factor given by its natural log: 0.72x, 31x, 4*10^5, 10^47."""
    if abs(log_value) < 0.7:
        return f"{math.exp(log_value):.2f}x"
    if abs(log_value) < 3.0 * _TEN:
        return f"{float(f'{math.exp(log_value):.2g}'):g}x"
    if abs(log_value) > 10.0 * _TEN:
        return f"10^{log_value / _TEN:.0f}"
    return power(math.exp(log_value))


def share_text(found: SafeScale) -> str:
    """The share of draws that explode: 5 %, < 1 %, > 99 %."""
    share, low, high = found.exploding_share()
    if high <= one_draw_table.LEVELS[0] or (share < one_draw_table.LEVELS[0] and low == 0.0):
        return "< 1 %"
    if low >= one_draw_table.LEVELS[-1] or (share > one_draw_table.LEVELS[-1] and high == 1.0):
        return "> 99 %"
    return f"{100.0 * share:.0f} %"


def heads_for(n: int) -> int:
    """The most heads of at least two states that divide n, 32 at most."""
    return next(heads for heads in range(MOST_HEADS, 0, -1) if heads == 1 or (n % heads == 0 and n // heads > 1))


def status(advice: Advice) -> str:
    """How sure the numbers are, and how to cite them."""
    option = "" if advice.field is Field.REAL else f" --field {advice.field.value}"
    return sentence(
        "status_draws" if advice.log_mean is None else "status",
        average=mean_status(advice.field),
        safe=_safe(advice.scales["quantile"]),
        command=f"signalprop cite scale{option}",
    )


def _safe(found: SafeScale) -> str:
    """The interval of the quantile scale; of what its definition allows where that is more than Glorot."""
    capped = found.largest > found.scale
    low, high = found.largest_interval if capped else found.interval
    return sentence(
        "safe_capped" if capped else "safe", largest=f"{found.largest:.5g}", low=f"{low:.5g}", high=f"{high:.5g}"
    )


def _glorot_values(advice: Advice) -> dict[str, str]:
    low, middle, high = (advice.log_energy[q] for q in (0.05, 0.5, 0.95))
    return {"low": factor(low), "median": factor(middle), "high": factor(high)}


def _average(advice: Advice) -> list[str]:
    if advice.log_mean is None:
        return []
    percent = 100.0 * math.expm1(min(advice.log_mean, 1.0))
    if percent < 0.1:
        return [sentence("average_still")]
    if percent <= 50.0:
        return [sentence("average_grown", percent=f"{percent:.2g}")]
    return [sentence("average_is", mean=factor(advice.log_mean))]


def _end(advice: Advice) -> str:
    held = _count(advice.budget + 1)
    if advice.mean_budget is None:
        return sentence("end", held=held)
    name = "end_average_past" if advice.horizon > advice.mean_budget else "end_average"
    return sentence(name, held=held, average=_steps(advice.mean_budget + 1))


def _fate(advice: Advice) -> str:
    if advice.log_energy[0.5] > math.log(2.0):
        return "explodes" if advice.log_energy[0.5] > math.log(one_draw_table.BOUND) else "grows"
    return "fades" if advice.log_energy[0.95] < 0.0 else "is a lottery"


def _glorot(advice: Advice) -> str:
    name = "glorot_spreads"
    if advice.log_energy[0.5] > math.log(2.0):
        name = "glorot_all_grow" if advice.log_energy[0.05] > 0.0 else "glorot_grows"
    return sentence(
        name,
        fate=_fate(advice),
        horizon=advice.horizon,
        share=_exploding(advice),
        **_glorot_values(advice),
    )


def _holds(advice: Advice) -> str:
    share = 100.0 * advice.held_share
    best = f" (g = {advice.held_scale:.4g} keeps the most)" if advice.verdict == "rescale" else ", whatever the scale"
    kept = sentence("held", kept="Fewer than 1 %" if share < 1.0 else f"At most {share:.0f} %", best=best)
    if advice.horizon <= advice.budget:
        return f"{kept} {sentence('budget_within', n=advice.n, budget=_count(advice.budget))}"
    name = "budget_past" if advice.budget else "budget_none"
    text = f"{kept} {sentence(name, n=advice.n, budget=_steps(advice.budget))}"
    if advice.width_needed is None:
        return text + sentence("width_none")
    return text + sentence("width_needed", steps=_steps(advice.horizon), width=rounded(advice.width_needed))


def _exploding(advice: Advice) -> str:
    """Share of draws that pass ten times their energy with Glorot, in words."""
    share, low, high = advice.scales["glorot"].exploding_share()
    if high <= one_draw_table.LEVELS[0] or low >= one_draw_table.LEVELS[-1]:
        return f"{'fewer than 1 %' if share < 0.5 else 'more than 99 %'} of draws"
    return f"about {100.0 * share:.2g} % of draws"


def _was_trained(advice: Advice) -> bool:
    """Whether this is the recurrence, and about as far past its budget, as what was trained."""
    near, far = TRAINED
    return advice.field is Field.REAL and near <= advice.c <= far and advice.horizon >= FAR * advice.budget


def _gaussian(advice: Advice, scale: float) -> tuple[tuple[str, str], ...]:
    argument = "scale=1.0" if scale == 1.0 else f"horizon={advice.horizon}"
    return _gaussian_lines(advice.n, advice.field, scale, argument)


def _gaussian_lines(n: int, field: Field, scale: float, argument: str) -> tuple[tuple[str, str], ...]:
    std = scale / math.sqrt(n)
    names = by_field(
        field,
        real=("gaussian_torch", "gaussian_torch_alone", "gaussian_jax"),
        complex=("complex_torch", "complex_jax"),
        quaternion=("quaternion_numpy",),
    )
    return tuple(code(name, n=n, argument=argument, std=f"{std:.6g}", part_std=f"{0.5 * std:.6g}") for name in names)


def _norm_preserving(advice: Advice) -> tuple[str | tuple[str, str], ...]:
    n = advice.n
    return by_field(
        advice.field,
        real=_orthogonal(advice),
        complex=(sentence("unitary"), code("unitary_torch", n=n), code("unitary_jax", n=n)),
        quaternion=(sentence("unitary_quaternion"),),
    )


def _orthogonal(advice: Advice) -> tuple[str | tuple[str, str], ...]:
    n = advice.n
    heads = heads_for(n)
    values = {"n": n, "heads": heads, "near": _modulus(advice.horizon), "far": _modulus(10 * advice.horizon)}
    return (
        sentence("orthogonal"),
        code("orthogonal_torch", n=n),
        code("orthogonal_jax", n=n),
        sentence("layers", steps=_steps(advice.horizon)),
        code("rotrnn", **values),
        *((sentence("heads"),) if heads > 1 else ()),
        code("lru", **values),
    )


def _modulus(horizon: int) -> str:
    """The modulus that keeps 1/e of the energy over the horizon, in as many digits as it needs."""
    away = -math.expm1(-0.5 / horizon)
    return f"{1.0 - away:.{1 - math.floor(math.log10(away))}f}"


def _details(advice: Advice, width: int) -> list[str]:
    lines = ["Details", *lines_of(sentence("columns"), width, "  ", "  "), ""]
    rows = [
        (
            name,
            f"{found.scale:.4f}",
            factor(advice.log_median(found.scale)),
            share_text(found),
            f"{found.std:.3g}",
        )
        for name, found in advice.scales.items()
    ]
    titles = ("criterion", "scale g", "energy left", "> 10x", "std")
    lines += _table(titles, rows, width, [CRITERIA[name].guarantee for name in advice.scales])
    lines.append("")
    for text in details(advice):
        lines += _point(text, width)
    return lines


def details(advice: Advice) -> list[str]:
    """The points under the table."""
    points = [sentence(advice.regime), _mean(advice)]
    if advice.field is Field.REAL:
        left = factor(advice.log_median(_TORCH_DEFAULT))
        points.append(sentence("torch_default", g=f"{_TORCH_DEFAULT:.3f}", left=left, horizon=advice.horizon))
        scaled = advice.complex_log_energy + 2.0 * advice.horizon * math.log(advice.complex_scale)
        points.append(sentence("complex_weights", g=f"{advice.complex_scale:.4f}", left=factor(scaled)))
    points.append(sentence("scope"))
    option = "" if advice.field is Field.REAL else f" --field {advice.field.value}"
    command = f"signalprop scale -n {advice.n} -T {advice.horizon}{option} --plot energy.png"
    return [*points, sentence("picture", command=command)]


def _mean(advice: Advice) -> str:
    if advice.log_mean is None:
        return sentence("mean_unknown")
    bounded, quantile = advice.scales["bounded"].scale, advice.scales["quantile"].scale
    values = {
        "mean": factor(advice.log_mean),
        "bounded": f"{bounded:.4g}",
        "left": factor(advice.log_median(bounded)),
    }
    if advice.log_mean > advice.log_energy[0.99]:
        return sentence("mean_rare", **values)
    strict = abs(math.log(bounded / quantile)) > 0.03
    return sentence("mean_strict" if strict else "mean_plain", **values)


def _steps(count: int) -> str:
    return counted(count, "step") if count < 10**7 else f"{rounded(count)} steps"


def _count(count: int) -> str:
    return f"{rounded(count)} step{'' if count == 1 else 's'}"


# ---- lines of text ----


def _block(block: Block, width: int) -> list[str]:
    lines = lines_of(block.title, width, "", "")
    for item in block.items:
        lines += lines_of(item, width, "  ", "  ") if isinstance(item, str) else _code_lines([item])
    return lines


def _code_lines(items: Iterable[tuple[str, str]]) -> list[str]:
    """Code from the first column on, to paste as it stands; each block under a comment and between empty lines."""
    lines = []
    for label, text in items:
        lines += ["", f"# {label}", *text.splitlines()]
    return [*lines, ""]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int, notes: Sequence[str]) -> list[str]:
    """Columns, the last ones left out where they do not fit; notes beside the rows, or below them where there is no room."""
    lengths = [max(len(row[i]) for row in (titles, *rows)) for i in range(len(titles))]
    shown = len(titles)
    while shown > 2 and 2 + sum(lengths[:shown]) + 2 * (shown - 1) > width:
        shown -= 1
    lines = []
    for row in (titles, *rows):
        cells = [row[0].ljust(lengths[0]), *(row[i].rjust(lengths[i]) for i in range(1, shown))]
        lines.append("  " + "  ".join(cells))
    used = len(lines[0]) + 2
    if used + max(map(len, notes)) <= width:
        heads = ["what it promises", *notes]
        return [f"{line}  {note}" for line, note in zip(lines, heads, strict=True)]
    indent = " " * (4 + lengths[0])
    promises = [
        lines_of(f"{row[0]:<{lengths[0]}}  {note}", width, "  ", indent) for row, note in zip(rows, notes, strict=True)
    ]
    return [*lines, "", "  What each promises:", *(line for lines in promises for line in lines)]


def _point(text: str, width: int) -> list[str]:
    return lines_of(text, width, "  * ", "    ")
