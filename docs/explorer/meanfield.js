"use strict";

/* The laws at infinite width that the page of cells quotes: signalprop/meanfield/fixed_points.py (edge_of_chaos), gradients.py and
   crossover.py for tanh, and memory.py (chrono_biases) in JavaScript. Quadratures here are by the trapezoidal rule, which for
   these functions is right to the last digits. */

const MeanField = (() => {
  const [SHARE, MEMORY, LARGEST, POWER] = [0.43, 3.6, 2.6, 2.8]; // a, b, x_0, p of the crossover
  const UNITS = 64;

  /** Points and weights of a standard normal z, `half` of them on each side. */
  function rule(step, half) {
    const z = Array.from({ length: 2 * half + 1 }, (_, i) => step * (i - half));
    return { z, weights: z.map((one) => (step * Math.exp(-0.5 * one * one)) / Math.sqrt(2 * Math.PI)) };
  }

  const memo = (compute) => {
    const known = new Map();
    return (...key) => {
      const name = key.join(" ");
      if (known.size > 256) known.clear();
      if (!known.has(name)) known.set(name, compute(...key));
      return known.get(name);
    };
  };

  // ---- the edge of chaos of tanh ----

  const NORMAL = rule(0.03, 310);

  /** E f(tanh, slope, z) at variance q of the preactivations. */
  function mean(q, f) {
    const root = Math.sqrt(q);
    let sum = 0;
    for (const [i, z] of NORMAL.z.entries()) {
      const value = Math.tanh(root * z);
      sum += NORMAL.weights[i] * f(value, 1 - value * value, z);
    }
    return sum;
  }

  const value2 = (q) => mean(q, (f) => f * f);
  const slope2 = (q) => mean(q, (f, d) => d * d);

  /** The scale at which a step keeps the energy of a gradient (chi = 1), and the variance there, for inputs that add s. */
  const edge = memo((s) => {
    if (s === 0) return { scale: 1, variance: 0 };
    // In q - s^2, which may be far smaller than q.
    const excess = (added) => added * slope2(added + s * s) - value2(added + s * s);
    let [low, high] = [1e-12, 1];
    while (excess(high) < 0) high *= 2;
    while (high / low - 1 > 1e-15) {
      const middle = Math.sqrt(low * high);
      if (middle <= low || middle >= high) break;
      if (excess(middle) < 0) low = middle;
      else high = middle;
    }
    return { scale: Math.sqrt(low / value2(low + s * s)), variance: low + s * s };
  });

  /** g at which chi = 1. */
  const criticalScale = (s) => edge(s).scale;

  /** Rates per step at the edge, times n: of the variance of the log-energy of a gradient, with the part of the states. */
  const rates = memo((s) => {
    const { scale: g, variance: q } = edge(s);
    const slopes = slope2(q);
    const values = value2(q);
    const product = mean(q, (f, d) => (f * d) ** 2);
    const carried = mean(q, (f, d, z) => f * d * z) * Math.sqrt(q);
    const k = mean(q, (f, d, z) => d * d * (z * z - 1)) / (2 * q * slopes);
    const memory = (g * g * carried) / q;
    const noise = g ** 4 * (mean(q, (f) => f ** 4) - values ** 2);
    return {
      slopes: (3 * mean(q, (f, d) => d ** 4)) / slopes ** 2 - 1,
      states: (k * k * noise) / (1 - memory * memory),
      covariance: (k * g * g * (product - slopes * values)) / slopes,
      memory,
      decay: -Math.log(g * g * mean(q, (f, d) => d) ** 2),
    };
  });

  /** Variance after so many steps, times n. */
  function variance({ slopes, states, covariance, memory: a }, steps) {
    const once = (steps - (1 - a ** steps) / (1 - a)) / (1 - a);
    return steps * slopes + states * (steps + 2 * a * once) + 2 * covariance * once;
  }

  /** The first step at which draws of a layer at chi = 1 spread by 1, in natural log. */
  const crossoverHorizon = memo((n, s) => {
    const rate = rates(s);
    const wide = (steps) => {
      const law = variance(rate, steps) / n;
      const span = steps + MEMORY / Math.max(1 - rate.memory, 1e-15);
      const x = ((SHARE * 2 * span ** 2) / ((law / steps) * n * n)) * pairs(2 * rate.decay * span);
      return law * (1 + x / (1 + (x / LARGEST) ** POWER) ** (1 / POWER)) >= 1;
    };
    let [low, high] = [0, 1];
    while (!wide(high)) [low, high] = [high, 2 * high];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (wide(middle)) high = middle;
      else low = middle;
    }
    return high;
  });

  /** Integral of (1 - y)^2 e^(-u y) over y from 0 to 1. */
  const pairs = (u) => (u < 1e-2 ? 1 / 3 - u / 12 + (u * u) / 60 : 1 / u - 2 / u ** 2 - (2 * Math.expm1(-u)) / u ** 3);

  // ---- biases of gates ----

  /** By how much inputs that add s raise chrono biases of `memory` steps, on average over units. */
  const biasShift = memo((memory, s) => {
    if (s === 0 || memory <= 2) return 0;
    const points = rule(Math.min(0.4, 0.25 / s), Math.ceil((9 + 2 * s) / Math.min(0.4, 0.25 / s)));
    const plain = Array.from({ length: UNITS }, (_, i) => Math.log1p(((i + 0.5) / UNITS) * (memory - 2)));
    return plain.reduce((sum, bias) => sum + keepingBias(bias, s, points) - bias, 0) / UNITS;
  });

  const open = (x) => 1 / (1 + Math.exp(-x));
  const lost = (x) => open(-x) * (1 + open(x)); // 1 - sigmoid^2 without a loss of digits

  /** The b' with E(1 - sigmoid(b' + s z)^2) = 1 - sigmoid(b)^2, for b >= 0: Newton's method for the log, in a bracket. */
  function keepingBias(bias, s, { z, weights }) {
    const wanted = Math.log(lost(bias));
    let [low, high] = [-Math.log(2) - s * s, bias + 0.5 * s * s + Math.log(4)];
    let at = bias;
    for (let turn = 0; turn < 200; turn++) {
      let [share, slope] = [0, 0];
      for (const [i, one] of z.entries()) {
        const x = at + s * one;
        share += weights[i] * lost(x);
        slope += weights[i] * 2 * open(x) ** 2 * open(-x);
      }
      const away = Math.log(share) - wanted; // falls with the bias
      if (away > 0) low = at;
      else high = at;
      const step = at + (away * share) / slope;
      const next = step >= low && step <= high ? step : 0.5 * (low + high);
      const settled = Math.abs(next - at) <= 1e-9 * Math.max(Math.abs(at), 1);
      at = next;
      if (settled) break;
    }
    return at;
  }

  return { criticalScale, crossoverHorizon, biasShift };
})();
