"use strict";

/* The picture: energy against step on a log axis, as SVG drawn by hand. Everything is measured in powers of ten. */

const Plot = (() => {
  const HEIGHT = 320;
  const BEYOND = 1.03; // how far the axis goes past the horizon
  const EDGE = 1.6; // the axis shows at least this many powers of ten either way

  function node(name, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (!text.includes("^")) {
      made.textContent = text;
      return made;
    }
    text.split(/\^(−?\d+)/).forEach((part, i) => {
      made.append(i % 2 ? node("tspan", { class: "raised", dy: -5 }, part) : node("tspan", { dy: i ? 5 : 0 }, part));
    });
    return made;
  }

  /** A step of an axis of 1, 2 or 5 times a power of ten. */
  function nice(size) {
    const unit = 10 ** Math.floor(Math.log10(size));
    return [1, 2, 5, 10].find((factor) => factor * unit >= size * 0.999) * unit;
  }

  function ticks(low, high, count) {
    const step = Math.max(1, nice((high - low) / count));
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
    return found;
  }

  /** The steps at which the path is drawn: all of few, else evenly and early ones. */
  function steps(horizon) {
    const found = new Set([0, horizon]);
    for (let i = 1; i <= 32; i++) found.add(Math.round((horizon * i) / 32)).add(Math.round(horizon ** (i / 32)));
    return [...found].sort((a, b) => a - b);
  }

  /** Draw a path of natural logs at scale 1 into an element, with g = e^logG. */
  function draw(element, path, horizon, logG) {
    const width = Math.max(280, element.clientWidth);
    const unit = Math.LN10;
    const points = path.map((one) => {
      const shift = 2 * one.step * logG;
      const scaled = (value) => (value === null ? null : (value + shift) / unit);
      return { step: one.step, low: scaled(one.low), median: scaled(one.median), high: scaled(one.high), mean: scaled(one.mean), infinite: shift / unit };
    });
    const bottom = Math.min(-EDGE, ...points.map((one) => Math.min(one.low, one.infinite)));
    const top = Math.max(EDGE, ...points.map((one) => Math.max(one.high, one.infinite)));
    const margin = 0.08 * (top - bottom);
    const [low, high] = [bottom - margin, top + margin];

    const yTicks = ticks(low, high, 6);
    const label = (exponent) => (Math.abs(exponent) <= 2 ? String(Number((10 ** exponent).toPrecision(1))) : Numbers.typeset(`10^${exponent}`));
    const left = 16 + 6.2 * Math.max(3, ...yTicks.map((tick) => label(tick).length));
    const box = { left, right: width - 10, top: 42, bottom: HEIGHT - 44 };
    const x = (step) => box.left + ((box.right - box.left) * step) / (horizon * BEYOND);
    const y = (value) => box.bottom - ((box.bottom - box.top) * (value - low)) / (high - low);
    const curve = (name) =>
      points
        .filter((one) => one[name] !== null)
        .map((one, i) => `${i ? "L" : "M"}${x(one.step).toFixed(1)} ${Math.max(-9999, y(one[name])).toFixed(1)}`)
        .join("");

    const svg = node("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-labelledby": "caption ends-caption" });
    const add = (name, attributes, text) => svg.appendChild(node(name, attributes, text));
    add("clipPath", { id: "inside" }).appendChild(
      node("rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }),
    );
    add("rect", { class: "corridor", x: box.left, y: y(1), width: box.right - box.left, height: y(-1) - y(1) });
    for (const tick of yTicks) {
      add("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) });
      add("text", { class: "tick", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, label(tick));
    }
    for (const tick of ticks(0, horizon, width < 480 ? 4 : 7)) {
      add("line", { class: "axis", x1: x(tick), x2: x(tick), y1: box.bottom, y2: box.bottom + 5 });
      const half = 3.5 * Numbers.spaced(tick).length;
      add("text", { class: "tick", x: Math.min(x(tick), width - half), y: box.bottom + 18, "text-anchor": "middle" }, Numbers.spaced(tick));
    }
    add("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
    add("text", { class: "name", x: (box.left + box.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "step");

    const inside = add("g", { "clip-path": "url(#inside)" });
    const line = (name, kind) => inside.appendChild(node("path", { class: `line ${kind}`, d: curve(name) }));
    const back = points.slice().reverse().map((one) => `L${x(one.step).toFixed(1)} ${y(one.low).toFixed(1)}`);
    inside.appendChild(node("path", { class: "band", d: curve("high") + back.join("") + "Z" }));
    line("high", "edge");
    line("low", "edge");
    line("infinite", "infinite");
    line("mean", "mean");
    line("median", "median");
    add("line", { class: "horizon", x1: x(horizon), x2: x(horizon), y1: box.top, y2: box.bottom });
    add("text", { class: "name", x: x(horizon), y: 15, "text-anchor": "end" }, `horizon: step ${Numbers.spaced(horizon)}`);
    const out = points.find((one) => one.mean > high);
    if (out) {
      const last = points.findLast((one) => one.mean !== null);
      const text = `↑ average: ${Numbers.typeset(Numbers.factor(last.mean * unit))} at step ${Numbers.spaced(last.step)}`;
      const late = x(out.step) + 190 > box.right;
      add("text", { class: "note", x: late ? box.right : x(out.step), y: box.top - 7, "text-anchor": late ? "end" : "start" }, text);
    }
    element.replaceChildren(svg);
  }

  /** A small sample of a mark, for the legend. */
  function sample(kind) {
    const svg = node("svg", { width: 34, height: 14, "aria-hidden": "true" });
    if (["high", "low", "corridor"].includes(kind)) {
      svg.append(node("rect", { class: kind === "corridor" ? "corridor" : "band", x: 0, y: 0, width: 34, height: 14 }));
      if (kind !== "corridor") svg.append(node("path", { class: "line edge", d: kind === "high" ? "M0 1H34" : "M0 13H34" }));
    } else {
      svg.append(node("path", { class: `line ${kind}`, d: "M0 7H34" }));
    }
    return svg;
  }

  return { draw, node, sample, steps };
})();
