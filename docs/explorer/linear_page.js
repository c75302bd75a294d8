"use strict";

/* The page of a linear layer: numbers of Advice and sentences of Words into the document. */

const LinearPage = (() => {
  const { get, put, element, list, paste } = Dom;
  const { short, factor, spaced } = Numbers;
  const LARGEST = 1e6;
  const TITLES = { glorot: "Glorot", quantile: "safe scale (quantile)" };

  /** Show the answer for these settings; returns how to draw its picture. */
  function render(state) {
    const { n, T, field } = state;
    const advice = Advice.advise(n, T, field);
    const g = { glorot: 1, safe: advice.safe }[state.g] ?? state.g;
    controls(advice, state, g);
    answer(advice);
    ends(advice, state, g);
    blocks(advice, state, g);
    details(advice, state, g);
    const path = Advice.path(n, T, field, Plot.steps(T));
    return (element) => Plot.draw(element, path, T, Math.log(g));
  }

  function controls(advice, state, g) {
    get("g-slider").value = g;
    get("g-slider").setAttribute("aria-valuetext", short(g, 4));
    if (document.activeElement !== get("g")) get("g").value = short(g, 6);
    get("g").dataset.value = g;
    for (const kind of ["glorot", "safe"]) get(`g-${kind}`).setAttribute("aria-pressed", String(state.g === kind));
    document.querySelector(`input[name=field][value=${state.field}]`).checked = true;
    put("safe", short(advice.safe, 4), advice.safe);
    [get("safe").dataset.low, get("safe").dataset.high] = advice.safeInterval;
  }

  function answer(advice) {
    const page = Words.page(advice);
    put("answer", page.answer, advice.verdict);
    put("regime", `${Words.regime(advice)} ${page.cells}`.trim(), advice.regime);
    list("reasons", page.why);
  }

  function ends(advice, state, g) {
    const { horizon } = advice;
    const shift = 2 * horizon * Math.log(g);
    const energy = advice.energy(Math.log(g));
    const named = state.g === "glorot" ? "Glorot weights (g\u00a0=\u00a01)" : state.g === "safe" ? `the safe scale, g\u00a0=\u00a0${short(g, 4)}` : `g\u00a0=\u00a0${short(g, 6)}`;
    put("caption", `Energy (squared length) of the signal, relative to its start, with ${named}`);
    put("ends-caption", `At step ${horizon}, with ${named}`);
    for (const key of ["low", "median", "high"]) put(key, factor(energy[key]), energy[key]);
    const mean = advice.logMean === null ? null : advice.logMean + shift;
    put("mean", mean === null ? "not known" : factor(mean), mean);
    put("infinite", factor(shift), shift);
    put("exploding", Words.percent(advice, g), advice.exploding(g)[0]);
  }

  function blocks(advice, state, g) {
    const found = Words.page(advice).paste;
    if (typeof state.g === "number") found.push({ title: "The scale set above", items: Words.fixed(advice, g) });
    paste(found);
  }

  function details(advice, state, g) {
    const { n, field, horizon } = advice;
    const values = { glorot: 1, quantile: advice.safe, bounded: advice.bounded, minimax: advice.minimax, edge: advice.edge };
    const rows = Object.entries(TABLE.words.guarantees).map(([name, promise]) => [name, TITLES[name] ?? name, values[name], promise]);
    if (typeof state.g === "number") rows.push(["own", "set above", g, "see the picture"]);
    get("scales").tBodies[0].replaceChildren(
      ...rows
        .filter(([, , value]) => value !== null)
        .map(([name, title, value, promise]) => {
          const row = element("tr");
          row.id = `scale-${name}`;
          row.dataset.value = value;
          const head = element("th", title);
          head.scope = "row";
          head.append(element("small", promise));
          const left = advice.energy(Math.log(value)).median;
          const cells = {
            g: value.toFixed(4),
            "std of an entry": short(value / Math.sqrt(n), 3),
            "pass 10×": Words.percent(advice, value),
            "energy left": factor(left),
          };
          row.append(head);
          for (const [key, text] of Object.entries(cells)) row.appendChild(element("td", text)).dataset.label = key;
          return row;
        }),
    );
    list("points", [...Words.details(advice), Words.status(advice)]);
    const reach = Energy.reach(n, field);
    const beyond = {
      real: `Past step ${spaced(reach)}, for this width, the average comes from a two-term law instead of the exact sum; it is at most 1.8 % too low there.`,
      quaternion: `For this width the average of quaternion weights is summed only up to step ${spaced(reach)}.`,
    };
    put("method-mean", `The average over draws: exact sums in double precision. ${reach < LARGEST ? beyond[field] : ""}`, advice.exact);
    put("range", `Width and horizon go from 1 to ${spaced(LARGEST)} here.`);
    const option = field === "real" ? "" : ` --field ${field}`;
    put("command", `signalprop scale -n ${n} -T ${horizon}${option}`);
    put("driven", `signalprop scale -n ${n} -T ${horizon}${option} --model driven --criterion quantile`);
    for (const [key, value] of Object.entries({
      budget: advice.budget,
      meanBudget: advice.meanBudget,
      widthNeeded: advice.widthNeeded,
      heldShare: advice.heldShare,
      heldScale: advice.heldScale,
    })) {
      get("details").dataset[key] = value;
    }
  }

  return { render };
})();
