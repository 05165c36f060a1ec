"""Navigation of zensical.toml: the pages, their order and their headings."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIG = ROOT / "zensical.toml"

Entry = dict[str, "str | list[Entry]"]
"""A title with a page, or with more entries."""


@dataclass(frozen=True, slots=True)
class Place:
    """One page where the navigation has it."""

    page: str
    title: str
    headings: tuple[str, ...]


def project() -> dict[str, Any]:
    """The project as zensical.toml has it, folders with a star written out."""
    settings: dict[str, Any] = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]
    return {**settings, "nav": [written for entry in settings["nav"] for written in _written_out(entry)]}


def places() -> list[Place]:
    return list(_places(project()["nav"], ()))


def pages() -> set[str]:
    """Every page of the folder."""
    return {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}


def title_of(page: str) -> str:
    """What a page calls itself: its first heading."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), page)


def _written_out(entry: Entry) -> list[Entry]:
    ((title, value),) = entry.items()
    if isinstance(value, list):
        return [{title: [written for inner in value for written in _written_out(inner)]}]
    if value.endswith("/*"):
        return [{title: [{_short(page): page} for page in _in_folder(value.removesuffix("/*"))]}]
    return [entry]


def _in_folder(folder: str) -> list[str]:
    """The folder's own page first, then the others by name."""
    found = sorted(str(path.relative_to(DOCS)) for path in (DOCS / folder).glob("*.md"))
    return sorted(found, key=lambda page: not page.endswith("/index.md"))


def _short(page: str) -> str:
    """A list of many pages is read by what tells them apart."""
    return title_of(page).partition(":")[0].replace("`", "")


def _places(entries: list[Entry], headings: tuple[str, ...]) -> Iterator[Place]:
    for entry in entries:
        ((title, value),) = entry.items()
        if isinstance(value, list):
            yield from _places(value, (*headings, title))
        else:
            yield Place(value, title, headings)
