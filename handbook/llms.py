"""Pages for language models: `llms.txt` lists the pages, `llms-full.txt` holds all of them in one, and each page's
Markdown lies beside it."""

import re
import shutil
from itertools import groupby
from pathlib import Path

from handbook.navigation import DOCS, Place, places, project

OPENING = 200
"""Characters of a page's first sentence that a list shows."""


def write(site: Path) -> None:
    settings = project()
    head = f"# {settings['site_name']}\n\n> {settings['site_description']}\n"
    there = places()
    (site / "llms.txt").write_text(head + _listed(there), encoding="utf-8")
    whole = [f"<!-- {place.page} -->\n\n{_text(place.page)}" for place in there]
    (site / "llms-full.txt").write_text("\n\n".join([head, *whole]) + "\n", encoding="utf-8")
    for place in there:
        (site / place.page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(DOCS / place.page, site / place.page)


def _listed(there: list[Place]) -> str:
    parts: list[str] = []
    for heading, group in groupby(there, key=lambda place: ": ".join(place.headings) or "First"):
        lines = [f"- [{place.title}]({place.page}): {opening(_text(place.page))}" for place in group]
        parts.append(f"\n## {heading}\n\n" + "\n".join(lines) + "\n")
    return "".join(parts)


def opening(text: str) -> str:
    """The first sentence of a page's first paragraph."""
    paragraphs = [
        part.strip() for part in re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).split("\n\n")
    ]
    plain = next((part for part in paragraphs if part and part[0] not in "#|<-!`"), "")
    one_line = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(plain.split()))
    sentence = re.split(r"(?<=[.!?:]) ", one_line, maxsplit=1)[0]
    return sentence if len(sentence) <= OPENING else sentence[: OPENING - 1] + "…"


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8").strip()
