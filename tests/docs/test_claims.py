"""The table of claims names the checks of `signalprop verify` on nonlinear and gated cells, each of them."""

import re
from pathlib import Path

import pytest

from signalprop.verify import cells, meanfield

CLAIMS = Path(__file__).parents[2] / "docs" / "theory" / "claims.md"


@pytest.mark.parametrize("room", [meanfield, cells])
def test_every_check_has_a_row_with_the_status_in_its_name(room):
    rows = [line.split(" | ") for line in CLAIMS.read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    for check in room.checks(False):
        marks = {
            mark for row in rows if row[3].strip("`") in check.name for mark in re.findall(r"\*\*([PVH])\*\*", row[2])
        }
        assert marks, check.name
        assert set(re.findall(r"\(([PVH])\)", check.name)) & marks, check.name
