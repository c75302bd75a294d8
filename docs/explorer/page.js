"use strict";

/* The page: settings from the controls and the address, numbers into the document. Every number that is shown stands with all its
   digits in the data-value of its element; energies there are natural logs. */

(() => {
  const LARGEST = 1e6;
  const SCALES = [0.01, 10];
  const FIELDS = ["real", "complex", "quaternion"];
  const get = (id) => document.getElementById(id);
  const state = { n: 512, T: 2000, field: "real", g: "glorot" }; // g: "glorot", "safe" or a number

  // Sliders run over round numbers: quarters of octaves for the width, two digits in steps of 10^(1/20) for the horizon.
  const distinct = (values) => [...new Set(values)].filter((value) => value <= LARGEST);
  const range = (count) => Array.from({ length: count }, (_, i) => i);
  const twoDigits = (value) => Number(value.toPrecision(2));
  const STOPS = {
    n: distinct([...range(80).map((i) => (1 + (i % 4) / 4) * 2 ** Math.floor(i / 4)), LARGEST]).filter(Number.isInteger),
    T: distinct(range(121).map((i) => Math.round(twoDigits(10 ** (i / 20))))),
  };

  // ---- settings ----

  function whole(text) {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= LARGEST) return value;
    throw new RangeError("It must be a whole number from 1 to 1\u00a0000\u00a0000.");
  }

  function scale(text) {
    const value = Number(text);
    if (value >= SCALES[0] && value <= SCALES[1]) return value;
    throw new RangeError(`It must be a number from ${SCALES[0]} to ${SCALES[1]}.`);
  }

  const READ = {
    n: whole,
    T: whole,
    g: (text) => (["glorot", "safe"].includes(text) ? text : scale(text)),
    field: (text) => (FIELDS.includes(text) ? text : state.field),
  };

  const address = () => `#n=${state.n}&T=${state.T}&field=${state.field}&g=${state.g}`;

  /** Take over what the address says; what it does not say, or says wrongly, stays as it is. */
  function readAddress() {
    for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
      try {
        if (Object.hasOwn(READ, key)) state[key] = READ[key](text);
      } catch (error) {
        message(key, error.message);
      }
    }
  }

  function message(key, text) {
    if (key === "field") return;
    get(`${key}-message`).textContent = text && `${text} Shown: ${key === "g" ? get("g").dataset.value ?? 1 : state[key]}.`;
    get(`${key}-help`).hidden = text !== "";
    get(key).setAttribute("aria-invalid", String(text !== ""));
  }

  /** Let an event change the settings; a value that cannot be used is named under its field and changes nothing. */
  function change(key, text) {
    try {
      state[key] = READ[key](text);
      message(key, "");
      request();
    } catch (error) {
      message(key, error.message);
    }
  }

  function connect() {
    for (const key of ["n", "T"]) {
      const slider = get(`${key}-slider`);
      slider.max = STOPS[key].length - 1;
      slider.addEventListener("input", () => change(key, String(STOPS[key][slider.value])));
    }
    get("g-slider").addEventListener("input", () => change("g", get("g-slider").value));
    for (const key of ["n", "T", "g"]) {
      let typing = 0;
      const take = () => {
        clearTimeout(typing);
        change(key, get(key).value);
      };
      get(key).addEventListener("input", () => {
        clearTimeout(typing);
        typing = setTimeout(take, 250); // a number is typed digit by digit
      });
      get(key).addEventListener("change", take);
      get(key).addEventListener("blur", () => {
        message(key, "");
        request();
      });
    }
    for (const radio of document.querySelectorAll("input[name=field]")) {
      radio.addEventListener("change", () => change("field", radio.value));
    }
    for (const kind of ["glorot", "safe"]) get(`g-${kind}`).addEventListener("click", () => change("g", kind));
    get("controls").addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => {
      if (location.hash === address()) return;
      readAddress();
      request();
    });
    new ResizeObserver(() => draw()).observe(get("plot"));
  }

  // ---- the document ----

  let waiting = false;
  let shown = null; // what the picture is drawn from

  /** Render once before the next frame, however many events come in. */
  function request() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      render();
    });
  }

  let addressTimer = 0;

  function render() {
    const { n, T, field } = state;
    const advice = Advice.advise(n, T, field);
    const g = { glorot: 1, safe: advice.safe }[state.g] ?? state.g;
    controls(advice, g);
    answer(advice);
    ends(advice, g);
    paste(advice, g);
    details(advice, g);
    shown = { path: Advice.path(n, T, field, Plot.steps(T)), T, logG: Math.log(g) };
    draw();
    document.documentElement.dataset.shown = address();
    clearTimeout(addressTimer); // browsers allow only so many changes per second
    addressTimer = setTimeout(() => history.replaceState(null, "", address()), 200);
  }

  function draw() {
    if (shown) Plot.draw(get("plot"), shown.path, shown.T, shown.logG);
  }

  /** Text as print has it, with what follows a ^ raised. */
  const rich = (text) =>
    Words.typeset(text)
      .split(/\^(−?\d+)/)
      .map((part, i) => (i % 2 ? Object.assign(document.createElement("sup"), { textContent: part }) : part));

  function put(id, text, value) {
    get(id).replaceChildren(...rich(text));
    if (value !== undefined) get(id).dataset.value = value === null ? "" : value;
  }

  function controls(advice, g) {
    for (const key of ["n", "T"]) {
      const stops = STOPS[key];
      const next = stops.findIndex((stop) => stop >= state[key]);
      const nearest = next > 0 && stops[next] / state[key] > state[key] / stops[next - 1] ? next - 1 : next;
      get(`${key}-slider`).value = nearest;
      get(`${key}-slider`).setAttribute("aria-valuetext", `${state[key]} ${key === "T" ? "steps" : "units"}`);
    }
    get("g-slider").value = g;
    get("g-slider").setAttribute("aria-valuetext", Words.short(g, 4));
    for (const [key, text] of Object.entries({ n: state.n, T: state.T, g: Words.short(g, 6) })) {
      if (document.activeElement !== get(key)) get(key).value = text;
    }
    get("n").dataset.value = state.n;
    get("T").dataset.value = state.T;
    get("g").dataset.value = g;
    for (const kind of ["glorot", "safe"]) get(`g-${kind}`).setAttribute("aria-pressed", String(state.g === kind));
    document.querySelector(`input[name=field][value=${state.field}]`).checked = true;
    put("safe", Words.short(advice.safe, 4), advice.safe);
    [get("safe").dataset.low, get("safe").dataset.high] = advice.safeInterval;
  }

  function answer(advice) {
    const page = Words.page(advice);
    put("answer", page.answer, advice.verdict);
    put("regime", `${Words.regime(advice)} ${page.cells}`.trim(), advice.regime);
    get("reasons").replaceChildren(...page.why.map((text) => element("li", text)));
  }

  function ends(advice, g) {
    const { horizon } = advice;
    const shift = 2 * horizon * Math.log(g);
    const energy = advice.energy(Math.log(g));
    const named = state.g === "glorot" ? "Glorot weights (g\u00a0=\u00a01)" : state.g === "safe" ? `the safe scale, g\u00a0=\u00a0${Words.short(g, 4)}` : `g\u00a0=\u00a0${Words.short(g, 6)}`;
    put("caption", `Energy (squared length) of the signal, relative to its start, with ${named}`);
    put("ends-caption", `At step ${horizon}, with ${named}`);
    for (const key of ["low", "median", "high"]) put(key, Words.factor(energy[key]), energy[key]);
    const mean = advice.logMean === null ? null : advice.logMean + shift;
    put("mean", mean === null ? "not known" : Words.factor(mean), mean);
    put("infinite", Words.factor(shift), shift);
    put("exploding", Words.percent(advice, g), advice.exploding(g)[0]);
  }

  function paste(advice, g) {
    const blocks = Words.page(advice).paste;
    if (typeof state.g === "number") blocks.push({ title: "The scale set above", items: Words.fixed(advice, g) });
    get("paste").replaceChildren(
      ...blocks.flatMap(({ title, items }) => [
        element("h2", title),
        ...items.map(({ text, label, code }) => (text ? element("p", text) : codeLine(label, code))),
      ]),
    );
  }

  function codeLine(label, code) {
    const block = element("div", "", "code");
    const copy = element("button", "Copy");
    copy.type = "button";
    copy.setAttribute("aria-label", `Copy the lines for ${label}`);
    const pre = Object.assign(document.createElement("pre"), { textContent: code });
    copy.addEventListener("click", () => {
      getSelection().selectAllChildren(pre);
      const done = () => {
        copy.textContent = "Copied";
        setTimeout(() => (copy.textContent = "Copy"), 1500);
      };
      // Without leave to write to the clipboard the lines stay selected.
      navigator.clipboard?.writeText(code).then(done, () => {});
    });
    block.append(element("span", label, "label"), pre, copy);
    return block;
  }

  function details(advice, g) {
    const { n, field, horizon } = advice;
    const rows = [
      ["glorot", "Glorot", 1],
      ["quantile", "safe scale (quantile)", advice.safe],
      ["bounded", "bounded", advice.bounded],
      ["minimax", "minimax", advice.minimax],
      ["edge", "edge", advice.edge],
    ].map((row) => [...row, TABLE.words.guarantees[row[0]]]);
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
            "std of an entry": Words.short(value / Math.sqrt(n), 3),
            "pass 10×": Words.percent(advice, value),
            "energy left": Words.factor(left),
          };
          row.append(head);
          for (const [key, text] of Object.entries(cells)) row.appendChild(element("td", text)).dataset.label = key;
          return row;
        }),
    );
    get("points").replaceChildren(...[...Words.details(advice), Words.status(advice)].map((text) => element("li", text)));
    const reach = Energy.reach(n, field);
    const beyond = {
      real: `Past step ${Words.spaced(reach)}, for this width, the average comes from a two-term law instead of the exact sum; it is at most 1.8 % too low there.`,
      quaternion: `For this width the average of quaternion weights is summed only up to step ${Words.spaced(reach)}.`,
    };
    put("method-mean", `The average over draws: exact sums in double precision. ${reach < LARGEST ? beyond[field] : ""}`, advice.exact);
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

  function element(name, text = "", className = "") {
    const made = document.createElement(name);
    made.append(...rich(text));
    if (className) made.className = className;
    return made;
  }

  function fail(text) {
    get("failure").textContent = text;
    get("failure").hidden = false;
  }

  if (typeof TABLE === "undefined") {
    fail("The data of this page are missing: run python docs/explorer/make_data.py, which writes data.js, and load it again.");
    return;
  }
  addEventListener("error", (event) => fail(`This view could not be computed (${event.message}). Please report its address.`));
  put("version", TABLE.version);
  for (const mark of document.querySelectorAll("[data-mark]")) mark.append(Plot.sample(mark.dataset.mark));
  readAddress();
  connect();
  render();
})();
