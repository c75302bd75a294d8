"use strict";

/* The page: settings from the controls and the address; LinearPage or CellPage shows what they ask for. */

(() => {
  const { get, put, fail } = Dom;
  const LARGEST = 1e6;
  const LONGEST = 1e5; // steps of cells, as in the package
  const SCALES = [0.01, 10];
  const INPUTS = [0.001, 3];
  const FIELDS = ["real", "complex", "quaternion"];
  const CELLS = ["linear", "tanh", "relu", "gru", "lstm"];
  const state = { cell: "linear", n: 512, T: 2000, field: "real", g: "glorot", s: 1 }; // g: "glorot", "safe" or a number

  // Sliders run over round numbers: quarters of octaves for the width, two digits in steps of 10^(1/20) for the horizon.
  const distinct = (values) => [...new Set(values)].filter((value) => value <= LARGEST);
  const range = (count) => Array.from({ length: count }, (_, i) => i);
  const twoDigits = (value) => Number(value.toPrecision(2));
  const STOPS = {
    n: distinct([...range(80).map((i) => (1 + (i % 4) / 4) * 2 ** Math.floor(i / 4)), LARGEST]).filter(Number.isInteger),
    T: distinct(range(121).map((i) => Math.round(twoDigits(10 ** (i / 20))))),
    s: [...range(20).map((i) => i / 20), ...range(21).map((i) => 1 + i / 10)].map((value) => Number(value.toFixed(2))),
  };
  const UNITS = { n: "units", T: "steps", s: "added to a preactivation" };

  // ---- settings ----

  const linear = () => state.cell === "linear";
  const longest = () => (linear() ? LARGEST : LONGEST);
  const spaced = (value) => Numbers.spaced(value).replaceAll(" ", "\u00a0");

  function whole(text, most) {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new RangeError(`It must be a whole number from 1 to ${spaced(most)}.`);
  }

  function scale(text) {
    const value = Number(text);
    if (value >= SCALES[0] && value <= SCALES[1]) return value;
    throw new RangeError(`It must be a number from ${SCALES[0]} to ${SCALES[1]}.`);
  }

  function input(text) {
    const value = Number(text);
    if (text.trim() !== "" && (value === 0 || (value >= INPUTS[0] && value <= INPUTS[1]))) return value;
    throw new RangeError(`It must be 0, or a number from ${INPUTS[0]} to ${INPUTS[1]}.`);
  }

  // In the order in which they are asked: how long a horizon may be depends on the cell.
  const READ = {
    cell: (text) => (CELLS.includes(text) ? text : state.cell),
    n: (text) => whole(text, LARGEST),
    T: (text) => whole(text, longest()),
    g: (text) => (["glorot", "safe"].includes(text) ? text : scale(text)),
    field: (text) => (FIELDS.includes(text) ? text : state.field),
    s: input,
  };

  const address = () => `#cell=${state.cell}&n=${state.n}&T=${state.T}&${linear() ? `field=${state.field}&g=${state.g}` : `s=${state.s}`}`;

  /** Take over what the address says; what it does not say, or says wrongly, stays as it is. */
  function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const key of Object.keys(READ).filter((key) => given.has(key))) {
      try {
        state[key] = READ[key](given.get(key));
      } catch (error) {
        message(key, error.message);
      }
    }
    shorten();
  }

  /** A horizon that the cell cannot have becomes its longest. */
  function shorten() {
    if (state.T <= longest()) return;
    state.T = longest();
    message("T", `A horizon of this layer goes up to ${spaced(state.T)} steps.`);
  }

  function message(key, text) {
    if (["field", "cell"].includes(key)) return;
    get(`${key}-message`).textContent = text && `${text} Shown: ${key === "g" ? get("g").dataset.value ?? 1 : state[key]}.`;
    get(`${key}-help`).hidden = text !== "";
    get(key).setAttribute("aria-invalid", String(text !== ""));
  }

  /** Let an event change the settings; a value that cannot be used is named under its field and changes nothing. */
  function change(key, text) {
    try {
      state[key] = READ[key](text);
      message(key, "");
      if (key === "cell") message("T", "");
      shorten();
      request();
    } catch (error) {
      message(key, error.message);
    }
  }

  function connect() {
    for (const key of Object.keys(STOPS)) {
      const slider = get(`${key}-slider`);
      slider.max = STOPS[key].length - 1;
      slider.addEventListener("input", () => change(key, String(STOPS[key][slider.value])));
    }
    get("g-slider").addEventListener("input", () => change("g", get("g-slider").value));
    for (const key of ["n", "T", "g", "s"]) {
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
    for (const radio of document.querySelectorAll("input[type=radio]")) {
      radio.addEventListener("change", () => change(radio.name, radio.value));
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
  let picture = () => {}; // draws into an element

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
    const kind = linear() ? "linear" : "cells";
    document.documentElement.dataset.kind = kind;
    for (const part of document.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== kind;
    controls();
    picture = (linear() ? LinearPage : CellPage).render(state);
    draw();
    document.documentElement.dataset.shown = address();
    clearTimeout(addressTimer); // browsers allow only so many changes per second
    addressTimer = setTimeout(() => history.replaceState(null, "", address()), 200);
  }

  const draw = () => picture(get("plot"));

  function controls() {
    document.querySelector(`input[name=cell][value=${state.cell}]`).checked = true;
    get("T-help").textContent = `steps ${linear() ? "the signal should survive" : "over which a gradient should last"}; from 1 to ${spaced(longest())}`;
    get("T").max = longest();
    get("T-slider").max = STOPS.T.findLastIndex((stop) => stop <= longest());
    for (const [key, stops] of Object.entries(STOPS)) {
      get(`${key}-slider`).value = nearest(stops, state[key]);
      get(`${key}-slider`).setAttribute("aria-valuetext", `${state[key]} ${UNITS[key]}`);
      if (document.activeElement !== get(key)) get(key).value = state[key];
      get(key).dataset.value = state[key];
    }
  }

  /** The place of the nearest stop: by its ratio, or by its distance where the stops begin at 0. */
  function nearest(stops, value) {
    const next = stops.findIndex((stop) => stop >= value);
    if (next <= 0) return next;
    const [below, above] = [stops[next - 1], stops[next]];
    return (stops[0] ? above / value > value / below : above - value > value - below) ? next - 1 : next;
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
