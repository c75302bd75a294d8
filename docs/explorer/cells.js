"use strict";

/* What is left of a gradient in a tanh, ReLU, GRU or LSTM layer: signalprop/initialization/_cell_table.py, whose docstring says
   how the table is read, and _cell_advice.py in JavaScript. TABLE.cells is written by make_data.py. */

const Cells = (() => {
  const { widths: WIDTHS, input_stds: INPUT_STDS, horizons: HORIZONS, values: VALUES, advised: ADVISED } = TABLE.cells;
  const POINTS = WIDTHS.length * INPUT_STDS.length * HORIZONS.length;

  const tables = new Map();

  /** asinh of low, median, high and error of a start, each at all points. */
  function table(cell, start) {
    const name = `${cell} ${start}`;
    if (!tables.has(name)) {
      const packed = atob(TABLE.cells.tables[cell][start]);
      const bytes = Uint8Array.from(packed, (one) => one.charCodeAt(0));
      const numbers = new Float32Array(bytes.buffer);
      if (numbers.length !== POINTS * VALUES.length) throw new Error(`the table of ${name} is damaged`);
      const bent = Array.from(numbers, Math.asinh);
      tables.set(name, VALUES.map((_, which) => bent.filter((_, i) => i % VALUES.length === which)));
    }
    return tables.get(name);
  }

  const clip = (value, grid) => Math.min(Math.max(value, grid[0]), grid.at(-1));

  /** Natural logs {low, median, high} of what is left of a gradient's energy over the horizon, and the median's error. */
  function left(cell, start, n, horizon, s) {
    const values = table(cell, start);
    const axes = [
      [WIDTHS, clip(n, WIDTHS)],
      [INPUT_STDS, clip(s, INPUT_STDS)],
      [HORIZONS, Math.max(horizon, HORIZONS[0])],
    ].map(([grid, at]) => between(grid, at));
    const few = Math.min(1, horizon / HORIZONS[0]);
    const found = VALUES.map((name, i) => Math.sinh(read(values[i], axes)) * few);
    found.splice(0, 3, ...found.slice(0, 3).sort((a, b) => a - b)); // beyond the table low, median and high can meet
    return Object.fromEntries(VALUES.map((name, i) => [name, found[i]]));
  }

  /** The points around a value, and how far it is from the first to the second, in their logs. */
  function between(grid, at) {
    const logs = grid.map(Math.log);
    const above = logs.findIndex((point) => point > Math.log(at));
    const place = Math.min(Math.max((above < 0 ? logs.length : above) - 1, 0), logs.length - 2);
    return { count: grid.length, place, share: (Math.log(at) - logs[place]) / (logs[place + 1] - logs[place]) };
  }

  /** A value between the points, one axis after the other. */
  function read(values, axes) {
    return axes.reduce((left, { count, place, share }) => {
      const size = left.length / count;
      const at = (point) => left.slice(point * size, (point + 1) * size);
      const there = at(place + 1);
      return at(place).map((here, i) => mixed(here, there[i], share));
    }, values)[0];
  }

  /** A point of weight 0 does not count, be it infinite. */
  function mixed(here, there, share) {
    if (share === 0) return here;
    if (share === 1) return there;
    return Number.isFinite(here) && Number.isFinite(there) ? here + share * (there - here) : Math.min(here, there);
  }

  /** The numbers behind every sentence of the page. */
  function advise(cell, n, horizon, s) {
    return {
      cell,
      n,
      horizon,
      s,
      critical: cell === "tanh" ? MeanField.criticalScale(s) : Math.SQRT2,
      gated: cell === "gru" || cell === "lstm",
      advised: ADVISED[cell],
      left: Object.fromEntries(Object.keys(TABLE.cells.tables[cell]).map((start) => [start, left(cell, start, n, horizon, s)])),
      tabled: WIDTHS[0] <= n && n <= WIDTHS.at(-1) && HORIZONS[0] <= horizon && horizon <= HORIZONS.at(-1) && s >= INPUT_STDS[0],
    };
  }

  /** What each start leaves after 1 to many steps: what the picture draws. */
  function paths({ cell, n, s, left: starts }, longest) {
    const steps = new Set([1, longest]);
    for (let i = 1; i < 60; i++) steps.add(Math.round(longest ** (i / 60)));
    const times = [...steps].sort((a, b) => a - b);
    return Object.keys(starts).map((start) => ({ start, points: times.map((step) => ({ step, ...left(cell, start, n, step, s) })) }));
  }

  return { advise, left, paths, longest: HORIZONS.at(-1) };
})();
