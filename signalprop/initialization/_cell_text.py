"""The page that `signalprop scale --cell` prints: answer, why, what to paste, evidence, details.

What it says stands in `signalprop.initialization._cell_words`; here is when it says it, and with which numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from signalprop._numbers import counted, number
from signalprop._text import columns, lines_of
from signalprop.initialization import _cell_table
from signalprop.initialization._cell_evidence import TASKS, GroupEvidence
from signalprop.initialization._cell_evidence import evidence as trained
from signalprop.initialization._cell_table import INPUT_STDS, Left
from signalprop.initialization._cell_words import (
    ALONE,
    CODE,
    GATES,
    NAMES,
    NARROW,
    START_NAMES,
    STARTS,
    TITLES,
    WIDE,
    sentence,
)
from signalprop.initialization.advice_text import WIDEST, factor

if TYPE_CHECKING:
    from signalprop.initialization._cell_advice import CellAdvice

FADED = -10.0 * math.log(10.0)  # log-energy of a gradient that teaches nothing
MOST_TIES = 3  # that are named
WEAK = 0.03  # below, the law of the crossover is far off
NEAR_ONE = 0.3  # inputs that add more are nearer to 1 than to what PyTorch's own input kernels add


def page(advice: CellAdvice, width: int | None = None) -> str:
    """The whole page, in `width` columns (default: those of the terminal); only lines to paste may be longer."""
    room = min(columns(), WIDEST) if width is None else width
    values = {"layer": NAMES[advice.cell], "n": advice.n, "steps": _steps(advice), "s": number(advice.input_std)}
    head = lines_of(sentence("head", **values), room)
    lines = [*head, "=" * max(map(len, head)), "", *lines_of(answer(advice), room)]
    if not advice.tabled:
        lines += ["", *lines_of(sentence("outside"), room)]
    lines += ["", "Why"]
    for text in why(advice):
        lines += _point(text, room)
    lines += [
        "",
        sentence("paste"),
        "",
        "# PyTorch",
        *_filled(CODE, advice),
        "",
        *lines_of(sentence("size_gates" if advice.gated else "size_plain", **values), room, "  ", "  "),
    ]
    lines += ["", sentence("paste_alone"), "", "# PyTorch", *_filled(ALONE, advice)]
    if advice.gated:
        lines += ["", *lines_of(sentence("elsewhere"), room, "  ", "  ")]
    lines += ["", "What trainings say"]
    for text in evidence(advice):
        lines += _point(text, room)
    lines += ["", "Details", *lines_of(sentence("columns", **values), room, "  ", "  "), "", *_table(advice), ""]
    for text in details(advice):
        lines += _point(text, room)
    lines += ["", *lines_of(status(advice), room)]
    return "\n".join(lines)


def answer(advice: CellAdvice) -> str:
    """The first sentences."""
    default, advised = advice.left["default"].median, advice.left[advice.advised].median
    values = {"steps": _steps(advice), "default": left(default), "advised": left(advised)}
    if advice.gated:
        return sentence(
            "gates" if default < -math.log(10.0) and advice.horizon >= _cell_table.HORIZONS[0] else "gates_last",
            **values,
        )
    start = sentence(advice.advised)
    if advised < FADED and advice.tabled:
        return sentence(
            f"faded_{advice.cell}", start=start[0].upper() + start[1:], s=number(advice.input_std), **values
        )
    return sentence("plain" if default < -math.log(10.0) else "lasts", start=start, **values)


def why(advice: CellAdvice) -> list[str]:
    """The reasons for the answer."""
    return [*_reasons(advice), _other_inputs(advice), sentence("flows")]


def _reasons(advice: CellAdvice) -> list[str]:
    found = {name: left(one.median) for name, one in advice.left.items()}
    chosen = advice.left[advice.advised]
    spread = sentence("spread", low=left(chosen.low), high=left(chosen.high))
    if advice.gated:
        name = "memories" if advice.horizon > 2 else "memories_short"
        memories = sentence(
            name, gate=GATES[advice.cell], before=advice.horizon - 1, steps=_steps(advice), s=number(advice.input_std),
            shift=f"{_shift(advice):.2g}",
        )  # fmt: skip
        kernel = sentence(
            "kernel", orthogonal=found["orthogonal chrono"], gaussian=found["gaussian chrono"], biases=found["biases"]
        )
        return [sentence("half", glorot=found["glorot"]), memories, spread, kernel]
    if advice.cell == "relu":
        wide = advice.left["gaussian critical"]
        return [sentence("relu", low=left(wide.low), high=left(wide.high)), spread]
    held = advice.left["orthogonal critical"]
    points = [
        sentence("slope", glorot=found["glorot"], orthogonal=found["orthogonal"]),
        spread,
        sentence("critical", g=_critical(advice), critical=left(held.median), low=left(held.low), high=left(held.high)),
    ]
    if advice.input_std >= WEAK:
        from signalprop.meanfield import crossover_horizon

        reach = float(crossover_horizon(advice.n, "tanh", advice.input_std))
        points.append(sentence("order", reach=number(reach, 2)))
    return points


def status(advice: CellAdvice) -> str:
    """How sure the numbers are, and how to cite them."""
    chosen = advice.left[advice.advised]
    if not advice.tabled:
        return sentence("status_outside")
    if not math.isfinite(chosen.median):
        return sentence("status_nothing")
    return sentence("status", error=f"{chosen.error:.2g}")


def _other_inputs(advice: CellAdvice) -> str:
    """What the advised start does for smaller and larger inputs."""
    stds = [std for std in INPUT_STDS if not math.isclose(std, advice.input_std)]
    medians = [_cell_table.left(advice.cell, advice.advised, advice.n, advice.horizon, std).median for std in stds]
    if advice.cell == "relu":  # without biases max(0, .) only scales with its inputs
        return sentence("any_inputs")
    return sentence(
        "other_inputs" if advice.gated else "other_sizes",
        sizes=_listed(map(number, stds)),
        parts=_listed(map(left, medians)),
    )


def _listed(words: Iterable[str], final: str = " and ") -> str:
    *most, last = words
    return f"{', '.join(most)}{final}{last}" if most else last


def evidence(advice: CellAdvice) -> list[str]:
    """What trainings showed, where they were made; and what the page does not know."""
    told = [told_of(group, advice.input_std) for group in trained(advice.cell) if near(group, advice.n, advice.horizon)]
    if told:
        return told
    return [sentence("untrained") if trained(advice.cell) else sentence("untrained_cell", layer=NAMES[advice.cell])]


def near(group: GroupEvidence, n: int, horizon: int) -> bool:
    """Whether a width and a horizon are of the size of those that were trained."""
    (narrow, wide), (short, long) = around(group)
    return narrow <= n <= wide and short <= horizon <= long


def around(group: GroupEvidence) -> tuple[tuple[float, float], tuple[float, float]]:
    """The smallest and the largest width of that size, and horizon."""
    return (group.width / 4, 4 * group.width), (group.horizon / 2, 2 * group.horizon)


def told_of(group: GroupEvidence, input_std: float) -> str:
    """What the trainings of a group showed, and how the advised start did for inputs that add about so much."""
    ours, best = advised_in(group.cell, input_std), group.best
    losses = {name: f"{loss.mean:.2g}" for name, loss in group.losses.items()}
    where = {
        "task": TASKS[group.task][0].upper() + TASKS[group.task][1:],
        "horizon": group.horizon,
        "conditions": sentence("trained_under", width=group.width, steps=group.steps, seeds=group.seeds),
    }
    if not group.learned:
        return sentence("trained_none", **where)
    ties = [name for name in group.tied if name != ours]
    verdict = "best" if ours == best else "tied" if ours in group.tied else "worse"
    return sentence(
        "trained",
        **where,
        best=_plain(group, best),
        loss=losses[best],
        tied=sentence("trained_tied", starts=_ties(group, ties)) if ties else "",
        default="" if best == "default" else sentence("trained_default", loss=losses["default"]),
        advised=_plain(group, ours),
        verdict=sentence(f"trained_is_{verdict}", loss=losses[ours]),
        instead=_instead(group, ours) if verdict == "worse" else "",
    )


def advised_in(cell: str, input_std: float) -> str:
    """The start of the trainings that is nearest to the advised one: inputs added 1 there ("wide"), or as little as PyTorch's."""
    start = {"tanh": "orthogonal", "relu": "identity"}.get(cell, "orthogonal chrono")
    return f"{start} wide" if input_std >= NEAR_ONE else start


def _plain(group: GroupEvidence, start: str) -> str:
    """A start of the trainings in words."""
    return STARTS[start.removesuffix(" wide")] + _inputs(group, start)


def _inputs(group: GroupEvidence, start: str) -> str:
    """Which input weights it had; they differ between the starts of a group of plain RNNs."""
    if start.endswith(" wide"):
        return WIDE
    return NARROW if start != "default" and group.cell in ("tanh", "relu") else ""


def _ties(group: GroupEvidence, starts: Sequence[str]) -> str:
    """Several of them, in words that say once what they share."""
    shared: dict[str, list[str]] = {}
    for start in starts[:MOST_TIES]:
        shared.setdefault(_inputs(group, start), []).append(STARTS[start.removesuffix(" wide")])
    named = [
        _listed(names, ", or ") + ("," if inputs and len(names) > 1 else "") + inputs
        for inputs, names in shared.items()
    ]
    return "; ".join([*named, *([f"and {len(starts) - MOST_TIES} more"] if len(starts) > MOST_TIES else [])])


def _instead(group: GroupEvidence, ours: str) -> str:
    if ours == f"{group.best} wide":
        return sentence("trained_smaller")
    return sentence("trained_instead", call=_call(group, group.best))


def _call(group: GroupEvidence, start: str) -> str:
    """The call that makes a start of the trainings."""
    kernel = start.removesuffix(" wide").removesuffix(" chrono")
    name = NAMES[group.cell].split()[-1].lower()
    if start == "default":
        return f"leave the {NAMES[group.cell]} as PyTorch starts it"
    made = {
        "identity": f"horizon={group.horizon}, kind='identity'",
        "leaky": f"horizon={group.horizon}, kind='identity', leak=0.1",
        "orthogonal": "kind='orthogonal', scale=1.0",
        "gaussian": "kind='gaussian', scale=1.0",
        "quantile": f"horizon={group.horizon}, criterion='quantile'",
        "he": "kind='gaussian', scale=2**0.5",
        "critical": "kind='gaussian', scale='critical'",
        "orthogonal critical": "kind='orthogonal', scale='critical'",
    }
    wide = ", input_std=1.0, input_kernel=True" if start.endswith(" wide") else ""
    return f"init_recurrent_({name}, {made.get(kernel, f'horizon={group.horizon}')}{wide})"


def details(advice: CellAdvice) -> list[str]:
    """The points under the table."""
    size = f"-n {advice.n} -T {advice.horizon}"
    cell = f"--cell {advice.cell} {size} --input-std {advice.input_std:g}"
    return [
        sentence("picture", command=f"signalprop scale {cell} --plot gradient.png"),
        sentence("linear", command=f"signalprop scale {size}"),
    ]


def left(log_value: float) -> str:
    """What is left of an energy, given by its natural log; nothing where it died."""
    return factor(log_value) if math.isfinite(log_value) else "nothing"


def _shift(advice: CellAdvice) -> float:
    """By how much inputs raise the biases, on average over units."""
    if advice.horizon <= 2:
        return 0.0
    from signalprop.meanfield import chrono_biases

    plain, made = (chrono_biases(64, advice.horizon, s) for s in (0.0, advice.input_std))
    return float(np.mean(made - plain))


def _filled(lines: dict[str, str], advice: CellAdvice) -> list[str]:
    values = {
        "n": advice.n, "horizon": advice.horizon, "s": f"{advice.input_std:g}",
        "odds": max(advice.horizon - 1, 1), "shift": f"{_shift(advice):.3g}",
    }  # fmt: skip
    return lines[advice.cell].format(**values).splitlines()


def _table(advice: CellAdvice) -> list[str]:
    rows = [TITLES, *((_name(advice, name), *_row(one)) for name, one in advice.left.items())]
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    return [f"  {a:<{first}}  {b:>{second}}  {c}" for a, b, c in rows]


def _row(one: Left) -> tuple[str, str]:
    return left(one.median), f"{left(one.low)} .. {left(one.high)}"


def _name(advice: CellAdvice, start: str) -> str:
    words = START_NAMES[start].format(g=_critical(advice))
    return f"{words} (advised)" if start == advice.advised else words


def _critical(advice: CellAdvice) -> str:
    return "" if advice.critical_scale is None else f"{advice.critical_scale:.4g}"


def _steps(advice: CellAdvice) -> str:
    return counted(advice.horizon, "step")


def _point(text: str, width: int) -> list[str]:
    return lines_of(text, width, "  * ", "    ")
