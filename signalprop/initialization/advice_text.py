"""The page that `signalprop scale` prints: answer, why, what to paste, details, for a reader who trains models."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from signalprop.fields import Field
from signalprop.initialization import one_draw_table

if TYPE_CHECKING:
    from signalprop.initialization.advice import Advice
    from signalprop.initialization.scale import SafeScale

WIDTH = 100
_TORCH_DEFAULT = 1.0 / math.sqrt(3.0)  # nn.RNN: uniform(-1/sqrt(n), 1/sqrt(n))
_REGIMES = {
    "subcritical": "subcritical: well below sqrt(n) steps, where infinite-width theory holds",
    "critical": "critical: a few times sqrt(n) steps, where the spread between draws opens",
    "supercritical": "supercritical: far past sqrt(n) steps, below n/10",
    "linear": "linear: steps comparable with the width",
    "superlinear": "superlinear: more steps than ten times the width",
}
_GUARANTEES = {
    "glorot": "average energy 1 at infinite width; nothing at this one",
    "quantile": "95 % of draws stay below 10x at every step",
    "bounded": "the average over draws stays below 1.1x at every step",
    "minimax": "the average strays as little from 1 as it can, up or down",
    "edge": "largest eigenvalue below 1 in 95 % of draws",
}


def factor(log_value: float) -> str:
    """A factor given by its natural log: 0.72x, 31x, e^115."""
    if abs(log_value) < 0.7:
        return f"{math.exp(log_value):.2f}x"
    if abs(log_value) < 4.6:
        return f"{math.exp(log_value):.2g}x"
    return f"e^{log_value:.0f}"


def page(advice: Advice) -> str:
    """The whole page."""
    head = f"Width {advice.n}, horizon {_steps(advice.horizon)}, {advice.field.value} Gaussian weights (h <- W h)"
    answer = {"keep": _keep, "rescale": _rescale, "replace": _replace}[advice.verdict](advice)
    return "\n".join([head, "=" * len(head), "", *answer, "", *_details(advice)])


def _keep(advice: Advice) -> list[str]:
    low, middle, high = (advice.log_energy[q] for q in (0.05, 0.5, 0.95))
    share = _exploding(advice)
    lines = [
        "Glorot is fine here: keep the usual Gaussian scale, standard deviation 1/sqrt(n).",
        "",
        "Why",
        *_time(advice),
        *_point(
            f"One draw of W is what you train. 90 % of draws end between {factor(low)} and {factor(high)} of the energy they "
            f"started with, the typical one at {factor(middle)}. {share[0].upper()}{share[1:]} pass ten times their energy on the way."
        ),
    ]
    if advice.log_mean is not None:
        change = 100.0 * math.expm1(min(advice.log_mean, 1.0))
        grown = f"is {factor(advice.log_mean)}" if change > 50.0 else f"has grown by {change:.2g} %"
        lines += _point(f"The average over draws {grown if change >= 0.1 else 'has not moved by 0.1 %'}.")
    limit = f"From about {_rounded(advice.budget + 1)} steps on no scale keeps 95 % of draws within a factor of ten."
    if advice.mean_budget is not None:
        at = _steps(advice.mean_budget + 1)
        if advice.horizon > advice.mean_budget:
            limit = f"The average is off by more than 10 % from {at} on, which few draws show. {limit}"
        else:
            limit = f"From {at} on the average is off by more than 10 %. {limit}"
    lines += _point(f"Where it ends. {limit}")
    return [*lines, "", "Paste", *_initializers(advice, 1.0)]


def _rescale(advice: Advice) -> list[str]:
    quantile = advice.scales["quantile"]
    middle = advice.log_median(quantile.scale)
    low = advice.log_energy[0.05] + 2.0 * advice.horizon * math.log(quantile.scale)
    lines = _wrap(
        f"Scale Glorot by g = {quantile.scale:.4g} (standard deviation {quantile.std:.4g} instead of "
        f"{advice.scales['glorot'].std:.4g}): a Gaussian matrix can {_just(advice)}hold a signal this long.",
        "",
    )
    lines += ["", "Why", *_time(advice), *_point(_glorot(advice))]
    lines += _point(
        f"With g = {quantile.scale:.4g} 95 % of draws stay below ten times their energy at every step; at step {advice.horizon} "
        f"the typical draw has {factor(middle)} of its energy left, one draw in twenty less than {factor(low)}."
    )
    lines += _point(_holds(advice))
    return [
        *lines,
        "",
        "Paste",
        *_initializers(advice, quantile.scale),
        "",
        "If that is not enough",
        *_norm_preserving(advice),
        *_trained(),
    ]


def _replace(advice: Advice) -> list[str]:
    quantile = advice.scales["quantile"]
    left = advice.log_median(quantile.scale)
    fate = _fate(advice)
    lines = _wrap(
        f"Do not use Gaussian recurrent weights for this: no scale works. Glorot {fate}, and a scale small enough not to explode "
        "forgets. Use a recurrence that preserves norms: one line, below.",
        "",
    )
    lines += ["", "Why", *_time(advice), *_point(_glorot(advice))]
    nothing = ": nothing survives" if left < -14.0 else ""
    lines += _point(
        f"A smaller scale keeps it from exploding, but then it forgets. g = {quantile.scale:.4g} times Glorot keeps 95 % of draws "
        f"below ten times their energy at every step; the energy left at step {advice.horizon} is then typically "
        f"{factor(left)}{nothing}."
    )
    lines += _point(_holds(advice))
    return [
        *lines,
        "",
        "What to do: a recurrence that preserves norms",
        *_norm_preserving(advice),
        *_trained(),
        "",
        "If it must be Gaussian and must not explode",
        *_initializers(advice, quantile.scale),
    ]


def _steps(count: int) -> str:
    return f"{_rounded(count) if count >= 10**7 else count} step{'' if count == 1 else 's'}"


def _time(advice: Advice) -> list[str]:
    verb = "is" if advice.horizon == 1 else "are"
    return _point(
        f"{_steps(advice.horizon)} {verb} {advice.c:.3g} times sqrt({advice.n}). Applied again and again, one Gaussian matrix of "
        "width n keeps the energy (squared length) of a signal for a few times sqrt(n) steps only. Gradients carried back in time "
        "get the same factors."
    )


def _fate(advice: Advice) -> str:
    if advice.log_energy[0.5] > math.log(2.0):
        return "explodes" if advice.log_energy[0.5] > math.log(one_draw_table.BOUND) else "grows"
    return "fades" if advice.log_energy[0.95] < 0.0 else "is a lottery"


def _glorot(advice: Advice) -> str:
    low, middle, high = (advice.log_energy[q] for q in (0.05, 0.5, 0.95))
    start = f"Glorot (g = 1) {_fate(advice)}: a typical draw of W"
    spread = f"90 % of draws end between {factor(low)} and {factor(high)}"
    if middle > math.log(2.0):
        decimal = f" (10^{middle / math.log(10.0):.0f})" if middle > 14.0 else ""
        rest = f"the luckiest 5 % still by {factor(low)}" if low > 0.0 else spread
        return f"{start} multiplies the energy by {factor(middle)}{decimal}, {rest}."
    return (
        f"{start} has {factor(middle)} of the energy at step {advice.horizon}, and {spread}; {_exploding(advice)} pass ten times "
        "their energy on the way."
    )


def _just(advice: Advice) -> str:
    return "" if advice.horizon <= advice.budget else "just about "


def _holds(advice: Advice) -> str:
    share = 100.0 * advice.held_share
    kept = "Fewer than 1 %" if share < 1.0 else f"At most {share:.0f} %"
    best = f" (g = {advice.held_scale:.4g} keeps the most)" if advice.verdict == "rescale" else ", whatever the scale"
    text = f"{kept} of draws stay within a factor of ten, up or down, at every step{best}."
    if advice.horizon <= advice.budget:
        return f"{text} For 95 % of draws width {advice.n} does that for about {_rounded(advice.budget)} steps."
    if advice.budget:
        text += f" For 95 % of draws width {advice.n} does that for about {_steps(advice.budget)} at most"
    else:
        text += f" For 95 % of draws width {advice.n} does not even do that for one step"
    if advice.width_needed is None:
        return f"{text}; no width in reach would do it for this horizon."
    return f"{text}; {_steps(advice.horizon)} would take a width of about {_rounded(advice.width_needed)}."


def _exploding(advice: Advice) -> str:
    """Share of draws that pass ten times their energy with Glorot, in words."""
    share, low, high = advice.scales["glorot"].exploding_share()
    if high <= one_draw_table.LEVELS[0] or low >= one_draw_table.LEVELS[-1]:
        return f"{'fewer than 1 %' if share < 0.5 else 'more than 99 %'} of draws"
    return f"about {100.0 * share:.2g} % of draws"


def _norm_preserving(advice: Advice) -> list[str]:
    n = advice.n
    near, far = _modulus(advice.horizon), _modulus(10 * advice.horizon)
    if advice.field is Field.QUATERNION:
        return ["  Unitary quaternion W (orthonormal columns) keeps the energy at exactly 1 at every step."]
    if advice.field is Field.COMPLEX:
        return [
            "  Unitary W keeps the energy at exactly 1 at every step.",
            f"    PyTorch   W, _ = torch.linalg.qr(torch.randn({n}, {n}, dtype=torch.complex64))",
            f"    JAX       W, _ = jax.numpy.linalg.qr(jax.random.normal(key, ({n}, {n}), 'complex64'))",
        ]
    return [
        "  Orthogonal W keeps the energy at exactly 1 at every step.",
        "    PyTorch   torch.nn.init.orthogonal_(rnn.weight_hh_l0)",
        "              (GRU: for W in rnn.weight_hh_l0.data.chunk(3): torch.nn.init.orthogonal_(W); LSTM: chunk(4))",
        f"    JAX       W = jax.nn.initializers.orthogonal()(key, ({n}, {n}))",
        *_wrap(
            "Training may pull it away from orthogonal. These PyTorch layers (import signalprop.nn) keep all moduli below one by "
            f"construction, started here for a memory of about {_steps(advice.horizon)}:",
            "  ",
        ),
        f"    RotRNN    signalprop.nn.RotRNN(d_model, {n}, gamma_min={near}, gamma_max={far})",
        f"    LRU       signalprop.nn.LRU(d_model, {n}, r_min={near}, r_max={far})",
    ]


def _modulus(horizon: int) -> str:
    """The modulus that keeps 1/e of the energy over the horizon, in as many digits as it needs."""
    away = -math.expm1(-0.5 / horizon)
    return f"{1.0 - away:.{1 - math.floor(math.log10(away))}f}"


def _trained() -> list[str]:
    """What trainings add to the theory of the start (benchmarks/initialization of the repository)."""
    return _wrap(
        "Trained with clipped gradients at 9 to 90 times sqrt(n) steps, orthogonal W beat every Gaussian scale; among Gaussian ones "
        "Glorot, which explodes, still learned more than the scales that forget: clipping tames an explosion, nothing brings back "
        "a signal that is gone.",
        "  ",
    )


def _initializers(advice: Advice, scale: float) -> list[str]:
    std = scale / math.sqrt(advice.n)
    if advice.field is Field.QUATERNION:
        return [f"  four real parts per entry, each normal with standard deviation {0.5 * std:.6g}"]
    argument = "scale=1.0" if scale == 1.0 else f"horizon={advice.horizon}"
    real = advice.field is Field.REAL
    lines = [
        "  PyTorch   from signalprop.initialization.torch import ginibre_",
        f"            ginibre_({'rnn.weight_hh_l0' if real else 'W'}, {argument})",
        "  JAX       from signalprop.initialization.jax import ginibre",
        f"            W = ginibre({argument})(key, ({advice.n}, {advice.n}){'' if real else ', dtype=' + repr('complex64')})",
    ]
    if real:
        lines.append(f"  or plain  torch.nn.init.normal_(rnn.weight_hh_l0, std={std:.6g})")
    return lines


def _details(advice: Advice) -> list[str]:
    lines = [
        "Details",
        *_wrap(
            "'energy left' is what the typical (median) draw has at the horizon; '> 10x' is the share of draws that pass ten times "
            "their energy on the way; 'std' the standard deviation of one entry of W.",
            "  ",
        ),
        "",
        f"  {'criterion':<10}{'scale g':>8}{'std':>11}{'> 10x':>9}{'energy left':>13}   what it promises",
    ]
    for name, found in advice.scales.items():
        lines.append(
            f"  {name:<10}{found.scale:>8.4f}{found.std:>11.3g}{share_text(found):>9}"
            f"{factor(advice.log_median(found.scale)):>13}   {_GUARANTEES[name]}"
        )
    lines += ["", *_point(f"Regime: {_REGIMES[advice.regime]}.")]
    if advice.log_mean is not None:
        lines += _mean(advice)
    else:
        lines += _point("The exact average, and with it 'bounded' and 'minimax', is computed up to 20000 steps only.")
    if advice.field is Field.REAL:
        lines += _point(
            f"PyTorch's own nn.RNN default, uniform with standard deviation 1/sqrt(3n), is g = {_TORCH_DEFAULT:.3f}: the typical "
            f"draw has {factor(advice.log_median(_TORCH_DEFAULT))} of its energy left at step {advice.horizon}."
        )
        scaled = advice.complex_log_energy + 2.0 * advice.horizon * math.log(advice.complex_scale)
        lines += _point(
            f"Complex weights of this width would allow g = {advice.complex_scale:.4f} and typically leave {factor(scaled)}."
        )
    lines += _point(
        "Exact for a linear recurrence; right for tanh while the signal is small; a rule of thumb for the gates of GRU and LSTM."
    )
    option = "" if advice.field is Field.REAL else f" --field {advice.field.value}"
    return lines + _point(f"The picture: signalprop scale -n {advice.n} -T {advice.horizon}{option} --plot energy.png")


def _mean(advice: Advice) -> list[str]:
    assert advice.log_mean is not None
    bounded, quantile = advice.scales["bounded"].scale, advice.scales["quantile"].scale
    text = f"The average over draws is {factor(advice.log_mean)}"
    if advice.log_mean > advice.log_energy[0.99]:
        return _point(
            f"{text}, carried by fewer than one draw in a hundred. The scale that bounds it, g = {bounded:.4g}, throws the signal "
            f"away needlessly ({factor(advice.log_median(bounded))} left in the typical draw): it is for ensembles and theory. One "
            "draw is what you train: read 'quantile'."
        )
    if abs(math.log(bounded / quantile)) > 0.03:
        text += (
            ". 'bounded' asks more of the average (within 1.1x) than 'quantile' asks of one draw (within 10x); one draw is what "
            "you train, so 'quantile' is the one to read"
        )
    return _point(f"{text}.")


def share_text(found: SafeScale) -> str:
    """The share of draws that explode: 5 %, < 1 %, > 99 %."""
    share, low, high = found.exploding_share()
    if high <= one_draw_table.LEVELS[0] or (share < one_draw_table.LEVELS[0] and low == 0.0):
        return "< 1 %"
    if low >= one_draw_table.LEVELS[-1] or (share > one_draw_table.LEVELS[-1] and high == 1.0):
        return "> 99 %"
    return f"{100.0 * share:.0f} %"


def _rounded(value: int) -> str:
    """Two digits of a large number, three digits apart; small ones as they are."""
    digits = max(0, len(str(value)) - 2) if value >= 1000 else 0
    return f"{round(value, -digits):,}".replace(",", " ")


def _point(text: str) -> list[str]:
    return _wrap(text, "  * ", "    ")


def _wrap(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
