"""The fenced blocks of the README and of every page in docs/, and how a command line of one is read."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from bascule.cli.parser.command_table import build_parser

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
MARK = re.compile(r'\s+(?P<name>[a-z]+)(?:="(?P<value>[^"]*)")?')

MARKS = {
    "of": "the file that it is, which is put into the page's folder; or what kind of text",
    "exits": "the code with which each of its commands ends, where that is not 0",
    "endless": "its command runs until it is stopped",
}
"""What a block may say of itself behind its language."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block, where it stands, and what it says of itself."""

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command in it: of what is typed at a terminal, those behind `$`."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def every_page() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    docs = ROOT / "docs"
    return str(page.relative_to(docs if page.is_relative_to(docs) else ROOT))


def blocks_in(page: str, text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    kept: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, kept = (number, fence), []
        elif opened is not None and fence and fence["ticks"] >= opened[1]["ticks"] and not fence["info"]:
            found.append(_block(page, *opened, kept))
            opened = None
        else:
            kept.append(line)
    assert opened is None, f"{page}:{opened[0]}: a block that does not end"
    return found


def _block(page: str, line: int, fence: re.Match[str], lines: list[str]) -> Block:
    language, space, more = fence["info"].strip().partition(" ")
    rest = space + more
    indent = len(fence["indent"])
    text = "".join(f"{line[indent:]}\n" for line in lines)
    marks = {mark["name"]: mark["value"] or "" for mark in MARK.finditer(rest)}
    assert not MARK.sub("", rest).strip(), f'{page}:{line}: marks are written name="value", not {rest}'
    return Block(page, line, language, text, marks)


def every_block() -> list[Block]:
    return [block for page in every_page() for block in blocks_in(name_of(page), page.read_text(encoding="utf-8"))]


def parses(words: list[str]) -> str | None:
    """What is wrong with the words behind `bascule`, by the command's own parser."""
    at = words.index("--") if "--" in words else len(words)
    try:
        _, left = build_parser().parse_known_args(words[:at])
    except SystemExit as exit_code:
        # Help and the version end it too, and well.
        return f"it ends with {exit_code.code}" if exit_code.code else None
    return f"nobody knows {left}" if left else None
