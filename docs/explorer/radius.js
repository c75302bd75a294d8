"use strict";

/* Quantiles of the spectral radius of W: signalprop/initialization/spectral_edge.py in JavaScript. */

const Radius = (() => {
  const FAR = 14;
  const MOST_TERMS = 300;
  const ITERATIONS = 45;

  /** 1 - erf(x) to about 1e-13 of its value, x >= 0. */
  function erfc(x) {
    if (x < 2) {
      // Kummer's series, all terms positive.
      let term = x;
      let sum = x;
      for (let j = 1; term > 1e-17 * sum; j++) sum += term *= (2 * x * x) / (2 * j + 1);
      return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
    }
    // Laplace's continued fraction, from the far end.
    let fraction = x;
    for (let j = Math.ceil(12 + 500 / (x * x)); j > 0; j--) fraction = x + (0.5 * j) / fraction;
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
  }

  function normalCdf(x) {
    const half = 0.5 * erfc(Math.abs(x) / Math.SQRT2);
    return x > 0 ? 1 - half : half;
  }

  function logNormalCdf(x) {
    if (x > 9) return 0; // up to 1e-19
    if (x > 0) return Math.log1p(-0.5 * erfc(x / Math.SQRT2));
    if (x > -30) return Math.log(0.5 * erfc(-x / Math.SQRT2));
    return -0.5 * x * x - Math.log(-x) - 0.5 * Math.log(2 * Math.PI);
  }

  /** Log of P(Gamma(s (n-j)) <= s n r^2). */
  function logTerm(j, n, s, logR) {
    const shape = s * (n - j);
    const logRatio = 2 * logR - Math.log1p(-j / n);
    return logNormalCdf(3 * Math.sqrt(shape) * (Math.expm1(logRatio / 3) + 1 / (9 * shape)));
  }

  function logShare(n, field, logR) {
    const s = field === "quaternion" ? 2 : 1;
    const terms = Math.floor(Math.min(n, FAR * Math.sqrt(n) + 3));
    let sum = 0;
    if (terms <= MOST_TERMS) {
      for (let j = 0; j < terms; j++) sum += logTerm(j, n, s, logR);
      return sum;
    }
    const [nodes, weights] = TABLE.gauss;
    nodes.forEach((node, i) => (sum += weights[i] * logTerm(0.5 * terms * (node + 1), n, s, logR)));
    return 0.5 * terms * sum + 0.5 * logTerm(0, n, s, logR);
  }

  /** Log of the r with P(spectral radius <= r) = probability. */
  function logQuantile(n, field, probability) {
    const target = Math.log(probability) / (field === "real" ? 0.5 : 1);
    const root = Math.sqrt(n);
    let low = -1;
    let high = 1;
    while (logShare(n, field, low / root) > target) low *= 2;
    while (logShare(n, field, high / root) < target) high *= 2;
    for (let i = 0; i < ITERATIONS; i++) {
      const middle = 0.5 * (low + high);
      if (logShare(n, field, middle / root) < target) low = middle;
      else high = middle;
    }
    return (0.5 * (low + high)) / root;
  }

  return { logQuantile, normalCdf };
})();
