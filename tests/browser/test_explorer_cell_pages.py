"""The explorer's pages of cells in Chromium: what is shown against the package, keyboard, address, narrow screens."""

import math
import re

import pytest

from signalprop import advise
from signalprop.initialization._cell_text import _filled, answer, details, evidence, why
from signalprop.initialization._cell_words import ALONE, CODE, NAMES, sentence
from tests.browser.explorer import CELL_START, deviation, resize, settled, show, until, value, wait

pytestmark = pytest.mark.browser

WITHIN = 1e-9
VIEWS = [
    ("lstm", 256, 200, 1),
    ("lstm", 64, 2, 0),
    ("gru", 512, 1500, 3),
    ("gru", 1, 100_000, 0.5),
    ("tanh", 64, 64, 1),
    ("tanh", 1_000_000, 1, 0.1),
    ("relu", 32, 1500, 0),
    ("relu", 128, 100, 2.5),
]


def shown_texts(driver, selector):
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
    )


def typeset(driver, texts):
    """Sentences of the package as the page writes them; what is raised stands in an element of its own there."""
    return driver.execute_script(
        r"return arguments[0].map((one) => Numbers.typeset(one).replace(/\^(.?\d+)/g, '$1'))", texts
    )


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_page_is_that_of_the_package(browser, page, view):
    cell, n, horizon, s = view
    show(browser, page, cell=cell, n=n, T=horizon, s=s)
    want = advise(n, horizon, cell=cell, input_std=s)
    assert shown_texts(browser, "#answer") == typeset(
        browser, [answer(want) + ("" if want.tabled else f" {sentence('outside')}")]
    )
    assert shown_texts(browser, "#reasons li") == typeset(browser, why(want))
    assert shown_texts(browser, "#trained li") == typeset(browser, evidence(want))
    assert not shown_texts(browser, "#points li")[:-2]
    assert shown_texts(browser, "pre") == ["\n".join(_filled(lines, want)) for lines in (CODE, ALONE)]
    assert shown_texts(browser, "#command")[0] in details(want)[-2]
    rows = browser.execute_script(
        """return [...document.querySelectorAll('#starts tbody tr')].map((row) =>
            [row.dataset.start, row.cells[3].dataset.low, row.cells[2].dataset.value, row.cells[3].dataset.high])"""
    )
    assert [row[0] for row in rows] == list(want.left)
    for start, *numbers in rows:
        one = want.left[start]
        for found, theirs in zip(map(float, numbers), (one.low, one.median, one.high), strict=True):
            assert found == theirs or deviation(found, theirs) <= WITHIN, (view, start)
    assert len(shown_texts(browser, "#plot .line")) == len(shown_texts(browser, "#plot .spread")) == len(rows)


def test_each_cell_has_its_own_page_and_linear_its_own(browser, page):
    """By the keyboard: the first question is which layer."""
    from selenium.webdriver import Keys
    from selenium.webdriver.common.by import By

    show(browser, page)
    others = [one for one in shown_texts(browser, "#regime") if "choose it above" in one]
    assert len(others) == 1
    for cell, name in NAMES.items():
        browser.find_element(By.CSS_SELECTOR, "input[name=cell]:checked").send_keys(Keys.ARROW_RIGHT)
        wait(browser, cell=cell, s=1)
        assert shown_texts(browser, "#caption")[0].startswith(f"{name} of width 512, horizon 2000 steps")
        assert hidden(browser) == {"linear"}
    browser.find_element(By.CSS_SELECTOR, "input[name=cell]:checked").send_keys(Keys.ARROW_RIGHT)
    wait(browser, cell="linear", field="real")
    assert hidden(browser) == {"cells"}


def hidden(driver):
    """Of which layers nothing is shown."""
    parts = (
        "return [...document.querySelectorAll('[data-for]')].map((one) => [one.dataset.for, one.offsetParent !== null])"
    )
    found = driver.execute_script(parts)
    visible = {kind for kind, shown in found if shown}
    return {kind for kind, _ in found} - visible


def test_the_keyboard_reaches_everything_in_order(browser, page):
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.by import By

    show(browser, page, cell="lstm")
    visited = []
    for _ in range(11):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        visited.append(
            browser.execute_script("const e = document.activeElement; return e.id || e.value || e.innerText")
        )
    assert visited[1:8] == ["lstm", "n-slider", "n", "T-slider", "T", "s-slider", "s"]
    assert visited[8:] == ["Copy", "Copy", "Start a recurrent layer"]
    # A number that was typed is followed after the focus went on, which stays where it went.
    field = browser.find_element(By.ID, "s")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("2", Keys.TAB)
    wait(browser, s=2)
    assert browser.execute_script("return document.activeElement.innerText") == "Copy"


def test_sliders_and_numbers_change_the_page(browser, page):
    from selenium.webdriver import Keys
    from selenium.webdriver.common.by import By

    show(browser, page, cell="tanh", s=0)

    def median():
        return float(
            browser.execute_script("return document.querySelector('#starts .advised td[data-value]').dataset.value")
        )

    for key, s in ((Keys.ARROW_RIGHT, 0.05), (Keys.ARROW_RIGHT, 0.1), (Keys.END, 3), (Keys.ARROW_LEFT, 2.9)):
        browser.find_element(By.ID, "s-slider").send_keys(key)
        wait(browser, s=s)
        want = advise(256, 200, cell="tanh", input_std=s)
        assert deviation(median(), want.left[want.advised].median) <= WITHIN
    browser.find_element(By.ID, "T-slider").send_keys(Keys.END)
    wait(browser, T=100_000)
    # Out of range: named, and nothing changes.
    for name, text, shown in (("s", "4", "2.9"), ("s", "0.0001", "2.9"), ("s", "", "2.9"), ("T", "100001", "100000")):
        field = browser.find_element(By.ID, name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text or Keys.DELETE)
        until(browser, lambda _, f=field: f.get_attribute("aria-invalid") == "true")
        message = browser.find_element(By.ID, f"{name}-message").text
        assert message.startswith("It must be ")
        assert message.endswith(f"Shown: {shown}.")
        field.send_keys(Keys.TAB)
        assert field.get_attribute("aria-invalid") == "false"
        assert field.get_attribute("value") == shown


def test_a_horizon_that_a_cell_cannot_have_is_shortened_and_said(browser, page):
    from selenium.webdriver.common.by import By

    show(browser, page, T=1_000_000)
    browser.find_element(By.CSS_SELECTOR, "input[name=cell][value=gru]").click()
    wait(browser, cell="gru", T=100_000)
    assert "goes up to 100\u00a0000 steps" in shown_texts(browser, "#T-message")[0]
    browser.find_element(By.CSS_SELECTOR, "input[name=cell][value=linear]").click()
    wait(browser, cell="linear", T=100_000)
    assert browser.find_element(By.ID, "T-message").text == ""


def test_the_address_keeps_the_view(browser, page):
    show(browser, page, cell="relu", n=100, T=50, s=0.25)
    settled(browser)
    assert browser.current_url.endswith("#cell=relu&n=100&T=50&s=0.25")
    address, said = browser.current_url, shown_texts(browser, "#answer")
    browser.get("about:blank")
    browser.get(address)
    wait(browser, cell="relu", n=100, T=50, s=0.25)
    assert shown_texts(browser, "#answer") == said
    # In any order; what it says wrongly is said, and the rest is shown.
    browser.get("about:blank")
    browser.get(f"{page}#s=-1&T=200000&n=64&cell=gru")
    wait(browser, cell="gru", n=64, T=2000, s=1)
    for name in ("T", "s"):
        assert shown_texts(browser, f"#{name}-message")[0].startswith("It must be ")
    browser.get("about:blank")
    browser.get(f"{page}#cell=transformer&n=64")
    wait(browser, cell="linear", n=64)


def test_nothing_moves_and_nothing_is_missing(browser, page):
    for width in (1280, 400, 360):
        resize(browser, width)
        places = {}
        for cell in NAMES:
            for _, n, horizon, s in VIEWS:
                show(browser, page, cell=cell, n=n, T=horizon, s=s)
                text = browser.execute_script(
                    "return document.body.innerText + document.getElementById('plot').innerHTML"
                )
                assert not re.search(r"NaN|undefined|Infinity|null|\{\w+\}", text), (cell, n, horizon, s)
                assert browser.execute_script("return document.getElementById('failure').hidden")
                assert browser.execute_script("return document.documentElement.scrollWidth") <= width
                outside = """return [...document.querySelectorAll('main *')]
                    .filter((e) => e.getBoundingClientRect().right > arguments[0] + 0.5).map((e) => e.outerHTML)"""
                found = browser.execute_script(outside, width)
                assert not [
                    one
                    for one in found
                    if not one.startswith(("<path", "<rect", "<g", "<thead", "<tr", "<th", "<td></td"))
                ]
                top = "return ['controls', 'plot', 'starts'].map((id) => document.getElementById(id).getBoundingClientRect().top)"
                places.setdefault(width, set()).add(tuple(round(place) for place in browser.execute_script(top)))
        assert len(places[width]) == 1, (width, places)


def test_lines_stand_out_in_light_and_dark(browser, page):
    """Contrast of at least 3 : 1 (WCAG) between each line and the page, and no two lines alike."""
    styles = """
        const luminance = (colour) => {
          const [r, g, b] = colour.match(/[\\d.]+/g).map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const page = luminance(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll('#plot .line')].map((e) => {
          const { stroke, strokeDasharray, strokeWidth } = getComputedStyle(e);
          const [a, b] = [luminance(stroke), page].sort((x, y) => y - x);
          return [(a + 0.05) / (b + 0.05), stroke, strokeDasharray + strokeWidth];
        })"""
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        show(browser, page, cell="tanh", **CELL_START)
        found = browser.execute_script(styles)
        assert len(found) == 6
        assert min(ratio for ratio, *_ in found) >= 3.0, found
        assert len({colour for _, colour, _ in found}) == len({dashes for *_, dashes in found}) == len(found)


def test_the_picture_marks_the_horizon_at_its_place(browser, page):
    show(browser, page, cell="lstm", T=100)
    at = """const x = (e) => Number(e.getAttribute('x1'));
        const axis = [...document.querySelectorAll('#plot line.axis')].filter((e) => x(e) === Number(e.getAttribute('x2')));
        return [x(document.querySelector('#plot .horizon')), ...axis.map(x)]"""
    horizon, *ticks = browser.execute_script(at)
    assert len(ticks) == 4  # 1, 10, 100, 1000
    assert math.isclose(horizon, ticks[2], abs_tol=0.1)
    assert value(browser, "T") == 100
