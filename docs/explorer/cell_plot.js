"use strict";

/* The picture of a cell: natural log of what is left of a gradient's energy against the steps it is carried back, by start. Steps on a
   log axis; energies linear up to five either way and logarithmic beyond, as in _cell_picture.py. */

const CellPlot = (() => {
  const HEIGHT = 340;
  const LINEAR = 5;
  const APART = 19; // pixels between two labels of the upright axis
  const TICKS = [0, 5, 100, 1000, 10, 1e4, 1e5, 30, 300, 3000, 2, 1]; // those that matter most come first

  const bent = (value) => Math.sign(value) * (Math.abs(value) <= LINEAR ? Math.abs(value) / LINEAR : 1 + 0.9 * Math.log10(Math.abs(value) / LINEAR));

  /** Draw paths, each {start, points: [{step, low, median, high}]}, into an element. */
  function draw(element, paths, horizon, advised) {
    const width = Math.max(280, element.clientWidth);
    const points = paths.flatMap((path) => path.points);
    const longest = points.at(-1).step;
    const alive = points.flatMap((one) => [one.low, one.median, one.high]).filter(Number.isFinite).map(bent);
    const [bottom, top] = [Math.min(-1, ...alive), Math.max(0.4, ...alive)];
    const margin = 0.05 * (top - bottom);
    const box = { left: 62, right: width - 10, top: 46, bottom: HEIGHT - 44 };
    const x = (step) => box.left + ((box.right - box.left) * Math.log(step)) / Math.log(longest);
    const y = (value) => {
      const place = Number.isFinite(value) ? bent(value) : bottom - 2 * margin; // what died leaves the picture
      return box.bottom - ((box.bottom - box.top) * (place - bottom + margin)) / (top - bottom + 2 * margin);
    };
    const at = (step, value) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`;

    const svg = Plot.node("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-labelledby": "caption starts-caption" });
    const add = (name, attributes, text) => svg.appendChild(Plot.node(name, attributes, text));
    add("clipPath", { id: "inside" }).appendChild(
      Plot.node("rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }),
    );
    for (const tick of ticks(y, box)) {
      add("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) });
      add("text", { class: "tick", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, label(tick));
    }
    for (let tick = 1; tick <= longest; tick *= 10) {
      add("line", { class: "axis", x1: x(tick), x2: x(tick), y1: box.bottom, y2: box.bottom + 5 });
      const text = label(tick);
      const half = 3.5 * text.length;
      add("text", { class: "tick", x: Math.min(x(tick), width - half), y: box.bottom + 18, "text-anchor": "middle" }, text);
    }
    add("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
    add("text", { class: "name", x: (box.left + box.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "steps that the gradient is carried back");
    add("text", { class: "name", x: 4, y: 15 }, "natural log of the energy that is left");

    const inside = add("g", { "clip-path": "url(#inside)" });
    const lines = (path, name) => path.points.map((one, i) => `${i ? "L" : "M"}${at(one.step, one[name])}`).join("");
    for (const [place, path] of paths.entries()) {
      const back = path.points.slice().reverse().map((one) => `L${at(one.step, one.low)}`);
      inside.appendChild(Plot.node("path", { class: `spread start-${place}`, d: `${lines(path, "high")}${back.join("")}Z` }));
    }
    for (const [place, path] of paths.entries()) {
      inside.appendChild(Plot.node("path", { class: `${path.start === advised ? "advised " : ""}line start-${place}`, d: lines(path, "median") }));
    }
    add("line", { class: "horizon", x1: x(horizon), x2: x(horizon), y1: box.top, y2: box.bottom });
    const text = `horizon: ${Numbers.plural(horizon, Numbers.spaced(horizon))}`;
    const room = 6.2 * text.length;
    const middle = Math.min(Math.max(x(horizon), box.left + room / 2), box.right - room / 2);
    add("text", { class: "name", x: middle, y: box.top - 8, "text-anchor": "middle" }, text);
    element.replaceChildren(svg);
  }

  const label = (value) => (value < 0 ? "−" : "") + Numbers.spaced(Math.abs(value)).replaceAll(" ", "\u00a0");

  /** Round values, those that matter least left out where there is no room. */
  function ticks(y, box) {
    const kept = [];
    for (const value of TICKS.flatMap((one) => (one ? [-one, one] : [0]))) {
      const inside = y(value) <= box.bottom && y(value) >= box.top;
      if (inside && kept.every((other) => Math.abs(y(other) - y(value)) >= APART)) kept.push(value);
    }
    return kept;
  }

  /** A small sample of a line, for the legend. */
  function sample(place, advised) {
    const svg = Plot.node("svg", { width: 34, height: 14, "aria-hidden": "true" });
    svg.append(Plot.node("path", { class: `${advised ? "advised " : ""}line start-${place}`, d: "M0 7H34" }));
    return svg;
  }

  return { draw, sample };
})();
