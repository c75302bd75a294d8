"use strict";

/* The sentences and the lines to paste of `signalprop scale` (signalprop/initialization/advice_text.py) for the numbers of
   Advice.advise, in the order answer, why, what to paste, details. `factor` turns the log of a factor into text. */

const Words = (() => {
  const TORCH_DEFAULT = 1 / Math.sqrt(3);
  const { TEN } = Advice;
  const [LOWEST, HIGHEST] = [TABLE.levels[0], TABLE.levels.at(-1)];
  const REGIMES = {
    subcritical: "well below √n steps, where infinite-width theory holds",
    critical: "a few times √n steps, where the spread between draws opens",
    supercritical: "far past √n steps, below n/10",
    linear: "steps comparable with the width",
    superlinear: "more steps than ten times the width",
  };

  /** Like Python's %g. */
  function short(value, digits) {
    const rounded = Number(value.toPrecision(digits));
    return rounded !== 0 && Math.abs(rounded) < 1e-4 ? rounded.toExponential().replace(/e-(\d)$/, "e-0$1") : String(rounded);
  }

  /** A power of ten; the page raises what follows the ^. */
  const power = (exponent) => `10^${String(exponent).replace("-", "−")}`;

  const spaced = (whole) => String(whole).replace(/\B(?=(\d{3})+$)/g, "\u00a0");

  /** A factor given by its natural log: 0.72×, 31×, 4·10^5, 10^47. */
  function inTens(log) {
    if (Math.abs(log) < 0.7) return `${Math.exp(log).toFixed(2)}×`;
    if (Math.abs(log) < 3 * TEN) return `${short(Math.exp(log), 2)}×`;
    if (Math.abs(log) > 10 * TEN) return power(Math.round(log / TEN));
    const [digit, exponent] = Math.exp(log).toExponential(0).split("e");
    return `${digit}·${power(Number(exponent))}`;
  }

  /** Two digits of a large number, three digits apart; small ones as they are. Halves go to the even side. */
  function rounded(value) {
    if (value < 1000) return String(value);
    const unit = 10 ** (String(value).length - 2);
    const below = Math.floor(value / unit);
    const rest = value / unit - below;
    const up = rest > 0.5 || (rest === 0.5 && below % 2 === 1);
    return spaced((below + (up ? 1 : 0)) * unit);
  }

  const steps = (count) => `${count} step${count === 1 ? "" : "s"}`;
  const capital = (text) => text[0].toUpperCase() + text.slice(1);

  /** Share of draws that pass ten times their energy at scale g, in words. */
  function exploding(advice, g) {
    const [share, low, high] = advice.exploding(g);
    if (high <= LOWEST || low >= HIGHEST) return `${share < 0.5 ? "fewer than 1 %" : "more than 99 %"} of draws`;
    return `about ${short(100 * share, 2)} % of draws`;
  }

  /** The same in signs, for a table. */
  function percent(advice, g) {
    const [share, low, high] = advice.exploding(g);
    if (high <= LOWEST || (share < LOWEST && low === 0)) return "< 1 %";
    if (low >= HIGHEST || (share > HIGHEST && high === 1)) return "> 99 %";
    return `${(100 * share).toFixed(0)} %`;
  }

  function page(advice, factor = inTens) {
    const { n, horizon, field, verdict, c } = advice;
    const glorot = advice.energy(0);
    const safe = advice.energy(Math.log(advice.safe));
    const g = short(advice.safe, 4);

    const time = `${capital(steps(horizon))} ${horizon === 1 ? "is" : "are"} ${short(c, 3)} times √${n}. Applied again and again, one Gaussian matrix of width n keeps the energy (squared length) of a signal for a few times √n steps only. Gradients carried back in time get the same factors.`;

    function fate() {
      if (glorot.median > Math.log(2)) return glorot.median > TEN ? "explodes" : "grows";
      return glorot.high < 0 ? "fades" : "is a lottery";
    }

    function glorotDoes() {
      const start = `Glorot (g = 1) ${fate()}: a typical draw of W`;
      const spread = `90 % of draws end between ${factor(glorot.low)} and ${factor(glorot.high)}`;
      if (glorot.median > Math.log(2)) {
        const rest = glorot.low > 0 ? `the luckiest 5 % still by ${factor(glorot.low)}` : spread;
        return `${start} multiplies the energy by ${factor(glorot.median)}, ${rest}.`;
      }
      return `${start} has ${factor(glorot.median)} of the energy at step ${horizon}, and ${spread}; ${exploding(advice, 1)} pass ten times their energy on the way.`;
    }

    function holds() {
      const percent = 100 * advice.heldShare;
      const kept = percent < 1 ? "Fewer than 1 %" : `At most ${percent.toFixed(0)} %`;
      const best = verdict === "rescale" ? ` (g = ${short(advice.heldScale, 4)} keeps the most)` : ", whatever the scale";
      const text = `${kept} of draws stay within a factor of ten, up or down, at every step${best}. For 95 % of draws width ${n} does`;
      if (horizon <= advice.budget) return `${text} that for about ${rounded(advice.budget)} steps.`;
      const longest = advice.budget ? `that for about ${steps(advice.budget)} at most` : "not even do that for one step";
      return `${text} ${longest}; ${steps(horizon)} would take a width of about ${rounded(advice.widthNeeded)}.`;
    }

    function average() {
      if (advice.logMean === null) return [];
      const change = 100 * Math.expm1(Math.min(advice.logMean, 1));
      const grown = change > 50 ? `is ${factor(advice.logMean)}` : `has grown by ${short(change, 2)} %`;
      return [`The average over draws ${change >= 0.1 ? grown : "has not moved by 0.1 %"}.`];
    }

    function end() {
      const held = `From about ${rounded(advice.budget + 1)} steps on no scale keeps 95 % of draws within a factor of ten.`;
      const at = steps(advice.meanBudget + 1);
      const mean =
        horizon > advice.meanBudget
          ? `The average is off by more than 10 % from ${at} on, which few draws show.`
          : `From ${at} on the average is off by more than 10 %.`;
      return `Where it ends. ${mean} ${held}`;
    }

    if (verdict === "keep") {
      return {
        answer: "Glorot is fine here: keep the usual Gaussian scale, standard deviation 1/√n.",
        why: [
          time,
          `One draw of W is what you train. 90 % of draws end between ${factor(glorot.low)} and ${factor(glorot.high)} of the energy they started with, the typical one at ${factor(glorot.median)}. ${capital(exploding(advice, 1))} pass ten times their energy on the way.`,
          ...average(),
          end(),
        ],
        paste: [{ title: "Paste", items: initializers(advice, 1) }],
      };
    }
    if (verdict === "rescale") {
      const just = horizon <= advice.budget ? "" : "just about ";
      return {
        answer: `Scale Glorot by g = ${g} (standard deviation ${short(advice.safe / Math.sqrt(n), 4)} instead of ${short(1 / Math.sqrt(n), 4)}): a Gaussian matrix can ${just}hold a signal this long.`,
        why: [
          time,
          glorotDoes(),
          `With g = ${g} 95 % of draws stay below ten times their energy at every step; at step ${horizon} the typical draw has ${factor(safe.median)} of its energy left, one draw in twenty less than ${factor(safe.low)}.`,
          holds(),
        ],
        paste: [
          { title: "Paste", items: initializers(advice, advice.safe) },
          { title: "If that is not enough", items: [...normPreserving(advice), trained()] },
        ],
      };
    }
    const nothing = safe.median < -14 ? ": nothing survives" : "";
    return {
      answer: `Do not use Gaussian recurrent weights for this: no scale works. Glorot ${fate()}, and a scale small enough not to explode forgets. Use a recurrence that preserves norms: one line, below.`,
      why: [
        time,
        glorotDoes(),
        `A smaller scale keeps it from exploding, but then it forgets. g = ${g} times Glorot keeps 95 % of draws below ten times their energy at every step; the energy left at step ${horizon} is then typically ${factor(safe.median)}${nothing}.`,
        holds(),
      ],
      paste: [
        { title: "What to do: a recurrence that preserves norms", items: [...normPreserving(advice), trained()] },
        { title: "If it must be Gaussian and must not explode", items: initializers(advice, advice.safe) },
      ],
    };
  }

  // ---- lines to paste: {text} or {label, code} ----

  function initializers({ n, horizon, field }, scale) {
    return filled({ n, field }, scale, scale === 1 ? "scale=1.0" : `horizon=${horizon}`);
  }

  /** For a scale that was asked for. */
  function fixed(advice, scale) {
    return filled(advice, scale, `scale=${scale}`);
  }

  function filled({ n, field }, scale, argument) {
    const std = scale / Math.sqrt(n);
    if (field === "quaternion") {
      return [{ text: `Four real parts per entry, each normal with standard deviation ${short(0.5 * std, 6)}` }];
    }
    const real = field === "real";
    const weights = real ? "rnn.weight_hh_l0" : "W";
    const shape = `(${n}, ${n})${real ? "" : ", dtype='complex64'"}`;
    const lines = [
      { label: "PyTorch", code: `from signalprop.initialization.torch import ginibre_\nginibre_(${weights}, ${argument})` },
      { label: "JAX", code: `from signalprop.initialization.jax import ginibre\nW = ginibre(${argument})(key, ${shape})` },
    ];
    if (real) lines.push({ label: "or plain", code: `torch.nn.init.normal_(rnn.weight_hh_l0, std=${short(std, 6)})` });
    return lines;
  }

  function normPreserving({ n, horizon, field }) {
    if (field === "quaternion") return [{ text: "Unitary quaternion W (orthonormal columns) keeps the energy at exactly 1 at every step." }];
    if (field === "complex") {
      return [
        { text: "Unitary W keeps the energy at exactly 1 at every step." },
        { label: "PyTorch", code: `W, _ = torch.linalg.qr(torch.randn(${n}, ${n}, dtype=torch.complex64))` },
        { label: "JAX", code: `W, _ = jax.numpy.linalg.qr(jax.random.normal(key, (${n}, ${n}), 'complex64'))` },
      ];
    }
    const [near, far] = [horizon, 10 * horizon].map(modulus);
    return [
      { text: "Orthogonal W keeps the energy at exactly 1 at every step." },
      { label: "PyTorch", code: "torch.nn.init.orthogonal_(rnn.weight_hh_l0)" },
      ...[["GRU", 3], ["LSTM", 4]].map(([label, gates]) => ({
        label,
        code: `for W in rnn.weight_hh_l0.data.chunk(${gates}): torch.nn.init.orthogonal_(W)`,
      })),
      { label: "JAX", code: `W = jax.nn.initializers.orthogonal()(key, (${n}, ${n}))` },
      {
        text: `Training may pull it away from orthogonal. These PyTorch layers (import signalprop.nn) keep all moduli below one by construction, started here for a memory of about ${steps(horizon)}:`,
      },
      { label: "RotRNN", code: `signalprop.nn.RotRNN(d_model, ${n}, gamma_min=${near}, gamma_max=${far})` },
      { label: "LRU", code: `signalprop.nn.LRU(d_model, ${n}, r_min=${near}, r_max=${far})` },
    ];
  }

  /** The modulus that keeps 1/e of the energy over the horizon, in as many digits as it needs. */
  function modulus(horizon) {
    const away = -Math.expm1(-0.5 / horizon);
    return (1 - away).toFixed(1 - Math.floor(Math.log10(away)));
  }

  function trained() {
    return {
      text: "Trained with clipped gradients at 9 to 90 times √n steps, orthogonal W beat every Gaussian scale; among Gaussian ones Glorot, which explodes, still learned more than the scales that forget: clipping tames an explosion, nothing brings back a signal that is gone.",
    };
  }

  const regime = ({ regime, n }) => `Regime at width n = ${n}: ${regime}: ${REGIMES[regime]}.`;

  /** Points under Details. */
  function details(advice, factor = inTens) {
    const { n, horizon, field } = advice;
    const points = advice.logMean === null ? [] : [mean(advice, factor)];
    if (field === "real") {
      const left = advice.energy(Math.log(TORCH_DEFAULT)).median;
      points.push(
        `PyTorch's own nn.RNN default, uniform with standard deviation 1/√(3n), is g = ${TORCH_DEFAULT.toFixed(3)}: the typical draw has ${factor(left)} of its energy left at step ${horizon}.`,
        `Complex weights of this width would allow g = ${advice.complexScale.toFixed(4)} and typically leave ${factor(advice.complexMedian)}.`,
      );
    }
    points.push("Exact for a linear recurrence; right for tanh while the signal is small; a rule of thumb for the gates of GRU and LSTM.");
    return points;
  }

  function mean(advice, factor) {
    const text = `The average over draws is ${factor(advice.logMean)}`;
    const bounded = advice.bounded;
    if (advice.logMean > advice.log99) {
      return `${text}, carried by fewer than one draw in a hundred. The scale that bounds it, g = ${short(bounded, 4)}, throws the signal away needlessly (${factor(advice.energy(Math.log(bounded)).median)} left in the typical draw): it is for ensembles and theory. One draw is what you train: read 'quantile'.`;
    }
    if (Math.abs(Math.log(bounded / advice.safe)) > 0.03) {
      return `${text}. 'bounded' asks more of the average (within 1.1x) than 'quantile' asks of one draw (within 10x); one draw is what you train, so 'quantile' is the one to read.`;
    }
    return `${text}.`;
  }

  return { page, regime, details, fixed, percent, inTens, power, short, spaced, steps };
})();
