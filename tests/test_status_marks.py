"""The marks P, V and H mean one thing, are explained where a reader asks, and are written in one way."""

import ast
import re
from pathlib import Path

import pytest

import signalprop
from signalprop._status import Status, mean_status
from signalprop.fields import Field
from signalprop.regimes import LAWS, classify

PACKAGE = Path(signalprop.__file__).parent
NAMED = re.compile(r"\bstatus\b[:\s(]*(?:is\s+)?[PVH]\b(?!\w)", re.IGNORECASE)
FORM = re.compile(r"\bStatus\s+[PVH](?=[.,]|\s+for\s)")


def docstrings():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(PACKAGE)}:{getattr(node, 'name', '')}", text


def odd(text):
    """Marks that follow the word status in another way than ``Status P.``, ``Status V, ..`` or ``Status P for ..``."""
    return [found[0] for found in NAMED.finditer(text) if not FORM.match(text, found.start())]


def test_help_says_what_the_marks_mean():
    text = " ".join(signalprop.__doc__.split())
    for status in Status:
        assert status.words in text, status
    assert [status.value for status in Status] == ["P", "V", "H"]


def test_docstrings_write_a_status_in_one_way():
    texts = dict(docstrings())
    assert {where: found for where, text in texts.items() if (found := odd(text))} == {}
    assert sum(len(FORM.findall(text)) for text in texts.values()) > 35


@pytest.mark.parametrize(
    "text", ["(status P)", "status V", "Status: H", "Status P (complex)", "whose status is V", "Status P;"]
)
def test_another_way_is_seen(text):
    assert odd(f"So it is {text} and so on.")


def test_every_law_has_a_status():
    for laws in LAWS.values():
        assert all(isinstance(law.status, Status) for law in laws)
    assert classify(1000, 9, "complex").applied.status is Status.P
    for field in Field:
        assert mean_status(field)[0] in list(Status)
