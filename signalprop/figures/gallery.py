"""The index page of a directory of figures: each picture with what it says, the command that draws it, and its numbers."""

from __future__ import annotations

import logging
from pathlib import Path

from signalprop._files import read_json
from signalprop.figures.names import FULL_FIGURES

log = logging.getLogger("signalprop")

CAPTIONS = {
    "critical_rnn": (
        "How long does infinite width last?",
        "Mean energy of h <- W h against c = k/sqrt(n), steps over the square root of the width. Curves are exact at each "
        "width (real weights: by a formula that is verified, not proved). Complex weights (left) approach the dashed limit "
        "(2/c^2) sinh(c^2/2) as the width grows. Real weights (right) leave it from c = 2 on and follow the two-term law, a "
        "heuristic: there draws with one real eigenvalue outside the unit disc begin to carry the mean. Circles are means of "
        "plain draws, hollow where their error is not to be trusted: far out they fall short, for real weights by factors of "
        "ten to several hundred, because the draws that carry the mean were not drawn. Diamonds are means by the rare-event "
        "sampler, which does reach it. The median draw (dotted) grows far more slowly than the mean.",
    ),
    "critical_lru": (
        "The same with a fresh input at every step",
        "Mean energy of h <- W h + x over sqrt(n). At infinite width every step adds one unit (the thin grey line, bent by the "
        "logarithmic axis); at finite width old inputs are amplified like a signal, and the sum runs away too. It does so a "
        "little later in c, because the young inputs are still intact. Marks and lines as in the figure above.",
    ),
    "activations": (
        "Recurrent against feed-forward, linear and rectified",
        "Energy of real networks with the same W at every step (recurrent) and with fresh weights at every layer "
        "(feed-forward), each with the gain that keeps the mean energy at infinite width. Fresh weights keep the mean at 1 "
        "exactly; it is the reuse of one matrix that makes it explode, with a rectifier far sooner than without. The median draw "
        "(dotted) of a rectified recurrence stays within a factor of three of 1 all the same: rare draws carry its mean.",
    ),
    "regime_map": (
        "Which law holds where",
        "The plane of width and steps, coloured by the simplest law that is within 1 % of the exact energy. Infinite width "
        "holds to about sqrt(n) steps. Complex weights go through the critical limit to the law of the linear regime; real "
        "weights leave that path near sqrt(n log n) steps, where a second term with twice the exponent takes over (a heuristic). "
        "Where the map is light grey no law is that close; where it is hatched the exact energies were not computed.",
    ),
    "law_errors": (
        "How wrong each law is",
        "Each limit law over the exact energy against the number of steps, for three widths. A law is useful where its line "
        "stays in the grey band, 1 % around one. A line that only crosses the band is right there by accident.",
    ),
    "scale_512": (
        "What a scale does to draws of one width",
        "Energy of a signal under draws of a real 512 x 512 matrix over 200 steps. Left with Glorot weights: half of the draws "
        "end above the dark line, far outside a factor of ten (grey). Right with the scale that keeps 95 % of the draws "
        "below ten times their energy: the explosion is gone, and so is most of the signal. Bands are read from the table that "
        "comes with the package, dots are quantiles of fresh draws.",
    ),
    "recurrences": (
        "Other recurrences under the same analysis",
        "State size 64; inputs are white but for the one curve that says otherwise. Left: a fresh input at every step, in units "
        "of what one input brings in. Right: what is left of one input. Lines are exact, marks are means of draws. RotRNN with "
        "its first-step rule is constant for white inputs, and only for those, at 1/(1 - gamma^2) units; an orthogonal W adds "
        "one unit per step and forgets nothing.",
    ),
    "training": (
        "What the initial scale does to training",
        "Trainings of a linear recurrence on two tasks with long memory, from seven starts, against the horizon: 150 steps of "
        "Adam with clipped gradients, 10 seeds, widths 64 to 256, horizons from 9 to 88 sqrt(n), all of them far past the budget "
        "of a Gaussian matrix. An orthogonal start scores best at every horizon, with the smallest learning rate tried for W; "
        "with W frozen it scores the same. Of the Gaussian ones Glorot, which explodes, scores better than the scales that "
        "forget: clipping tames explosions, but cannot restore a forgotten signal. The quantile scales are those of the table at "
        "the time of the trainings, within 1.1 % of today's. Below: the norm of the first gradient, before it is clipped.",
    ),
    "stability": (
        "The norm of the state through training",
        "E||x_t||^2 in each layer of two RotRNNs (the second with small angles) and of two LRUs over 300 training steps on short "
        "ListOps. For white inputs (dashed) a RotRNN's norm is constant by construction and an LRU's drifts. The inputs of real "
        "layers are not white: a RotRNN's energy moves too, most of it in the first 60 steps; an LRU's moves more in most "
        "layers, and mostly after that.",
    ),
}


def index(directory: Path) -> str:
    """Markdown with a section for each figure that is in `directory`, with the command that drew it."""
    lines = [
        "# Figures",
        "",
        "Written by `signalprop reproduce`; below each figure is the command for that one. Beside each picture lie an SVG, a "
        "CSV of the numbers drawn, and a JSON that says what its columns are and which version drew it.",
    ]
    for name, (title, text) in CAPTIONS.items():
        if not (directory / f"{name}.png").exists():
            continue
        option = " --full" if _quality(directory / f"{name}.json", name) == "full" else ""
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


def _quality(path: Path, name: str) -> str:
    """In which quality a figure was drawn; the usual one if its file does not say."""
    usual = "full" if name in FULL_FIGURES else "default"
    try:
        return str(read_json(path)["parameters"]["quality"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        option = " --full" if usual == "full" else ""
        log.warning(
            "%s does not say how its figure was drawn (%s: %s); draw it again: signalprop reproduce%s --only %s",
            path, type(error).__name__, error, option, name,
        )  # fmt: skip
        return usual
