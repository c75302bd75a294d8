"""The explorer's pages of cells against those of the package, line by line and number by number, run by Node."""

import functools
import html.parser
import json
import math
import re

import numpy as np
import pytest

from signalprop import advise
from signalprop.initialization import _cell_table
from signalprop.initialization._cell_advice import LARGEST_INPUT, LONGEST
from signalprop.initialization._cell_evidence import evidence
from signalprop.initialization._cell_text import NEAR_ONE, around, details, page, told_of
from signalprop.initialization._cell_words import NAMES, SENTENCES
from tests.browser.explorer import SOURCE, answers_of_node, deviation

WITHIN = 1e-9
STEPS = (1, 7, 10, 64, 1000, 20_000)


def cases():
    """(cell, n, horizon, s): ends and points of the table, both sides of every condition, and some in between."""
    rng = np.random.default_rng(5)
    corners = [
        (1, 1, 0.0),
        (2, 2, 3.0),
        (31, 3, 1.125),  # 1.12 in Python; toPrecision has 1.13
        (32, 10, 0.1),
        (128, 100, 1.0),
        (512, 1000, 3.0),
        (10**6, LONGEST, 0.001),
        (64, 1001, 0.099),
        (32, 1000, 0.2),  # the identity of ReLU has died
    ]
    for cell in NAMES:
        yield from ((cell, *corner) for corner in corners)
        for _ in range(4 if cell == "tanh" else 40):  # what inputs do to tanh takes the package a second
            n, horizon = 10 ** rng.uniform(0, 6), 10 ** rng.uniform(0, 5)
            yield cell, round(n), round(horizon), round(float(rng.uniform(0.001, 3.0)), 3)
        for group in evidence(cell):
            (narrow, wide), (short, long) = around(group)
            sizes = [
                (narrow, long),
                (wide, short),
                (narrow - 1, long),
                (wide + 1, long),
                (wide, short - 1),
                (wide, long + 1),
            ]
            for s in (0.0,) if cell == "tanh" else (0.0, NEAR_ONE, NEAR_ONE - 0.001):
                yield from ((cell, math.ceil(n), math.ceil(horizon), s) for n, horizon in sizes)
            yield cell, group.width, group.horizon, NEAR_ONE
        yield cell, 64, 64, NEAR_ONE - 0.001


CASES = list(dict.fromkeys(cases()))


@functools.cache
def wanted(cell, n, horizon, s):
    return advise(n, horizon, cell=cell, input_std=s)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The explorer's answer to each of CASES."""
    inputs = [{"cell": cell, "n": n, "horizon": horizon, "s": s, "steps": STEPS} for cell, n, horizon, s in CASES]
    found = answers_of_node("explorer_cells.js", inputs, tmp_path_factory.mktemp("explorer"))
    return dict(zip(CASES, found, strict=True))


def test_numbers(answers):
    for case, got in answers.items():
        want = wanted(*case)
        found = got["found"]
        assert (found["advised"], found["tabled"], found["gated"]) == (want.advised, want.tabled, want.gated), case
        assert list(found["left"]) == list(want.left), case
        if want.critical_scale is not None:
            assert deviation(found["critical"], want.critical_scale) <= WITHIN, case
        for start, left in want.left.items():
            assert_same(found["left"][start], left, (case, start))


def test_the_picture_reads_the_table_at_every_step(answers):
    for (cell, n, horizon, s), got in answers.items():
        for step, along in zip(STEPS, got["along"], strict=True):
            left = _cell_table.left(cell, got["found"]["advised"], n, step, s)
            assert_same(along, left, (cell, n, horizon, s, step))


def assert_same(ours, theirs, where):
    for name in ("low", "median", "high", "error"):
        found, want = float(ours[name]), getattr(theirs, name)
        assert found == want or deviation(found, want) <= WITHIN, (where, name, found, want)


def test_every_line_is_that_of_the_package(answers):
    """The page in its order, but for the command of the picture and that of the linear page: both are on the page itself."""
    seen = set()
    for case, got in answers.items():
        want = wanted(*case)
        assert lines(got["page"]) == package_lines(want), case
        seen |= set(lines(got["page"]))
        assert got["page"]["command"] in details(want)[-2], case
    # Every sentence was compared: those of the package's own, and what it tells of each group of trainings.
    everything = "\n".join(seen)
    others = [text for name, text in SENTENCES.items() if not name.startswith("trained") and name != "picture"]
    assert not [text for text in others if not matches(text, everything)]
    told = {told_of(group, s) for cell in NAMES for group in evidence(cell) for s in (0.0, NEAR_ONE)}
    assert len(told) > 1
    assert told <= seen


def lines(found):
    """The explorer's page as lines in the order of the command's."""
    blocks = []
    for block in found["paste"]:
        blocks.append(block["title"])
        for item in block["items"]:
            blocks += [f"# {item['label']}", *item["code"].splitlines()] if "code" in item else [item["text"]]
    rows = ["  ".join((row["name"], row["median"], row["range"])) for row in found["rows"]]
    return [
        found["head"],
        found["answer"],
        *([found["outside"]] if found["outside"] else []),
        "Why",
        *found["why"],
        *blocks,
        "What trainings say",
        *found["trained"],
        "Details",
        found["columns"],
        "  ".join(found["titles"]),
        *rows,
        *found["details"],
        found["status"],
    ]


def package_lines(advice):
    *_, picture, linear = details(advice)
    kept = []
    code = False
    for line in page(advice, 10**4).splitlines():
        code = bool(line) and (code or line.startswith("# "))
        text = line if code else re.sub(r" {2,}", "  ", line.removeprefix("  * ").strip())
        if text and not re.fullmatch("=+", text) and text != picture:
            kept.append("For a linear layer, h <- W h: choose it above" if text == linear else text)
    return kept


def matches(sentence, text):
    pattern = "".join(".+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", sentence))
    return re.search(pattern, text) is not None


def test_nothing_is_shown_that_is_not_a_number(answers):
    for case, got in answers.items():
        assert not re.search(r"NaN|undefined|Infinity|null|\{\w+\}|sqrt\(|\*10", got["typeset"]), case


class Radios(html.parser.HTMLParser):
    """Values and labels of the radio buttons of one name."""

    def __init__(self, name):
        super().__init__()
        self.name, self.found, self._value = name, {}, None

    def handle_starttag(self, tag, attrs):
        if tag == "input" and dict(attrs).get("name") == self.name:
            self._value = dict(attrs)["value"]

    def handle_data(self, data):
        if self._value is not None:
            self.found[self._value], self._value = data.strip(), None


def test_the_page_asks_for_the_cells_of_the_package_by_their_names():
    radios = Radios("cell")
    radios.feed((SOURCE / "index.html").read_text(encoding="utf-8"))
    assert radios.found == {"linear": "linear", **NAMES}
    script = (SOURCE / "page.js").read_text(encoding="utf-8")
    assert f"const CELLS = {json.dumps(['linear', *NAMES])};" in script
    assert f"const LONGEST = {LONGEST:.0e};".replace("e+0", "e") in script
    assert f"const INPUTS = [0.001, {LARGEST_INPUT:g}];" in script
