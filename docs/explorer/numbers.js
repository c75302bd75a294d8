"use strict";

/* Numbers as text, digit by digit as the package prints them: signalprop/_numbers.py in JavaScript. Text is as on the terminal,
   sqrt(n) and 10^47, until `typeset` makes of it what print has. */

const Numbers = (() => {
  const TEN = Math.LN10;

  const figures = (text) => text.replace(/e.*/, "").replace(/[-.]/g, "").replace(/^0+/, "");

  /** The number in so many digits, as a number. Halves go to the even side, as in Python; toPrecision takes them away from 0. */
  function inDigits(value, digits) {
    const away = value.toPrecision(digits);
    const half = /^50*$/.test(figures(value.toPrecision(100)).slice(digits)); // a float64 that is a half has fewer than 100
    if (half && /[13579]$/.test(figures(away))) return Number((2 * value - Number(away)).toPrecision(digits));
    return Number(away);
  }

  /** Like Python's %g, of a number that is rounded first; 1000 stays 1000. */
  function short(value, digits) {
    if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf");
    const rounded = inDigits(value, digits);
    return rounded !== 0 && Math.abs(rounded) < 1e-4 ? exponential(rounded) : String(rounded);
  }

  /** Like Python's %g: 1.6e+02 in two digits. */
  function general(value, digits) {
    const rounded = Number.isFinite(value) ? inDigits(value, digits) : value;
    return Math.abs(rounded) >= 10 ** digits && Number.isFinite(value) ? exponential(rounded) : short(value, digits);
  }

  /** 1e-05, where JavaScript has 1e-5. */
  const exponential = (value) => value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");

  function power(value) {
    const [digit, exponent] = value.toExponential(0).split("e");
    return `${digit}*10^${Number(exponent)}`;
  }

  /** A factor given by its natural log: 0.72x, 31x, 4*10^5, 10^47. */
  function factor(log) {
    if (Math.abs(log) < 0.7) return `${Math.exp(log).toFixed(2)}x`;
    if (Math.abs(log) < 3 * TEN) return `${short(Math.exp(log), 2)}x`;
    return Math.abs(log) > 10 * TEN ? `10^${Math.round(log / TEN)}` : power(Math.exp(log));
  }

  /** A non-negative number in so many digits: 88.4, 12 000, 4*10^-9. */
  function number(value, digits = 3) {
    if (value === 0) return "0";
    if (value < 0.001 || value >= 1e15) return power(value);
    return inDigits(value, digits) >= 10 ** digits ? rounded(Math.round(value)) : short(value, digits);
  }

  const spaced = (whole) => String(whole).replace(/\B(?=(\d{3})+$)/g, " ");

  /** Two digits of a large number, three digits apart; small ones as they are. Halves go to the even side. */
  function rounded(value) {
    if (value < 1000) return String(value);
    const unit = 10 ** (String(value).length - 2);
    const below = Math.floor(value / unit);
    const rest = value / unit - below;
    const up = rest > 0.5 || (rest === 0.5 && below % 2 === 1);
    return spaced((below + (up ? 1 : 0)) * unit);
  }

  const plural = (count, text) => `${text} step${count === 1 ? "" : "s"}`;
  const steps = (count) => plural(count, count >= 1e7 ? rounded(count) : count);

  /** A sentence or lines to paste with what stands in braces filled in. */
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  /** Text of the terminal as print has it: √n, 31×, 4·10^5, minus signs, spaces that do not break a number. */
  const typeset = (text) =>
    text
      .replace(/sqrt\(((?:[^()]|\([^()]*\))+)\)/g, (_, inside) => (/^(\d+|[a-z])$/.test(inside) ? `√${inside}` : `√(${inside})`))
      .replace(/(\d)x(?=[\s,.;:)]|$)/g, "$1×")
      .replace(/\*10\^/g, "·10^")
      .replace(/\^-/g, "^−")
      .replace(/ \.\. /g, " to ")
      .replace(/\bchi\b/g, "χ")
      .replace(/(\d) (?=%|\d{3}\b)/g, "$1\u00a0")
      .replace(/<- /g, "← ");

  return { short, general, power, factor, number, spaced, rounded, plural, steps, filled, typeset };
})();
