"""What the tests of the explorer share: its builder, inputs spread over its range, how near is near, and how to show a view."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "explorer"
FIELDS = ("real", "complex", "quaternion")
START = {"cell": "linear", "n": 512, "T": 2000, "field": "real", "g": "glorot"}
CELL_START = {"n": 256, "T": 200, "s": 1}


def builder():
    """The module docs/explorer/make_data.py."""
    spec = importlib.util.spec_from_file_location("make_data", SOURCE / "make_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers_of_node(script, inputs, folder):
    """What a script beside this file answers to the inputs, from an explorer that is built in a folder; skips without Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node; the browser tests compare some of the same")
    built = builder().assemble(folder).parent
    done = subprocess.run(
        [node, str(Path(__file__).with_name(script)), str(built)],
        input=json.dumps(inputs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def spread(count, seed):
    """(field, n, horizon, g): widths and horizons spread evenly in their logs from 1 to 1e6."""
    rng = np.random.default_rng(seed)
    widths, horizons = (10 ** (6 * (rng.permutation(count) + rng.uniform(size=count)) / count) for _ in range(2))
    scales = rng.uniform(0.5, 1.5, count)
    return [
        (FIELDS[i % 3], round(n), round(horizon), round(float(g), 3))
        for i, (n, horizon, g) in enumerate(zip(widths, horizons, scales, strict=True))
    ]


def deviation(found, expected):
    """Relative, absolute below 1; None stands for a number that both sides do without."""
    if found is None or expected is None:
        return 0.0 if found is expected else float("inf")
    return abs(found - expected) / max(1.0, abs(expected))


def resize(driver, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def show(driver, page, **settings):
    """Show a view by its address and wait for it."""
    view = {**(START if settings.get("cell", "linear") == "linear" else CELL_START), **settings}
    hash_ = urlencode(view)
    if driver.current_url.split("#")[0] == page:
        settled(driver)
        driver.execute_script(f"location.hash = '{hash_}'")
    else:
        driver.get(f"{page}#{hash_}")
    wait(driver, **view)


def settled(driver):
    """Wait until the address says what is shown."""
    until(driver, lambda _: driver.execute_script("return location.hash === document.documentElement.dataset.shown"))


def until(driver, condition, message=""):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 30, poll_frequency=0.02).until(condition, message)


def wait(driver, **settings):
    """Wait until these settings are among those shown."""
    parts = [f"{key}={value}" for key, value in settings.items()]

    def shown(_):
        view = driver.execute_script("return document.documentElement.dataset.shown || ''")
        return all(part in re.split("[#&]", view) for part in parts)

    until(driver, shown, f"the page does not show {parts}")


def value(driver, name, key="value"):
    """The number (or word) that an element holds with all its digits; None where it holds nothing."""
    text = driver.execute_script(f"return document.getElementById('{name}').dataset.{key}")
    try:
        return float(text) if text else None
    except ValueError:
        return text
