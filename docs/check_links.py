"""``python docs/check_links.py HTML_DIRECTORY``: every link, image and script inside the built site leads somewhere."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page refers to, and the anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Collect href, src, id and name."""
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.anchors.add(value)
            elif key in ("href", "src") and value and tag != "base":
                self.links.append(value)


def broken(root):
    """(page, link) for each link that leads nowhere, but in the source listings, where Sphinx guesses what documents them."""
    pages = {path.resolve(): Page(path) for path in root.rglob("*.html") if "_modules" not in path.parts}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                yield path.relative_to(root.resolve()), link


def main():
    """Print broken links; 1 if there are any or if there is nothing to check."""
    root = Path(sys.argv[1])
    found = sorted(set(broken(root)))
    for page, link in found:
        print(f"{page}: {link} leads nowhere", file=sys.stderr)
    count = len(list(root.rglob("*.html")))
    print(f"{count} pages, {len(found)} broken links inside the site")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
