"use strict";

/* Text into the document. Every number that is shown stands with all its digits in the data-value of its element; energies there are
   natural logs. */

const Dom = (() => {
  const get = (id) => document.getElementById(id);

  /** Text as print has it, with what follows a ^ raised. */
  const rich = (text) =>
    Numbers.typeset(text)
      .split(/\^(−?\d+)/)
      .map((part, i) => (i % 2 ? Object.assign(document.createElement("sup"), { textContent: part }) : part));

  function put(id, text, value) {
    get(id).replaceChildren(...rich(text));
    if (value !== undefined) get(id).dataset.value = value === null ? "" : value;
  }

  function element(name, text = "", className = "") {
    const made = document.createElement(name);
    made.append(...rich(text));
    if (className) made.className = className;
    return made;
  }

  const list = (id, texts) => get(id).replaceChildren(...texts.map((text) => element("li", text)));

  /** Blocks of lines to paste: {title, items}, an item {text}, {text, link} or {label, code}. */
  function paste(blocks) {
    const reached = () => [...get("paste").querySelectorAll("button, a")];
    const place = reached().indexOf(document.activeElement); // Tab from a number comes here before the page follows the number
    get("paste").replaceChildren(
      ...blocks.flatMap(({ title, items }) => [
        element("h2", title),
        ...items.map((item) => (item.code ? codeLine(item) : paragraph(item))),
      ]),
    );
    if (place >= 0) (reached()[place] ?? reached().at(-1)).focus({ preventScroll: true });
  }

  /** A paragraph in which the title of a page of the documentation leads there. */
  function paragraph({ text, link }) {
    if (!link) return element("p", text);
    const [before, after] = text.split(link.title);
    const made = element("p", before);
    made.append(Object.assign(element("a", link.title), { href: link.href }), ...rich(after));
    return made;
  }

  function codeLine({ label, code, of = label }) {
    const block = element("div", "", "code");
    const copy = element("button", "Copy");
    copy.type = "button";
    copy.setAttribute("aria-label", `Copy the lines for ${of}`);
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

  function fail(text) {
    get("failure").textContent = text;
    get("failure").hidden = false;
  }

  return { get, put, element, list, paste, fail };
})();
