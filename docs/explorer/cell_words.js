"use strict";

/* When the page of a cell says which sentence, with which numbers: signalprop/initialization/_cell_text.py in JavaScript, for the
   numbers of Cells.advise. The sentences and the lines to paste themselves are those of the package (TABLE.cells.words). */

const CellWords = (() => {
  const { short, general, factor, number, steps, filled } = Numbers;
  const { sentences, code, alone, names, start_names: STARTS, titles: TITLES, gates: GATES, trained: TRAINED, near_one: NEAR_ONE } = TABLE.cells.words;
  const FADED = TABLE.cells.words.faded;
  const ELSEWHERE = "choose it above";

  const sentence = (name, values = {}) => filled(sentences[name], values);

  /** What is left of an energy, given by its natural log; nothing where it died. */
  const left = (log) => (Number.isFinite(log) ? factor(log) : "nothing");
  const medians = (advice) => Object.fromEntries(Object.entries(advice.left).map(([start, one]) => [start, left(one.median)]));
  const shift = ({ horizon, s }) => MeanField.biasShift(horizon, s);

  /** The page in its order; a block is {title, items}, an item {text} or {label, code}. */
  function page(advice) {
    return {
      head: sentence("head", { layer: names[advice.cell], n: advice.n, steps: steps(advice.horizon), s: number(advice.s) }),
      answer: answer(advice),
      outside: advice.tabled ? "" : sentence("outside"),
      why: why(advice),
      paste: paste(advice),
      trained: trained(advice),
      columns: sentence("columns", { steps: steps(advice.horizon) }),
      titles: TITLES,
      rows: Object.entries(advice.left).map(([start, one]) => ({ start, name: name(advice, start), ...row(one) })),
      details: details(advice),
      status: advice.tabled ? status(advice.left[advice.advised]) : sentence("status_outside"),
      command: `signalprop scale --cell ${advice.cell} -n ${advice.n} -T ${advice.horizon} --input-std ${short(advice.s, 6)}`,
    };
  }

  const status = ({ median, error }) =>
    Number.isFinite(median) ? sentence("status", { error: general(error, 2) }) : sentence("status_nothing");

  function answer(advice) {
    const [byDefault, advised] = ["default", advice.advised].map((start) => advice.left[start].median);
    const values = { steps: steps(advice.horizon), default: left(byDefault), advised: left(advised) };
    if (advice.gated) return sentence(byDefault < -Math.LN10 && advice.horizon >= TABLE.cells.horizons[0] ? "gates" : "gates_last", values);
    const start = sentence(advice.advised);
    if (advised < FADED && advice.tabled) {
      return sentence(`faded_${advice.cell}`, { ...values, start: start[0].toUpperCase() + start.slice(1), s: number(advice.s) });
    }
    return sentence(byDefault < -Math.LN10 ? "plain" : "lasts", { ...values, start });
  }

  const why = (advice) => [...reasons(advice), otherInputs(advice), sentence("flows")];

  function reasons(advice) {
    const { cell, n, horizon, s } = advice;
    const found = medians(advice);
    const chosen = advice.left[advice.advised];
    const spread = sentence("spread", { low: left(chosen.low), high: left(chosen.high) });
    if (advice.gated) {
      const memories = sentence(horizon > 2 ? "memories" : "memories_short", {
        gate: GATES[cell],
        before: horizon - 1,
        steps: steps(horizon),
        s: number(s),
        shift: short(shift(advice), 2),
      });
      const values = { orthogonal: found["orthogonal chrono"], gaussian: found["gaussian chrono"], biases: found.biases };
      return [sentence("half", { glorot: found.glorot }), memories, spread, sentence("kernel", values)];
    }
    if (cell === "relu") {
      const wide = advice.left["gaussian critical"];
      return [sentence("relu", { low: left(wide.low), high: left(wide.high) }), spread];
    }
    const held = advice.left["orthogonal critical"];
    const values = { g: short(advice.critical, 4), critical: left(held.median), low: left(held.low), high: left(held.high) };
    const points = [sentence("slope", { glorot: found.glorot, orthogonal: found.orthogonal }), spread, sentence("critical", values)];
    if (s < TABLE.cells.words.weak) return points;
    const reach = MeanField.crossoverHorizon(n, s);
    return [...points, sentence("order", { reach: number(reach, 2) })];
  }

  /** What the advised start does for smaller and larger inputs. */
  function otherInputs({ cell, n, horizon, s, advised }) {
    if (cell === "relu") return sentence("any_inputs");
    const stds = TABLE.cells.input_stds.filter((std) => Math.abs(std - s) > 1e-9 * Math.max(std, s));
    const medians = stds.map((std) => Cells.left(cell, advised, n, horizon, std).median);
    return sentence(cell === "tanh" ? "other_sizes" : "other_inputs", { sizes: listed(stds.map((std) => number(std))), parts: listed(medians.map(left)) });
  }

  const listed = (words) => `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

  function paste(advice) {
    const { cell, n, horizon, s } = advice;
    const values = { n, horizon, s: short(s, 6), odds: Math.max(horizon - 1, 1), shift: short(shift(advice), 3) };
    const lines = (from, label) => ({ label: "PyTorch", of: label, code: filled(from[cell], values) });
    const elsewhere = advice.gated ? [{ text: sentence("elsewhere") }] : [];
    return [
      { title: sentence("paste"), items: [lines(code, "PyTorch"), { text: sentence(advice.gated ? "size_gates" : "size_plain", { s: number(s) }) }] },
      { title: sentence("paste_alone"), items: [lines(alone, "PyTorch, without this package"), ...elsewhere] },
    ];
  }

  /** What trainings showed, where they were made; and what the page does not know. */
  function trained({ cell, n, horizon, s }) {
    const within = (value, [least, most]) => least <= value && value <= most;
    const near = TRAINED[cell].filter((one) => within(n, one.widths) && within(horizon, one.horizons));
    const told = near.map((one) => (s >= NEAR_ONE ? one.above : one.below));
    if (told.length) return told;
    return [TRAINED[cell].length ? sentence("untrained") : sentence("untrained_cell", { layer: names[cell] })];
  }

  /** The points under the table; the picture is on the page itself. */
  function details(advice) {
    const linear = sentence("linear", { command: ELSEWHERE });
    return [linear];
  }

  function name(advice, start) {
    const words = filled(STARTS[start], { g: short(advice.critical, 4) });
    return start === advice.advised ? `${words} (advised)` : words;
  }

  const row = ({ low, median, high }) => ({ median: left(median), range: `${left(low)} .. ${left(high)}` });

  return { page, names };
})();
