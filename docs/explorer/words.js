"use strict";

/* When the page says which sentence, with which numbers: signalprop/initialization/advice_text.py in JavaScript, for the numbers
   of Advice.advise. The sentences and the lines to paste themselves are those of the package (TABLE.words). */

const Words = (() => {
  const TORCH_DEFAULT = 1 / Math.sqrt(3);
  const { TEN } = Advice;
  const { short, factor, number, rounded, plural, steps, filled } = Numbers;
  const about = (count) => plural(count, rounded(count));
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const ELSEWHERE = "choose it above";
  const [LOWEST, HIGHEST] = [TABLE.levels[0], TABLE.levels.at(-1)];
  const { sentences, code: CODE, mean_status: MEAN_STATUS, trained: TRAINED, far: FAR, most_heads: MOST_HEADS } = TABLE.words;

  const sentence = (name, values = {}) => filled(sentences[name], values);
  const toPaste = (name, values) => ({ label: CODE[name][0], code: filled(CODE[name][1], values) });

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

  // ---- the page ----

  /** Answer, which layers it is not for, reasons and blocks to paste; a block is {title, items}, an item {text} or {label, code}. */
  function page(advice) {
    return { answer: answer(advice), cells: advice.field === "real" ? sentence("cells_first", { option: ELSEWHERE }) : "", why: why(advice), paste: paste(advice) };
  }

  function fate({ energy }) {
    const { median, high } = energy(0);
    if (median > Math.log(2)) return median > TEN ? "explodes" : "grows";
    return high < 0 ? "fades" : "is a lottery";
  }

  function answer(advice) {
    return sentence(advice.verdict === "rescale" && advice.safe === 1 ? "rescale_one" : advice.verdict, {
      g: short(advice.safe, 4),
      std: short(advice.safe / Math.sqrt(advice.n), 4),
      glorot_std: short(1 / Math.sqrt(advice.n), 4),
      just: advice.horizon <= advice.budget ? "" : "just about ",
      fate: fate(advice),
    });
  }

  function why(advice) {
    const { n, horizon, verdict } = advice;
    const time = sentence("time", { steps: steps(horizon), are: horizon === 1 ? "is" : "are", c: number(advice.c), n });
    if (verdict === "keep") {
      const draws = sentence("draws", { ...ends(advice), share: capital(exploding(advice, 1)) });
      return [time, draws, ...average(advice), end(advice)];
    }
    const safe = advice.energy(Math.log(advice.safe));
    const values = { g: short(advice.safe, 4), horizon, median: factor(safe.median) };
    const scaled =
      verdict === "rescale"
        ? sentence("scaled", { ...values, low: factor(safe.low) })
        : sentence("forgets", { ...values, nothing: safe.median < -14 ? ": nothing survives" : "" });
    return [time, glorot(advice), scaled, holds(advice)];
  }

  /** Energies of Glorot weights at the horizon as text. */
  function ends({ energy }) {
    const { low, median, high } = energy(0);
    return { low: factor(low), median: factor(median), high: factor(high) };
  }

  function glorot(advice) {
    const { low, median } = advice.energy(0);
    const grows = low > 0 ? "glorot_all_grow" : "glorot_grows";
    return sentence(median > Math.log(2) ? grows : "glorot_spreads", {
      ...ends(advice),
      fate: fate(advice),
      horizon: advice.horizon,
      share: exploding(advice, 1),
    });
  }

  function holds(advice) {
    const { n, horizon, budget } = advice;
    const percent = 100 * advice.heldShare;
    const kept = sentence("held", {
      kept: percent < 1 ? "Fewer than 1 %" : `At most ${percent.toFixed(0)} %`,
      best: advice.verdict === "rescale" ? ` (g = ${short(advice.heldScale, 4)} keeps the most)` : ", whatever the scale",
    });
    if (horizon <= budget) return `${kept} ${sentence("budget_within", { n, budget: about(budget) })}`;
    const longest = sentence(budget ? "budget_past" : "budget_none", { n, budget: steps(budget) });
    return `${kept} ${longest}${sentence("width_needed", { steps: steps(horizon), width: rounded(advice.widthNeeded) })}`;
  }

  function average(advice) {
    if (!advice.meanKnown) return [];
    const percent = 100 * Math.expm1(Math.min(advice.logMean, 1));
    if (percent < 0.1) return [sentence("average_still")];
    if (percent <= 50) return [sentence("average_grown", { percent: short(percent, 2) })];
    return [sentence("average_is", { mean: factor(advice.logMean) })];
  }

  function end(advice) {
    const values = { held: about(advice.budget + 1), average: steps(advice.meanBudget + 1) };
    return sentence(advice.horizon > advice.meanBudget ? "end_average_past" : "end_average", values);
  }

  // ---- lines to paste ----

  function paste(advice) {
    const { n, horizon, verdict } = advice;
    const scale = verdict === "keep" ? 1 : advice.safe;
    const gaussian = initializers(advice, scale, scale === 1 ? "scale=1.0" : `horizon=${horizon}`);
    const blocks = {
      keep: () => [{ title: sentence("paste"), items: gaussian }],
      rescale: () => [
        { title: sentence("paste"), items: gaussian },
        { title: sentence("paste_more"), items: normPreserving(advice) },
      ],
      replace: () => [
        { title: sentence("paste_norm"), items: [...normPreserving(advice), ...trained(advice)] },
        { title: sentence("paste_gaussian"), items: gaussian },
      ],
    }[verdict]();
    return blocks;
  }

  function initializers({ n, field }, scale, argument) {
    const std = scale / Math.sqrt(n);
    const values = { n, argument, std: short(std, 6), part_std: short(0.5 * std, 6) };
    return {
      real: ["gaussian_torch", "gaussian_torch_alone", "gaussian_jax"],
      complex: ["complex_torch", "complex_jax"],
      quaternion: ["quaternion_numpy"],
    }[field].map((name) => toPaste(name, values));
  }

  /** For a scale that was asked for. */
  const fixed = (advice, scale) => initializers(advice, scale, `scale=${scale}`);

  function normPreserving({ n, horizon, field }) {
    if (field === "quaternion") return [{ text: sentence("unitary_quaternion") }];
    if (field === "complex") return [{ text: sentence("unitary") }, toPaste("unitary_torch", { n }), toPaste("unitary_jax", { n })];
    const [near, far] = [horizon, 10 * horizon].map(modulus);
    const values = { n, near, far, heads: heads(n) };
    return [
      { text: sentence("orthogonal") },
      toPaste("orthogonal_torch", { n }),
      toPaste("orthogonal_jax", { n }),
      { text: sentence("layers", { steps: steps(horizon) }) },
      toPaste("rotrnn", values),
      ...(values.heads > 1 ? [{ text: sentence("heads") }] : []),
      toPaste("lru", values),
    ];
  }

  /** The most heads of at least two states that divide n. */
  function heads(n) {
    let most = MOST_HEADS;
    while (most > 1 && (n % most !== 0 || n / most < 2)) most--;
    return most;
  }

  /** The modulus that keeps 1/e of the energy over the horizon, in as many digits as it needs. */
  function modulus(horizon) {
    const away = -Math.expm1(-0.5 / horizon);
    return (1 - away).toFixed(1 - Math.floor(Math.log10(away)));
  }

  /** What trainings showed, where this is what was trained. */
  function trained({ field, c, horizon, budget }) {
    const was = field === "real" && TRAINED[0] <= c && c <= TRAINED[1] && horizon >= FAR * budget;
    return was ? [{ text: sentence("trained") }] : [];
  }

  // ---- details ----

  const regime = ({ regime }) => sentence(regime);

  /** Points under the table. */
  function details(advice) {
    const { n, horizon, field } = advice;
    const points = mean(advice);
    if (field === "real") {
      const left = factor(advice.energy(Math.log(TORCH_DEFAULT)).median);
      points.push(
        sentence("torch_default", { g: TORCH_DEFAULT.toFixed(3), left, horizon }),
        sentence("complex_weights", { g: advice.complexScale.toFixed(4), left: factor(advice.complexMedian) }),
      );
    }
    return [...points, sentence("scope")];
  }

  /** How sure the numbers are, and how to cite them. */
  function status(advice) {
    const { field } = advice;
    const option = field === "real" ? "" : ` --field ${field}`;
    const values = { average: MEAN_STATUS[field], safe: safe(advice), command: `signalprop cite scale${option}` };
    return sentence(advice.meanKnown ? "status" : "status_draws", values);
  }

  /** The interval of the quantile scale; of what its definition allows where that is more than Glorot. */
  function safe({ largest, largestInterval, safeInterval }) {
    const [low, high] = (largest > 1 ? largestInterval : safeInterval).map((g) => short(g, 5));
    return sentence(largest > 1 ? "safe_capped" : "safe", { largest: short(largest, 5), low, high });
  }

  function mean(advice) {
    const { bounded, logMean } = advice;
    if (!advice.meanKnown) return [sentence("mean_unknown")];
    if (logMean === null) return []; // within the reach of the package, not of this page
    const left = factor(advice.energy(Math.log(bounded)).median);
    const values = { mean: factor(logMean), bounded: short(bounded, 4), left };
    if (logMean > advice.log99) return [sentence("mean_rare", values)];
    return [sentence(Math.abs(Math.log(bounded / advice.safe)) > 0.03 ? "mean_strict" : "mean_plain", values)];
  }

  return { page, regime, details, status, fixed, percent };
})();
