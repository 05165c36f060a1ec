"""Link check of a built site: broken links, missing anchors, and resources fetched from elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
"""What a browser fetches by itself; a link that a reader may follow is none of it."""

FOLLOWED = {("a", "href")}


@dataclass(slots=True)
class Read:
    """One page, as a browser would find its way in it."""

    ids: set[str] = field(default_factory=set[str])
    followed: list[str] = field(default_factory=list[str])
    fetched: list[str] = field(default_factory=list[str])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read = Read()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.read.ids.add(value)
            elif (tag, name) in FETCHED:
                self.read.fetched.append(value)
            elif (tag, name) in FOLLOWED:
                self.read.followed.append(value)


def read(text: str) -> Read:
    reader = _Reader()
    reader.feed(text)
    return reader.read


def problems(site: Path) -> list[str]:
    """One line for everything that is wrong, with its page."""
    found = {path: read(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    return [f"{path.relative_to(site)}: {problem}" for path in found for problem in _of_page(path, found, site)]


def _of_page(path: Path, found: dict[Path, Read], site: Path) -> Iterator[str]:
    for address in found[path].fetched:
        if _elsewhere(address):
            yield f"fetches {address} from elsewhere"
        else:
            yield from _of_link(path, address, found, site)
    for address in found[path].followed:
        if not _elsewhere(address):
            yield from _of_link(path, address, found, site)


def _elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def _of_link(path: Path, address: str, found: dict[Path, Read], site: Path) -> Iterator[str]:
    parts = urlsplit(address)
    # Only a page that no page is for is reached at any address: its links begin at the root.
    start = site if parts.path.startswith("/") else path.parent
    target = (start / unquote(parts.path.lstrip("/"))).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        yield f"leads to {address}, which is not there"
    elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].ids:
        yield f"leads to {address}: the page has no such heading"
