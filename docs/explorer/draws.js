"use strict";

/* What one draw of W does: signalprop/initialization/one_draw_table.py in JavaScript, whose docstring says how the table is
   read. TABLE is written by make_data.py. A column set is {values, width}: rows (widths of W) by horizons by `width` levels. */

const Draws = (() => {
  const FEW = 3;
  const RULED = 4;
  const SETTLED = 16;
  const { levels: LEVELS, scores: SCORES, horizons: HORIZONS, bound: BOUND, dense_to: DENSE_TO } = TABLE;
  const AT_DEFAULT = TABLE.at_default;

  /** float32 numbers whose last byte, always zero, was left out. */
  function unpack(text) {
    const packed = atob(text);
    const bytes = new Uint8Array((packed.length / 3) * 4);
    for (let i = 0, at = 0; i < packed.length; i += 3) {
      at++;
      for (let byte = 0; byte < 3; byte++) bytes[at++] = packed.charCodeAt(i + byte);
    }
    return Float64Array.from(new Float32Array(bytes.buffer));
  }

  const infiniteLogScale = (horizon) => Math.log(BOUND) / (2 * horizon);

  function columns(text, width, change) {
    const values = unpack(text);
    for (let i = 0; i < values.length; i++) values[i] = change(values[i], HORIZONS[Math.floor(i / width) % HORIZONS.length]);
    return { values, width };
  }

  const tables = new Map();

  function table(field) {
    if (!tables.has(field)) {
      const raw = TABLE.fields[field];
      const count = LEVELS.length;
      const energies = columns(raw.log_energy, count, (value) => -value);
      for (let i = 0; i < energies.values.length; i += count) energies.values.subarray(i, i + count).reverse();
      tables.set(field, {
        n: raw.n,
        reach: raw.reach,
        draws: raw.draws,
        nearDraws: raw.near_draws,
        nearReach: raw.near_reach,
        logScale: columns(raw.log_scale, count, (value, t) => 2 * t * (value - infiniteLogScale(t))),
        logScaleError: columns(raw.log_scale_error, 1, (value, t) => value * 2 * t),
        logEnergy: energies,
        heldShare: { ...columns(raw.held_share, 1, (value) => value), share: true },
        heldLogScale: columns(raw.held_log_scale, 1, (value, t) => value * 2 * t),
      });
    }
    return tables.get(field);
  }

  // ---- what is asked of the table ----

  const ascending = (values) => values.slice().sort((a, b) => a - b);

  /** Quantiles (levels) of the largest log g that keeps a draw at or below ten times its energy, and an error of log g. */
  function logScales(n, horizon, field) {
    const rows = table(field);
    const found = read(rows, rows.logScale, n, horizon, field);
    const noise = read(rows, rows.logScaleError, n, horizon, null).value[0];
    return {
      quantiles: ascending(found.value.map((z) => infiniteLogScale(horizon) + z / (2 * horizon))),
      error: Math.hypot(noise, found.doubt[AT_DEFAULT]) / (2 * horizon),
    };
  }

  /** Quantiles (levels) of log(||W^T x||^2/||x||^2) at g = 1. */
  function logEnergies(n, horizon, field) {
    const rows = table(field);
    return ascending(read(rows, rows.logEnergy, n, horizon, field).value.map((value) => -value));
  }

  /** One standard deviation of the quantile `level` of logEnergies: binomial, with the density of the quantiles around it. */
  function logEnergyError(n, horizon, field, level) {
    const i = LEVELS.indexOf(level);
    const [low, high] = [Math.max(i - 1, 0), Math.min(i + 1, LEVELS.length - 1)];
    const levels = logEnergies(n, horizon, field);
    const slope = (levels[high] - levels[low]) / (LEVELS[high] - LEVELS[low]);
    return slope * Math.sqrt((level * (1 - level)) / drawsBehind(table(field), n, horizon));
  }

  /** Fewest draws of a row that is read at (n, horizon): near ones where they reach the same c, otherwise far ones. */
  function drawsBehind(rows, n, horizon) {
    const above = firstFrom(rows.n, n);
    const first = rows.n[above] === n ? above : Math.max(0, above - 1);
    const near = (r) => horizon * Math.sqrt(rows.n[r] / n) <= rows.nearReach[r];
    const chosen = indices(rows.n.length, (r) => first <= r && r <= above);
    return Math.min(...chosen.map((r) => (near(r) ? rows.nearDraws[r] : rows.draws[r])));
  }

  /** Largest share of draws that one g keeps within a factor of ten at every step, and the log of that g. */
  function held(n, horizon, field) {
    const rows = table(field);
    const around = aroundAtC(rows, n, horizon);
    const c = horizon / Math.sqrt(n);
    const [share, z] = [rows.heldShare, rows.heldLogScale].map((set) => {
      if (around !== null) return betweenAtC(rows, around, set, n, horizon)[0];
      if (n <= DENSE_TO && c <= 2 * SETTLED) return atC(rows, set, n, c).value[0]; // past the end of a row: still at this c
      return read(rows, set, n, horizon, null).value[0];
    });
    return { share: Math.min(Math.max(share, 0), 1), logG: z / (2 * horizon) };
  }

  /** Share of draws below a value, from their quantiles; an interval outside the levels. */
  function shareBelow(quantiles, value) {
    const last = LEVELS.length - 1;
    if (value < quantiles[0]) return [0, LEVELS[0]];
    if (value > quantiles[last]) return [LEVELS[last], 1];
    const share = Radius.normalCdf(interpolate(value, quantiles, SCORES));
    return [share, share];
  }

  /** Log of the quantile of the spectral radius of W; real weights up to n = 12288 from the slope of z at the end of the rows. */
  function logEdge(n, field, probability) {
    if (field !== "real" || n > DENSE_TO) return Radius.logQuantile(n, field, probability);
    const rows = table(field);
    const far = 1e9;
    const z = ascending(read(rows, rows.logScale, n, far, field).value.map((value) => value / (2 * far)));
    return -interpolate(SCORES[LEVELS.indexOf(probability)] * -1, SCORES, z);
  }

  function interpolate(x, xs, ys) {
    const last = xs.length - 1;
    if (x <= xs[0]) return ys[0];
    if (x >= xs[last]) return ys[last];
    const i = xs.findIndex((node) => node > x) - 1;
    return ys[i] + ((ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])) * (x - xs[i]);
  }

  // ---- how it is read ----

  /** First index whose value is at least `at`. */
  function firstFrom(grid, at) {
    const i = grid.findIndex((value) => value >= at);
    return i < 0 ? grid.length : i;
  }

  const indices = (count, wanted) => Array.from({ length: count }, (_, i) => i).filter(wanted);
  const combine = (weights, each) => each[0].map((_, level) => weights.reduce((sum, w, i) => sum + w * each[i][level], 0));
  const noDoubt = (value) => ({ value, doubt: value.map(() => 0) });

  /** With `field` the values are log-energies with a minus, which the spectral radius rules many sqrt(n) steps out. */
  function read(rows, set, n, horizon, field) {
    const reaching = indices(rows.n.length, (r) => rows.reach[r] >= horizon);
    const widest = reaching.length ? rows.n[reaching.at(-1)] : 0;
    if (n <= Math.min(widest, DENSE_TO)) return noDoubt(between(rows, reaching, set, n, horizon));
    if (n <= DENSE_TO) {
      const around = firstFrom(rows.n, n);
      const longest = Math.min(...rows.reach.slice(Math.max(0, around - 1), around + 1));
      if (longest >= SETTLED * Math.sqrt(n)) {
        const long = indices(rows.n.length, (r) => rows.reach[r] >= longest);
        return straightOn(horizon, longest, (t) => noDoubt(between(rows, long, set, n, t)));
      }
    }
    const c = horizon / Math.sqrt(n);
    const below = firstFrom(rows.n, n) - 1;
    const short = horizon <= Math.min(...rows.reach.slice(below, below + 2)) && horizon <= Math.sqrt(rows.n[below]);
    if (short || (rows.n.at(-1) < n && c * Math.sqrt(rows.n.at(-FEW)) < 1)) return noDoubt(spreadOnly(rows, set, n, horizon));
    const last = 2 * SETTLED;
    if (field !== null && c >= RULED) return ruledByRadius(rows, set, n, c, field, field === "real" ? c : Math.min(c, last));
    return atC(rows, set, n, Math.min(c, last));
  }

  /** Many sqrt(n) steps out: z = r - 2T log(radius) + log(n)/2 with r that hardly depends on n or c. */
  function ruledByRadius(rows, set, n, c, field, at) {
    const last = 2 * SETTLED;
    const remainder = (point) => {
      const chosen = containing(rows, n, point);
      const each = chosen.map((r) => {
        const radius = radiusTerm(rows.n[r], point, field);
        return along(rows, set, r, point * Math.sqrt(rows.n[r])).map((value, i) => value - radius[i]);
      });
      const value = combine(chosen.map(() => 1 / chosen.length), each);
      const x = chosen.map((r) => 1 / Math.sqrt(rows.n[r]) - 1 / Math.sqrt(n));
      return { value, doubt: line(x, each).map((other, i) => Math.abs(other - value[i])) };
    };
    const found = at <= last ? remainder(Math.min(at, last)) : straightOn(at, last, remainder);
    const radius = radiusTerm(n, c, field);
    return { value: found.value.map((value, i) => value + radius[i]), doubt: found.doubt };
  }

  function radiusTerm(n, c, field) {
    return edges(n, field).map((edge) => 0.5 * Math.log(n) - 2 * c * Math.sqrt(n) * edge);
  }

  const knownEdges = new Map();

  function edges(n, field) {
    const key = `${field} ${n}`;
    if (!knownEdges.has(key)) {
      if (knownEdges.size > 256) knownEdges.clear();
      knownEdges.set(key, LEVELS.map((level) => Radius.logQuantile(n, field, 1 - level)));
    }
    return knownEdges.get(key);
  }

  /** Linear continuation beyond `last` with the slope of its upper half; doubt: what the upper third makes of it. */
  function straightOn(at, last, value) {
    const end = value(last);
    if (end.value.length === 1) return noDoubt(end.value);
    const slope = (part) => {
      const start = value(last * part).value;
      return end.value.map((one, i) => (one - start[i]) / (last * (1 - part)));
    };
    const own = slope(1 / 2);
    const other = slope(2 / 3);
    return {
      value: end.value.map((one, i) => one + own[i] * (at - last)),
      doubt: end.doubt.map((one, i) => one + Math.abs(own[i] - other[i]) * (at - last)),
    };
  }

  /** The rows around n that contain c; where the wider one does not, the widest few below n. */
  function containing(rows, n, c) {
    const inside = indices(rows.n.length, (r) => c * Math.sqrt(rows.n[r]) <= rows.reach[r] && c * Math.sqrt(rows.n[r]) >= 1);
    const below = inside.filter((r) => rows.n[r] <= n);
    const above = inside.filter((r) => rows.n[r] > n);
    return below.length && above.length ? [below.at(-1), above[0]] : inside.slice(-FEW);
  }

  /** Value at n between the rows `reaching`, all of which hold the horizon. */
  function between(rows, reaching, set, n, horizon) {
    const chosen = nearest(reaching.map((r) => rows.n[r]), n, set.share ? 2 : 4).map((i) => reaching[i]);
    const weights = lagrange(chosen.map((r) => Math.log(rows.n[r])), Math.log(n));
    return combine(weights, chosen.map((r) => along(rows, set, r, horizon)));
  }

  /** Value at fixed c, linear in how the spread of log ||W^k x||^2 goes; doubt: the difference to a line in n^(-1/2). */
  function atC(rows, set, n, c) {
    const chosen = containing(rows, n, c);
    const each = chosen.map((r) => along(rows, set, r, c * Math.sqrt(rows.n[r])));
    const x = chosen.map((r) => 1 / Math.sqrt(rows.n[r]));
    const own = 1 / Math.sqrt(n);
    const bend = 0.0007 * c ** 5;
    const value = line(x.map((one) => Math.sqrt(one + bend) - Math.sqrt(own + bend)), each);
    const other = line(x.map((one) => one - own), each);
    return { value, doubt: value.map((one, i) => Math.abs(one - other[i])) };
  }

  /** The row n, or those on both sides of it, if they hold as many sqrt(n) steps; null otherwise, or past DENSE_TO. */
  function aroundAtC(rows, n, horizon) {
    if (n > DENSE_TO) return null;
    const above = firstFrom(rows.n, n);
    const around = rows.n[above] === n ? [above] : [above - 1, above];
    return around.every((r) => horizon * Math.sqrt(rows.n[r] / n) <= rows.reach[r]) ? around : null;
  }

  /** Value at n between rows at the same c, linear in log n; a row counts from its first step on. */
  function betweenAtC(rows, around, set, n, horizon) {
    const weights = lagrange(around.map((r) => Math.log(rows.n[r])), Math.log(n));
    return combine(weights, around.map((r) => along(rows, set, r, Math.max(1, horizon * Math.sqrt(rows.n[r] / n)))));
  }

  /** Few steps at a large width, where z goes like sqrt(T/n): z sqrt(n/T), linear in 1/n between two rows. */
  function spreadOnly(rows, set, n, horizon) {
    const upper = Math.min(firstFrom(rows.n, n), rows.n.length - 1);
    const lower = rows.n[upper] > n ? Math.max(0, upper - 1) : upper;
    const limit = set.share ? 1 : 0;
    const scaled = [lower, upper].map((r) => {
      const until = Math.min(horizon, rows.reach[r]);
      return along(rows, set, r, until).map((value) => (value - limit) * Math.sqrt(rows.n[r] / until));
    });
    const at = [1 / rows.n[lower], 1 / rows.n[upper]];
    const weight = lower === upper ? 0 : (1 / n - at[1]) / (at[0] - at[1]);
    return combine([weight, 1 - weight], scaled).map((value) => limit + value * Math.sqrt(horizon / n));
  }

  /** Value at 0 of the least-squares line through the points (x[i], y[i]), level by level. */
  function line(x, y) {
    const meanX = x.reduce((a, b) => a + b) / x.length;
    const spread = x.reduce((sum, one) => sum + (one - meanX) ** 2, 0);
    return combine(x.map((one) => 1 / x.length - (meanX * (one - meanX)) / spread), y);
  }

  /** Value of one row at a horizon >= 1 within its reach, not necessarily whole. */
  function along(rows, set, row, horizon) {
    const grid = HORIZONS.filter((t) => t <= rows.reach[row]);
    const near = nearest(grid, horizon, 4);
    const weights = lagrange(near.map((i) => Math.log(grid[i])), Math.log(horizon));
    return combine(weights, near.map((i) => level(set, row, i)));
  }

  function level(set, row, i) {
    const start = (row * HORIZONS.length + i) * set.width;
    return Array.from(set.values.subarray(start, start + set.width));
  }

  /** Indices of `count` neighbours of `at` in an increasing grid, as many on each side as there are. */
  function nearest(grid, at, count) {
    const start = Math.min(Math.max(firstFrom(grid, at) - count / 2, 0), Math.max(grid.length - count, 0));
    return indices(grid.length, (i) => i >= start && i < start + count);
  }

  /** Weights of the polynomial through the nodes, at a point. */
  function lagrange(nodes, at) {
    return nodes.map((node, i) =>
      nodes.reduce((weight, other, j) => (i === j ? weight : (weight * (at - other)) / (node - other)), 1),
    );
  }

  return { LEVELS, logScales, logEnergies, logEnergyError, held, shareBelow, logEdge };
})();
