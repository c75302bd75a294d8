"use strict";

/* What to do for a width, a horizon and a field: signalprop/initialization/advice.py, budget.py and scale.py in JavaScript. */

const Advice = (() => {
  const WITHIN = 1.96;
  const TOLERANCE = Math.log1p(0.1);
  const TEN = Math.log(TABLE.bound);
  const DEFAULT = TABLE.levels[TABLE.levels.length - 1 - TABLE.at_default];

  const quantile = (levels, q) => levels[TABLE.levels.indexOf(q)];

  /** The numbers behind every sentence of the page; energies are natural logs, at the horizon, for Glorot weights (g = 1). */
  function advise(n, horizon, field) {
    const scales = Draws.logScales(n, horizon, field);
    const levels = Draws.logEnergies(n, horizon, field);
    const held = Draws.held(n, horizon, field);
    const logMean = Energy.logMean(n, horizon, field);
    const exact = horizon <= Energy.reach(n, field);
    const meanKnown = field === "complex" || horizon <= TABLE.mean_reach; // to the package; this page has a law beyond
    const logSafe = scales.quantiles[TABLE.at_default];
    const largestInterval = [-1, 1].map((sign) => Math.exp(logSafe + sign * WITHIN * scales.error));
    const energy = (logG) => {
      const shift = 2 * horizon * logG;
      return { low: quantile(levels, 0.05) + shift, median: quantile(levels, 0.5) + shift, high: quantile(levels, 0.95) + shift };
    };
    const complexG = Math.min(0, Draws.logScales(n, horizon, "complex").quantiles[TABLE.at_default]);
    const complexMedian = quantile(Draws.logEnergies(n, horizon, "complex"), 0.5);
    const low = energy(0).low - WITHIN * Draws.logEnergyError(n, horizon, field, 0.05);
    const verdict = logSafe - WITHIN * scales.error >= 0 && low >= -TEN ? "keep" : held.share >= 0.5 ? "rescale" : "replace";
    return {
      n,
      horizon,
      field,
      verdict,
      regime: regime(n, horizon, exact ? logMean : null),
      c: horizon / Math.sqrt(n),
      safe: Math.min(1, Math.exp(logSafe)),
      safeInterval: largestInterval.map((g) => Math.min(1, g)),
      largest: Math.exp(logSafe),
      largestInterval,
      bounded: meanKnown && logMean !== null ? Math.exp((TOLERANCE - logMean) / (2 * horizon)) : null,
      minimax: meanKnown && logMean !== null ? Math.exp(minimax(n, horizon, field)) : null,
      edge: Math.exp(-Draws.logEdge(n, field, DEFAULT)),
      energy,
      log99: quantile(levels, 0.99),
      logMean,
      exact,
      meanKnown,
      heldShare: held.share,
      heldScale: Math.exp(held.logG),
      budget: budget(n, field),
      meanBudget: meanBudget(n, field),
      widthNeeded: widthNeeded(horizon, field),
      complexScale: Math.exp(complexG),
      complexMedian: complexMedian + 2 * horizon * complexG,
      exploding: (g) => exploding(scales, Math.log(g)),
    };
  }

  /** Share of draws that pass ten times their energy on the way, and its 95 % interval. */
  function exploding({ quantiles, error }, logG) {
    const [least, middle, most] = [-1, 0, 1].map((sign) => Draws.shareBelow(quantiles, logG + sign * WITHIN * error));
    return [0.5 * (middle[0] + middle[1]), least[0], most[1]];
  }

  function regime(n, k, logMean) {
    if (logMean !== null && Math.abs(Math.expm1(Math.min(logMean, 1))) <= 0.01) return "subcritical";
    if (k >= 10 * n) return "superlinear";
    if (k <= 5 * Math.sqrt(n)) return "critical";
    return k <= n / 10 ? "supercritical" : "linear";
  }

  const memo = (compute) => {
    const known = new Map();
    return (...key) => {
      const name = key.join(" ");
      if (!known.has(name)) known.set(name, compute(...key));
      return known.get(name);
    };
  };

  /** The longest horizon over which some scale holds 95 % of draws within a factor of ten. */
  const budget = memo((n, field) => {
    const lost = (horizon) => Draws.held(n, horizon, field).share < DEFAULT;
    return lost(1) ? 0 : firstTrue(lost, 1) - 1;
  });

  /** The longest horizon over which the mean stays within 10 % at g = 1. */
  const meanBudget = memo((n, field) => firstTrue((k) => Energy.logMean(n, k, field) > TOLERANCE, 1) - 1);

  /** The smallest width whose budget is the horizon. */
  const widthNeeded = memo((horizon, field) => {
    const holds = (n) => Draws.held(n, horizon, field).share >= DEFAULT;
    return holds(1) ? 1 : firstTrue(holds, 1);
  });

  /** The log g at which the mean strays from 1 by as much up as down: mean_path.py's MeanPath.minimax. */
  const minimax = memo((n, horizon, field) => {
    const end = Energy.logMean(n, horizon, field);
    const balance = (k) => -(end + Energy.logMean(n, k, field)) / (2 * (horizon + k));
    return balance(turn(horizon, (k) => balance(k) - balance(k + 1)));
  });

  /** Smallest 0 <= k < last where a slope that goes from negative to non-negative is non-negative, else last. */
  function turn(last, slope) {
    let [low, high] = [0, last - 1];
    let [atLow, atHigh] = [slope(low), slope(high)];
    if (atLow >= 0) return low;
    if (atHigh < 0) return last;
    for (let chord = true; high - low > 1; chord = !chord) {
      let guess = Math.floor((low + high) / 2);
      if (chord) guess = Math.min(Math.max(low + Math.round(((high - low) * atLow) / (atLow - atHigh)), low + 1), high - 1);
      const value = slope(guess);
      if (value < 0) [low, atLow] = [guess, value];
      else [high, atHigh] = [guess, value];
    }
    return high;
  }

  /** Smallest integer above `low` where a predicate that turns true once is true. */
  function firstTrue(predicate, low) {
    let high = 2 * low;
    while (!predicate(high)) [low, high] = [high, 2 * high];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (predicate(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  /** Path of energies at scale g, from step 0 to the horizon: what the picture draws. */
  function path(n, horizon, field, steps) {
    return steps.map((step) => {
      if (step === 0) return { step, low: 0, median: 0, high: 0, mean: 0 };
      const levels = Draws.logEnergies(n, step, field);
      const [low, median, high] = [0.05, 0.5, 0.95].map((q) => quantile(levels, q));
      return { step, low, median, high, mean: Energy.logMean(n, step, field) };
    });
  }

  return { advise, path, TEN };
})();
