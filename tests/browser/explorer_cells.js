// node explorer_cells.js FOLDER < cases.json: what the explorer says of cells, without a browser.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

for (const name of ["data", "numbers", "meanfield", "cells", "cell_words"]) {
  const file = path.join(process.argv[2], `${name}.js`);
  vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
}
const text = (value) => (Number.isFinite(value) ? value : String(value)); // JSON has no infinities
const answer = vm.runInThisContext(`({ cell, n, horizon, s, steps }) => {
  const found = Cells.advise(cell, n, horizon, s);
  const page = CellWords.page(found);
  return { found, page, along: steps.map((step) => Cells.left(cell, found.advised, n, step, s)), typeset: Numbers.typeset(JSON.stringify(page)) };
}`);
const answers = JSON.parse(fs.readFileSync(0, "utf8")).map(answer);
process.stdout.write(JSON.stringify(answers, (_, value) => (typeof value === "number" ? text(value) : value)));
