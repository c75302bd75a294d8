"use strict";

/* The page of a tanh, ReLU, GRU or LSTM layer: numbers of Cells and sentences of CellWords into the document. */

const CellPage = (() => {
  const { get, put, element, list, paste } = Dom;
  const GUIDE = { title: "Start a recurrent layer", href: "../guides/cells.html" };

  /** Show the answer for these settings; returns how to draw its picture. */
  function render({ cell, n, T, s }) {
    const advice = Cells.advise(cell, n, T, s);
    const page = CellWords.page(advice);
    put("answer", `${page.answer} ${page.outside}`.trim(), advice.advised);
    put("caption", page.head);
    list("reasons", page.why);
    paste(page.paste.map((block) => ({ ...block, items: block.items.map(linked) })));
    list("trained", page.trained);
    starts(advice, page);
    list("points", [...page.details, page.status]);
    put("command", page.command);
    put("range", "Width goes from 1 to 1 000 000 here, the horizon from 1 to 100 000.");
    const paths = Cells.paths(advice, Math.max(T, Cells.longest));
    return (element) => CellPlot.draw(element, paths, T, advice.advised);
  }

  const linked = (item) => (item.text?.includes(GUIDE.title) ? { ...item, link: GUIDE } : item);

  /** The table under the picture: its legend, and what is left at the horizon. */
  function starts(advice, page) {
    put("starts-caption", page.columns);
    const table = get("starts");
    table.tHead.rows[0].replaceChildren(
      element("td"),
      ...page.titles.map((title) => Object.assign(element("th", title), { scope: "col" })),
    );
    table.tBodies[0].replaceChildren(
      ...page.rows.map(({ start, name, median, range }, place) => {
        const row = element("tr", "", start === advice.advised ? "advised" : "");
        row.dataset.start = start;
        const mark = element("td");
        mark.dataset.mark = start;
        mark.append(CellPlot.sample(place, start === advice.advised));
        const [middle, wide] = [element("td", median), element("td", range)];
        const { low, median: log, high } = advice.left[start];
        [middle.dataset.label, wide.dataset.label] = page.titles.slice(1);
        middle.dataset.value = log;
        [wide.dataset.low, wide.dataset.high] = [low, high];
        row.append(mark, Object.assign(element("th", name), { scope: "row" }), middle, wide);
        return row;
      }),
    );
  }

  return { render };
})();
