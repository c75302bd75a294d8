"""The page that `signalprop scale` prints: answer, why, what to paste, details, for a reader who trains models."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from signalprop.fields import Field
from signalprop.initialization import one_draw_table

if TYPE_CHECKING:
    from signalprop.initialization.advice import Advice

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
    head = f"Width {advice.n}, horizon {advice.horizon} steps, {advice.field.value} Gaussian weights (h <- W h)"
    answer = {"keep": _keep, "rescale": _rescale, "replace": _replace}[advice.verdict](advice)
    return "\n".join([head, "=" * len(head), "", *answer, "", *_details(advice)])


def _keep(advice: Advice) -> list[str]:
    low, middle, high = (advice.log_energy[q] for q in (0.05, 0.5, 0.95))
    lines = [
        "Glorot is fine here: keep the usual Gaussian scale, standard deviation 1/sqrt(n).",
        "",
        "Why",
        *_time(advice),
    ]
    if advice.log_mean is not None:
        change = 100.0 * math.expm1(advice.log_mean)
        size = "less than 0.1 %" if change < 0.1 else f"{change:.2g} %"
        lines += _point(f"After {advice.horizon} steps the average energy has grown by {size}.")
    lines += _point(
        f"One draw of W is what you train. 90 % of draws end between {factor(low)} and {factor(high)} of the "
        "energy they "
        f"started with; the typical one at {factor(middle)}."
    )
    passing = _exploding(advice, "glorot")
    lines += _point(f"{passing[0].upper()}{passing[1:]} pass ten times their energy at any step before that.")
    limit = f"From about {advice.budget + 1} steps on no scale keeps 95 % of draws within a factor of ten."
    if advice.mean_budget is not None and advice.mean_budget < 10**6:
        limit = f"From {advice.mean_budget + 1} steps on the average is off by more than 10 %. " + limit
    lines += _point("Where it ends. " + limit)
    return [*lines, "", *_paste(advice, 1.0)]


def _rescale(advice: Advice) -> list[str]:
    quantile = advice.scales["quantile"]
    lines = _wrap(
        f"Scale Glorot by g = {quantile.scale:.4g} (standard deviation {quantile.std:.4g} instead of "
        f"{_glorot_std(advice):.4g}): "
        "a Gaussian matrix can just about hold a signal this long.",
        "",
    )
    lines += ["", "Why", *_time(advice), *_point(_glorot(advice))]
    lines += _point(
        f"With g = {quantile.scale:.4g} 95 % of draws stay below ten times their energy at every step. The price: "
        f"the typical draw keeps {factor(advice.log_median(quantile.scale))} of its energy at step "
        f"{advice.horizon}, one draw in twenty "
        f"less than {factor(advice.log_energy[0.05] + 2 * advice.horizon * math.log(quantile.scale))}."
    )
    lines += _point(_holds(advice))
    lines += ["", *_paste(advice, quantile.scale), "", "If that is not enough", *_norm_preserving(advice), *_trained()]
    return lines


def _replace(advice: Advice) -> list[str]:
    quantile = advice.scales["quantile"]
    left = advice.log_median(quantile.scale)
    glorot = "explodes" if advice.log_energy[0.5] > 0 else "fades"
    lines = _wrap(
        f"Do not use Gaussian recurrent weights for this: no scale works. Glorot {glorot}, and a scale small "
        "enough not to explode "
        "forgets. Use a recurrence that preserves norms: one line, below.",
        "",
    )
    lines += ["", "Why", *_time(advice), *_point(_glorot(advice))]
    if quantile.scale < 1.0 or left < 0.0:
        nothing = ": nothing survives" if left < -14.0 else ""
        lines += _point(
            f"A smaller scale keeps it from exploding, but then it forgets. g = {quantile.scale:.4g} times "
            "Glorot keeps 95 % of draws "
            f"below ten times their energy at every step; the energy left at step {advice.horizon} is then typically "
            f"{factor(left)}{nothing}."
        )
    lines += _point(_holds(advice))
    lines += ["", "What to do: a recurrence that preserves norms", *_norm_preserving(advice), *_trained()]
    lines += ["", "If it must be Gaussian and must not explode", *_initializers(advice, quantile.scale)]
    return lines


def _time(advice: Advice) -> list[str]:
    return _point(
        f"{advice.horizon} steps is {advice.c:.3g} times sqrt({advice.n}). Applied again and again, one Gaussian "
        "matrix of width n keeps "
        "the energy (squared length) of a signal for a few times sqrt(n) steps only. Gradients carried back in "
        "time get the same factors."
    )


def _glorot(advice: Advice) -> str:
    low, middle, high = (advice.log_energy[q] for q in (0.05, 0.5, 0.95))
    if middle > math.log(2.0):
        rest = (
            f"the luckiest 5 % still by {factor(low)}"
            if low > 0.0
            else f"90 % of draws end between {factor(low)} and {factor(high)}"
        )
        decimal = f" (10^{middle / math.log(10.0):.0f})" if middle > 14.0 else ""
        return (
            f"Glorot (g = 1) explodes: a typical draw of W multiplies the energy by {factor(middle)}{decimal}, {rest}."
        )
    verb = "fades" if high < 0.0 else "is a lottery"
    return (
        f"Glorot (g = 1) {verb}: a typical draw of W leaves {factor(middle)} of the energy at step "
        f"{advice.horizon}, and 90 % of draws end "
        f"between {factor(low)} and {factor(high)}; {_exploding(advice, 'glorot')} pass ten times their energy "
        "on the way."
    )


def _holds(advice: Advice) -> str:
    share = 100.0 * advice.held_share
    kept = "Fewer than 1 %" if share < 1.0 else f"At most {share:.0f} %"
    best = f" (g = {advice.held_scale:.4g} keeps the most)" if advice.verdict == "rescale" else ", whatever the scale"
    budget = f"{advice.budget} steps" if advice.budget else "not even one step"
    text = (
        f"{kept} of draws stay within a factor of ten, up or down, at every step{best}. For 95 % of draws width "
        f"{advice.n} does that for about {budget} at most"
    )
    if advice.width_needed is None:
        return text + "; no width in reach would do it for this horizon."
    return text + f"; {advice.horizon} steps would take a width of about {_rounded(advice.width_needed)}."


def _exploding(advice: Advice, name: str) -> str:
    low, high = advice.scales[name].exploding_share()
    if high <= one_draw_table.LEVELS[0]:
        return "fewer than 1 % of draws"
    if low >= one_draw_table.LEVELS[-1]:
        return "more than 99 % of draws"
    return f"about {50.0 * (low + high):.2g} % of draws"


def _glorot_std(advice: Advice) -> float:
    return advice.scales["glorot"].std


def _norm_preserving(advice: Advice) -> list[str]:
    n = advice.n
    near, far = _modulus(advice.horizon), _modulus(10 * advice.horizon)
    if advice.field is Field.COMPLEX:
        return [
            "  Unitary W keeps the energy at exactly 1 at every step.",
            f"    PyTorch   W, _ = torch.linalg.qr(torch.randn({n}, {n}, dtype=torch.complex64))",
            f"    JAX       W, _ = jnp.linalg.qr(jax.random.normal(key, ({n}, {n}), jnp.complex64))",
        ]
    return [
        "  Orthogonal W keeps the energy at exactly 1 at every step.",
        "    PyTorch   torch.nn.init.orthogonal_(rnn.weight_hh_l0)",
        f"    JAX       W = jax.nn.initializers.orthogonal()(key, ({n}, {n}))",
        *_wrap(
            "Training may pull it away from orthogonal. These PyTorch layers keep all moduli below one by construction, "
            f"started here for a memory of about {advice.horizon} steps:",
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
        "Trained with clipped gradients at 9 to 90 times sqrt(n) steps, orthogonal W beat every Gaussian scale; "
        "among Gaussian ones "
        "Glorot, which explodes, still learned more than the scales that forget: clipping tames an explosion, "
        "nothing brings back "
        "a signal that is gone.",
        "  ",
    )


def _paste(advice: Advice, scale: float) -> list[str]:
    return ["Paste", *_initializers(advice, scale)]


def _initializers(advice: Advice, scale: float) -> list[str]:
    if advice.field is Field.QUATERNION:
        return [
            f"  four real parts per entry, each normal with standard deviation {0.5 * scale / math.sqrt(advice.n):.6g}"
        ]
    argument = "scale=1.0" if scale == 1.0 else f"horizon={advice.horizon}"
    shape = f"({advice.n}, {advice.n})"
    dtype = ", jnp.complex64" if advice.field is Field.COMPLEX else ""
    target = "W" if advice.field is Field.COMPLEX else "rnn.weight_hh_l0"
    lines = [
        f"  PyTorch   signalprop.initialization.torch.ginibre_({target}, {argument})",
        f"  JAX       W = signalprop.initialization.jax.ginibre({argument})(key, {shape}{dtype})",
    ]
    std = scale / math.sqrt(advice.n)
    if advice.field is Field.REAL:
        lines.append(f"  or plain  torch.nn.init.normal_(rnn.weight_hh_l0, std={std:.6g})")
    return lines


def _details(advice: Advice) -> list[str]:
    lines = [
        "Details",
        *_wrap(
            "'energy left' is what the typical (median) draw has at the horizon; '> 10x' is the share of draws "
            "that pass ten times "
            "their energy on the way; 'std' the standard deviation of one entry of W.",
            "  ",
        ),
        "",
        f"  {'criterion':<10}{'scale g':>8}{'std':>11}{'> 10x':>9}{'energy left':>13}   what it promises",
    ]
    for name, found in advice.scales.items():
        lines.append(
            f"  {name:<10}{found.scale:>8.4f}{found.std:>11.3g}{share_text(found.exploding_share()):>9}"
            f"{factor(advice.log_median(found.scale)):>13}   {_GUARANTEES[name]}"
        )
    lines.append("")
    lines += _point(f"Regime: {_REGIMES[advice.regime]}.")
    if advice.log_mean is not None:
        lines += _mean(advice)
    else:
        lines += _point("The exact average, and with it 'bounded' and 'minimax', is computed up to 20000 steps only.")
    if advice.field is Field.REAL:
        lines += _point(
            "PyTorch's own nn.RNN default, uniform with standard deviation 1/sqrt(3n), is g = "
            f"{_TORCH_DEFAULT:.3f}: the typical draw has "
            f"{factor(advice.log_median(_TORCH_DEFAULT))} of its energy left at step {advice.horizon}."
        )
        scaled = advice.complex_log_energy + 2.0 * advice.horizon * math.log(advice.complex_scale)
        lines += _point(
            f"Complex weights of this width would allow g = {advice.complex_scale:.4f} and typically leave "
            f"{factor(scaled)}."
        )
    lines += _point(
        "Exact for a linear recurrence; right for tanh while the signal is small; a rule of thumb for the gates "
        "of GRU and LSTM."
    )
    lines += _point(
        f"The picture: signalprop scale -n {advice.n} -T {advice.horizon}"
        f"{'' if advice.field is Field.REAL else f' --field {advice.field.value}'} --plot energy.png"
    )
    return lines


def _mean(advice: Advice) -> list[str]:
    assert advice.log_mean is not None
    bounded, quantile = advice.scales["bounded"].scale, advice.scales["quantile"].scale
    gap = advice.log_mean - advice.log_energy[0.5]
    if gap < 1.0:
        text = f"The average over draws is {factor(advice.log_mean)}"
        if abs(math.log(bounded / quantile)) > 0.03:
            text += (
                ". 'bounded' asks more of the average (within 1.1x) than 'quantile' asks of one draw (within "
                "10x); one draw is what you train, "
                "so 'quantile' is the one to read"
            )
        return _point(text + ".")
    return _point(
        f"The average over draws is {factor(advice.log_mean)}, carried by draws that nobody will ever see. The "
        "scale that bounds it, "
        f"g = {bounded:.4g}, throws the signal away needlessly ({factor(advice.log_median(bounded))} left in the "
        "typical draw): it is for "
        "ensembles and theory. One draw is what you train: read 'quantile'."
    )


def share_text(interval: tuple[float, float]) -> str:
    """A share of draws given as an interval: 5 %, < 1 %, > 99 %."""
    low, high = interval
    if high <= one_draw_table.LEVELS[0]:
        return "< 1 %"
    if low >= one_draw_table.LEVELS[-1]:
        return "> 99 %"
    return f"{50.0 * (low + high):.0f} %"


def _rounded(value: int) -> str:
    digits = max(0, len(str(value)) - 2)
    return f"{round(value, -digits):,}".replace(",", " ")


def _point(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  * ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
