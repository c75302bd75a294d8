"""The index page of a directory of figures: each picture with what it says, the command that draws it, and its numbers."""

from __future__ import annotations

from pathlib import Path

CAPTIONS = {
    "critical_rnn": (
        "How long does infinite width last?",
        "Mean energy of h <- W h against c = k/sqrt(n), steps over the square root of the width. Curves are exact at each "
        "width. Complex weights (left) collapse on the dashed limit (2/c^2) sinh(c^2/2). Real weights (right) leave it near "
        "c = 2 to 3, where one real eigenvalue outside of the unit disc begins to carry the mean, and follow the two-term law. "
        "Circles are means of plain draws, hollow where their error is not to be trusted: far out they fall short by orders of "
        "magnitude, because the draws that carry the mean were not drawn. Diamonds are means by the rare-event sampler, which "
        "does reach it. The median draw (dotted) grows far more slowly than the mean.",
    ),
    "critical_lru": (
        "The same with a fresh input at every step",
        "Mean energy of h <- W h + x over sqrt(n). At infinite width every step adds one unit, a straight line in t; at finite "
        "width old inputs are amplified like a signal, and the sum runs away at the same c.",
    ),
    "activations": (
        "Recurrent against feed-forward, linear and rectified",
        "Energy of real networks with the same W at every step (recurrent) and with fresh weights at every layer "
        "(feed-forward), each with the gain that keeps the mean energy at infinite width. Fresh weights keep the mean at 1 "
        "exactly; it is the reuse of one matrix that makes it explode, with a rectifier far sooner than without.",
    ),
    "regime_map": (
        "Which law holds where",
        "The plane of width and steps, coloured by the simplest law that is within 1 % of the exact energy. Infinite width "
        "holds to about sqrt(n) steps. Complex weights go through the critical limit to the law of the linear regime; real "
        "weights leave that path near sqrt(n log n) steps, where a second term with twice the exponent takes over.",
    ),
    "law_errors": (
        "How wrong each law is",
        "Each limit law over the exact energy against the number of steps, for three widths. A law is useful where its line "
        "runs in the grey band, 1 % around one; where lines cross, the next law takes over.",
    ),
    "scale_512": (
        "What a scale does to draws of one width",
        "Energy of a signal under draws of a real 512 x 512 matrix over 200 steps. Left with Glorot weights: half of the draws "
        "end above the line in the band. Right with the scale that keeps 95 % of the draws below ten times their energy: the "
        "explosion is gone, and so is most of the signal. Past the depth budget no Gaussian scale keeps a signal.",
    ),
    "recurrences": (
        "Other recurrences under the same analysis",
        "State size 64. Left: a fresh input at every step, in units of what one input brings in. Right: what is left of one "
        "input. Lines are exact, marks are means of draws. RotRNN with its first-step rule is constant for white inputs, and "
        "only for those; an orthogonal W adds one unit a step and forgets nothing.",
    ),
    "training": (
        "What the initial scale does to training",
        "Trainings of a linear recurrence on two tasks with long memory, from seven starts, against the horizon. An orthogonal "
        "start beats every Gaussian one. Of the Gaussian ones, scales that forget lose to Glorot as long as gradients are "
        "clipped: clipping mends what explodes, and nothing mends what is forgotten.",
    ),
    "stability": (
        "The norm of the state through training",
        "E||x_t||^2 in each layer of RotRNN and of two LRUs over 300 training steps on short ListOps. For white inputs "
        "(dashed) RotRNN's norm is constant by construction and an LRU's drifts. The inputs of real layers are not white: "
        "RotRNN's energy moves too, most of it in the first 60 steps; an LRU's moves more and is still growing at the end.",
    ),
}
TRAINED = ("training", "stability")


def index(directory: Path, full: bool) -> str:
    """Markdown with a section for each figure that is in `directory`."""
    lines = [
        "# Figures",
        "",
        f"Written by `signalprop reproduce{' --full' if full else ''}`. Beside each picture lie an SVG, a CSV of the numbers "
        "drawn, and a JSON that says what its columns are and which version drew it.",
    ]
    for name, (title, text) in CAPTIONS.items():
        if not (directory / f"{name}.png").exists():
            continue
        option = " --full" if name in TRAINED or full else ""
        lines += [
            "",
            f"## {title}",
            "",
            f"![{title}: {text.split('. ')[0]}]({name}.png)",
            "",
            text,
            "",
            f"`signalprop reproduce{option} --only {name}` · [numbers]({name}.csv) · [SVG]({name}.svg) · [origin]({name}.json)",
        ]
    return "\n".join(lines) + "\n"
