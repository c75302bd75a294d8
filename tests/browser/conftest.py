"""The page of the explorer, and a browser for it."""

import json
import shutil

import pytest

from tests.browser.explorer import builder, resize


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    """The page's address, built as for the documentation."""
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
    resize(chromium, 1280)
    chromium.get("about:blank")
    yield chromium
    errors = [entry["message"] for entry in chromium.get_log("browser")]
    assert not errors
    requests = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    addresses = {one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"}
    assert addresses
    assert all(address.startswith(("file:", "data:", "about:")) for address in addresses), addresses
