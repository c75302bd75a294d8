// node explorer_numbers.js FOLDER < cases.json: the numbers and sentences of the explorer, without a browser.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

for (const name of ["data", "numbers", "energy", "radius", "draws", "advice", "words"]) {
  const file = path.join(process.argv[2], `${name}.js`);
  vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
}
const answer = vm.runInThisContext(`({ n, horizon, field, steps }) => {
  const found = Advice.advise(n, horizon, field);
  const page = Words.page(found);
  const items = page.paste.flatMap((block) => block.items);
  return {
    ...found,
    ends: found.energy(0),
    exploding: { glorot: found.exploding(1), quantile: found.exploding(found.safe), edge: found.exploding(found.edge) },
    path: Advice.path(n, horizon, field, steps),
    sentences: [page.answer, ...page.why, ...items.filter((one) => one.text).map((one) => one.text), Words.regime(found), ...Words.details(found), Words.status(found)],
    cells: page.cells,
    titles: page.paste.map((block) => block.title),
    code: items.filter((one) => one.code).map((one) => [one.label, one.code]),
    own: JSON.stringify([Words.page(found), Words.details(found), Words.regime(found), Words.fixed(found, 0.9)].map((part) => JSON.parse(Numbers.typeset(JSON.stringify(part))))),
  };
}`);
process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(0, "utf8")).map(answer)));
