"""``status``: the marks **P**, **V** and **H** of the pages lead to what they mean."""

import os
import re

MEANING = "theory/setting"  # the page, and the heading on it
ANCHOR = "how-sure-is-a-statement"
MARK = re.compile(r"(?<![\[*])\*\*([PVH])\*\*(?![\]\w])")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


def linked(text: str, page: str) -> str:
    """The text of a page with its marks as links; code, headings and the table of the marks themselves stay."""
    target = f"#{ANCHOR}"
    if page != MEANING:
        target = f"{os.path.relpath(MEANING, os.path.dirname(page) or '.')}.md{target}"
    lines, fence = [], ""
    for line in text.split("\n"):
        ticks = FENCE.match(line)
        code = bool(fence)
        if ticks and not fence and re.match(r"^\s*(`{3,}|~{3,})(\{(code-cell|command|eval-rst|toctree)\}|\w)", line):
            fence, code = ticks[1], True
        elif ticks and fence and ticks[1] == fence and line.strip() == fence:
            fence = ""
        defined = page == MEANING and line.startswith("| **")
        lines.append(line if code or defined or line.startswith("#") else MARK.sub(rf"[**\1**]({target})", line))
    return "\n".join(lines)


def _link(app, docname, source):
    if str(app.env.doc2path(docname)).endswith(".md"):
        source[0] = linked(source[0], docname)


def setup(app):
    """Change pages as they are read."""
    app.connect("source-read", _link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
