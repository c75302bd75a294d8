"""Fixtures shared by the tests."""

import json
import os
import shutil
from pathlib import Path

import pytest

# Messages in one line, whatever the terminal; tests of the layout set a width of their own.
os.environ["COLUMNS"] = "300"


def pytest_terminal_summary(terminalreporter):
    """How much of the public surface was swept, whichever process did it."""
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, [])]
    counts = [value for each in reports for name, value in each.user_properties if name == "public surface"]
    if counts:
        from tests.surface.sweep import Count

        terminalreporter.write_line(f"Public surface: {sum((Count(*each) for each in counts), Count())}.")


ORACLES = Path(__file__).parent / "oracles"


@pytest.fixture(scope="session")
def trace_polynomials():
    """Coefficients of M_k by loop equations: {field: {k: [coefficients]}}."""
    table = json.loads((ORACLES / "trace_polynomials.json").read_text())
    return {field: {int(k): tuple(row) for k, row in table[field].items()} for field in ("complex", "real")}


@pytest.fixture(scope="session")
def energies():
    """Rows of {n, k, complex, real, quaternion}; energies as 40-digit strings."""
    return json.loads((ORACLES / "energies.json").read_text())["rows"]


@pytest.fixture(scope="session")
def second_moments():
    """{'field:k': {'E(trM)^2': [...], 'E tr M^2': [...]}}."""
    return json.loads((ORACLES / "second_moments.json").read_text())


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    """The page's address, built as for the documentation."""
    from tests.browser.explorer import builder

    return builder().assemble(tmp_path_factory.mktemp("site") / "explorer").as_uri()


@pytest.fixture(scope="session")
def chromium():
    """A browser of its own for these tests, its console and its requests recorded."""
    from selenium import webdriver

    paths = [shutil.which(name) for name in ("chromium", "chromedriver")]
    assert all(paths), "These tests need chromium and chromedriver: `make test-browser` installs them."
    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(paths[1]))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium):
    from tests.browser.explorer import resize

    resize(chromium, 1280)
    chromium.get("about:blank")
    yield chromium
    errors = [entry["message"] for entry in chromium.get_log("browser")]
    assert not errors
    requests = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    addresses = {one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"}
    assert addresses
    assert all(address.startswith(("file:", "data:", "about:")) for address in addresses), addresses
