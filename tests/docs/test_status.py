"""The marks P, V and H lead to their meaning wherever they stand on a page."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts]


@pytest.fixture(scope="module")
def status():
    spec = importlib.util.spec_from_file_location("status", DOCS / "_extensions" / "status.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_marks_become_links(status):
    assert status.linked("So it is. **P**", "theory/real") == "So it is. [**P**](setting.md#how-sure-is-a-statement)"
    assert status.linked("**V**, k", "faq") == "[**V**](theory/setting.md#how-sure-is-a-statement), k"
    assert status.linked("(**H**)", "guides/scale") == "([**H**](../theory/setting.md#how-sure-is-a-statement))"
    for kept in ("**P**roved", "[**P**](x.md)", "# **P**", "**PV**", "***P***"):
        assert status.linked(kept, "faq") == kept
    cell = "```{code-cell}\nprint('**P**')\n```\n**P**"
    assert status.linked(cell, "faq").startswith("```{code-cell}\nprint('**P**')\n```\n[**P**]")
    assert status.linked("```{figure} x.png\nA caption. **H**\n```", "faq").count("](") == 1
    assert status.linked("| **P** | proved |\n**P**", "theory/setting").startswith("| **P** | proved |\n[**P**](#")


def test_the_meaning_is_where_the_links_lead(status):
    text = (DOCS / f"{status.MEANING}.md").read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    assert status.ANCHOR in headings
    assert all(f"| **{mark}** |" in text for mark in "PVH")


def test_no_page_is_left_with_a_bare_mark(status):
    marked = 0
    for path in PAGES:
        page = path.relative_to(DOCS).with_suffix("").as_posix()
        text = status.linked(path.read_text(encoding="utf-8"), page)
        for target in re.findall(r"\[\*\*[PVH]\*\*\]\(([^)#]*)#", text):
            marked += 1
            assert not target or (path.parent / target).resolve() == DOCS / f"{status.MEANING}.md"
        outside = re.sub(r"^(```+)\{(?:code-cell|command)\}.*?^\1$", "", text, flags=re.M | re.S)
        if page != status.MEANING:
            assert not re.search(r"(?<!\[)\*\*[PVH]\*\*(?!\w)", outside), page
    assert marked > 60
