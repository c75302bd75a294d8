"""The explorer keeps its Content-Security-Policy: everything from its own folder, nothing inline, no text made into markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "docs" / "explorer"
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.cssText|\.style\b|"
    r"setAttribute\(\s*[\"']style|import\(|fetch\(|XMLHttpRequest|https?://(?!www\.w3\.org/2000/svg)"
)


class Page(HTMLParser):
    """The elements of a page with their attributes, and what stands inside of script and style."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inline, self._inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside in ("script", "style"):
            self.inline.append(data)


def page():
    return Page((SOURCE / "index.html").read_text(encoding="utf-8"))


def policy():
    (content,) = [
        attrs["content"] for tag, attrs in page().elements if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    return {name: values for name, *values in (directive.split() for directive in content.split(";"))}


def test_the_policy_allows_its_own_files_alone():
    assert policy() == {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["'none'"],
    }


def test_the_policy_stands_before_everything_that_it_rules():
    tags = [
        tag for tag, attrs in page().elements if attrs.get("http-equiv") or tag in ("script", "link", "style", "base")
    ]
    assert tags[0] == "meta"


def test_the_page_needs_nothing_that_the_policy_forbids():
    found = page()
    assert not "".join(found.inline).strip()
    for tag, attrs in found.elements:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], (tag, attrs)
        for name in ("src", "href"):
            value = attrs.get(name, "")
            assert value == "data:," or not re.match(r"[a-z]+:|//|/", value), (tag, attrs)
            assert name != "src" or (SOURCE / value).exists() or value == "data.js"
    for path in (*SOURCE.glob("*.js"), SOURCE / "style.css"):
        assert not MARKUP.findall(path.read_text(encoding="utf-8")), path.name
        assert not re.search(r"url\((?!#)", path.read_text(encoding="utf-8")), path.name
