"""Fixtures shared by the tests."""

import json
import os
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
