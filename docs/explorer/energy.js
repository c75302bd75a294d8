"use strict";

/* The mean energy E||W^k x||^2/||x||^2 over draws of W, as its natural log: signalprop/energy/_complex.py,
   signalprop/energy/_zonal.py and signalprop/regimes/real.py in JavaScript. Their docstrings derive the formulas. */

const Energy = (() => {
  const LONGEST = 20000; // of the exact sums for real and quaternion weights, in the package as here
  const MOST_TERMS = 3e7; // of steps * min(steps, 2 width): a few hundredths of a second for the longest sum
  const SHORT_LAW = 20;

  /** The last step whose mean is summed exactly for this width: beyond, real weights have the two-term law. */
  function reach(n, field) {
    if (field === "complex") return Infinity;
    return Math.floor(Math.min(LONGEST, Math.max(Math.sqrt(MOST_TERMS), MOST_TERMS / (2 * n))));
  }

  const known = new Map();

  /** Natural log of the mean energy after k steps; null where neither an exact sum nor a law is at hand. */
  function logMean(n, k, field) {
    const key = `${field} ${n} ${k}`;
    if (!known.has(key)) {
      if (known.size > 20000) known.clear();
      known.set(key, compute(n, k, field));
    }
    return known.get(key);
  }

  function compute(n, k, field) {
    if (k < 2) return 0;
    if (field === "complex") return complex(n, k);
    if (k <= reach(n, field)) return zonal(prefixLogs(n, field, k + 2), k);
    return field === "real" ? twoTerm(n, k) : null;
  }

  /** Stirling's series after 1/(12 z), for z >= 16. */
  function stirlingTail(z) {
    const w = 1 / (z * z);
    return ((-1 / 360 + w * (1 / 1260 + w * (-1 / 1680 + w * (1 / 1188 - (w * 691) / 360360)))) * w) / z;
  }

  function logSinhc(a) {
    if (a < 0.05) {
      const w = a * a;
      return w * (1 / 6 - w * (1 / 180 - w * (1 / 2835 - w / 37800)));
    }
    return a + Math.log(-Math.expm1(-2 * a) / (2 * a));
  }

  function logFactorial(m) {
    let total = 0;
    for (let j = 2; j <= m; j++) total += Math.log(j);
    return total;
  }

  /** Value at w of the power series 1/first[0] + w/first[1] + .. */
  const series = (w, denominators) => denominators.reduceRight((sum, one) => 1 / one + w * sum, 0);

  /** Complex weights: rising less falling factorial of n, by Stirling's series without cancellation. */
  function complex(n, k) {
    const m = k + 2;
    if (n < 64 && m <= 128) {
      let difference = 0;
      let total = 2;
      for (let j = 1; j < m; j++) [difference, total] = [difference + (j / n) * total, total + (j / n) * difference];
      return Math.log((n * difference) / ((k + 1) * m));
    }
    const firstOrder = (0.5 * (k + 1) * m) / n;
    const x = m / n;
    const up = n + m;
    const down = n - m;
    if (n < 64 || down < 16 + 1e-12 * n) {
      const remainder =
        n < 64
          ? logFactorial(n - 1) - (n - 0.5) * Math.log(n) + n - 0.9189385332046727
          : 1 / (12 * n) + stirlingTail(n);
      let rising = n * ((1 + x) * Math.log1p(x) - x) - 0.5 * Math.log1p(x);
      rising += 1 / (12 * up) + stirlingTail(up) - remainder;
      return rising - Math.log(2 * firstOrder);
    }
    const tailUp = stirlingTail(up);
    const tailDown = stirlingTail(down);
    const cEven = (m * m) / (6 * n * up * down) + (tailUp + tailDown - 2 * stirlingTail(n));
    const cOdd = -m / (6 * up * down) + (tailUp - tailDown);
    let even, odd, atanhRest, halfLog;
    if (x <= 0.125) {
      const w = x * x;
      even = w * w * series(w, [6, 15, 28, 45, 66, 91, 120, 153]);
      odd = -2 * x * w * series(w, [6, 20, 42, 72, 110, 156, 210, 272]);
      atanhRest = x * w * series(w, [3, 5, 7, 9, 11, 13, 15, 17]);
      halfLog = -0.5 * w * series(w, [1, 2, 3, 4, 5, 6, 7, 8]);
    } else {
      const logUp = Math.log1p(x);
      const logDown = Math.log1p(-x);
      even = (1 + x) * logUp + (1 - x) * logDown - x * x;
      odd = (1 + x) * logUp - (1 - x) * logDown - 2 * x;
      atanhRest = 0.5 * (logUp - logDown) - x;
      halfLog = 0.5 * (logUp + logDown);
    }
    const eps = (n * even - atanhRest + cEven) / (2 * firstOrder);
    const b = 0.5 * (n * odd - halfLog + cOdd);
    return b + Math.log1p(eps) + logSinhc(firstOrder * (1 + eps));
  }

  /** Sums over j < a of log(1 + (offset + step j)/scale), a = 0, 1, ..; -Infinity from the first factor <= 0 on. */
  function prefix(offset, step, scale, size) {
    const out = new Float64Array(size);
    let total = 0;
    let lost = 0;
    for (let a = 1; a < size; a++) {
      const shift = (offset + step * (a - 1)) / scale;
      if (shift <= -1) return out.fill(-Infinity, a);
      const term = Math.log1p(shift) - lost;
      const next = total + term;
      lost = next - total - term;
      out[a] = total = next;
    }
    return out;
  }

  let prefixes = { key: "", size: 0, logs: [] };

  function prefixLogs(n, field, size) {
    const key = `${field} ${n}`;
    if (prefixes.key !== key || prefixes.size < size) {
      const long = Math.min(LONGEST + 2, 2 * size);
      const logs =
        field === "real"
          ? [prefix(0, 2, n, long), prefix(-1, 2, n, long), prefix(-2, -1, n, long)]
          : [prefix(0, -1, n, long), prefix(1, -2, 2 * n, long), prefix(2, 1, 2 * n, long)];
      prefixes = { key, size: long, logs };
    }
    return prefixes.logs;
  }

  function lastNonZero(values) {
    let i = values.length - 1;
    while (i > 0 && values[i] === 0) i--;
    return i;
  }

  /** Real and quaternion weights: the sum over partitions (a, b, 1^c) of K = k+1, grouped by the gap a-b. */
  function zonal(logs, k) {
    const K = k + 1;
    const top = Math.max(logs[0][K], logs[2][K]);
    const scaled = logs.map((log) => Float64Array.from({ length: K + 1 }, (_, a) => Math.exp(log[a] - (a * top) / K)));
    const [p, q, s] = scaled;
    const [lastP, lastQ, lastS] = scaled.map(lastNonZero);
    let total = p[K] / (2 * k + 1);
    for (let gap = 0; gap < k; gap++) {
      const e = K - gap;
      let plain = 0;
      let weighted = 0;
      const end = Math.min(e >> 1, lastQ, lastP - gap);
      for (let b = Math.max(1, Math.ceil((e - lastS) / 2)); b <= end; b++) {
        const term = p[gap + b] * q[b] * s[e - 2 * b];
        plain += term;
        weighted += b * term;
      }
      if (gap === 0) {
        total += ((6 * K + 2) * plain - 8 * weighted) / (3 * (K - 1) * (K + 1));
      } else {
        const constant = 2 * e * (2 * gap - 1) * (4 * gap + e + 3);
        const slope = 8 * (e * e + 2 * gap * e - 2 * gap * gap - 3 * gap);
        const denominator = (2 * gap + 3) * (2 * gap - 1) * ((K + gap) * (K + gap + 1)) * ((e - 1) * e);
        total += (constant * plain + slope * weighted) / denominator;
      }
    }
    return top + Math.log(total);
  }

  /** Real weights far out: the complex mean plus prod_{j<=k}(1 + 2j/n)/(2k+1). */
  function twoTerm(n, k) {
    const first = complex(n, k);
    const second = logRising(0.5 * n, k + 1) - Math.log(2 * k + 1);
    const larger = Math.max(first, second);
    return larger + Math.log1p(Math.exp(Math.min(first, second) - larger));
  }

  /** Log of z(z+1)..(z+m-1)/z^m; small z are first raised, for Stirling's series. */
  function logRising(z, m) {
    if (z < SHORT_LAW) {
      const up = z + SHORT_LAW;
      let head = 0;
      for (let j = 0; j < SHORT_LAW; j++) head += Math.log1p(j / z);
      return head + logRising(up, m - SHORT_LAW) + (m - SHORT_LAW) * Math.log(up / z);
    }
    const tail = (w) => 1 / (12 * w) + stirlingTail(w);
    const c = m / z;
    const phi = c < 2e-3 ? c * c * (0.5 - c * (1 / 6 - c * (1 / 12 - c * (1 / 20 - c / 30)))) : (1 + c) * Math.log1p(c) - c;
    return z * phi - 0.5 * Math.log1p(c) + tail(z + m) - tail(z);
  }

  return { logMean, reach };
})();
