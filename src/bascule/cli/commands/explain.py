"""`bascule explain`: page of an error code, or list of all codes. The wheel contains the pages, so that they can be
read offline."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli.exit_codes import OK
from bascule.cli.output.errors import json_line
from bascule.cli.output.tables import fitting
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_json
from bascule.core.error_codes import CODES, Area
from bascule.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import CodeShape, CodesShape, ExplainedShape

PLACES = (Path(__file__).parents[1] / "error_code_pages", Path(__file__).parents[4] / "docs" / "errors")
"""Folders with the pages: that of the wheel (`force-include` in pyproject.toml), and that of a checkout."""


def known_code(word: str) -> str:
    """The code that somebody means who writes it as `bsc-401`, `BSC401` or `401`."""
    code = f"BSC-{word.upper().removeprefix('BSC').lstrip('-_ ')}"
    if code not in CODES:
        raise UsageError(f"there is no error code {word!r:.40}", fix="run `bascule explain` to see all codes")
    return code


def page_of(code: str, places: Iterable[Path] = PLACES) -> str:
    """The page as it was written, in Markdown."""
    for place in places:
        if (page := place / f"{code}.md").is_file():
            return page.read_text(encoding="utf-8")
    raise ConfigError(f"the page of {code} is not where it belongs", fix="install Bascule again: `pip install bascule`")


_EXAMPLES = """\
  bascule explain BSC-401  what the error means, its usual causes, and how to mend each
  bascule explain  every code there is"""


def add_options(command: Parser) -> None:
    add_json(command.document(_EXAMPLES))
    told = "as the error shows it, such as BSC-401; default: all"
    command.add_argument("code", metavar="CODE", nargs="?", help=told)


async def run(options: argparse.Namespace) -> int:
    if options.code is None:
        every: CodesShape = {"codes": [_shape(code) for code in CODES]}
        print(json_line(every) if options.json else fitting(_listed()))
        return OK
    code = known_code(options.code)
    page = page_of(code)
    explained: ExplainedShape = {**_shape(code), "page": page}
    print(json_line(explained) if options.json else page.rstrip())
    return OK


def _shape(code: str) -> "CodeShape":
    return {"code": code, "area": CODES[code].area, "title": CODES[code].title}


def _listed() -> str:
    """By area: who has no code looks for what it is about."""
    return "\n\n".join(
        "\n".join([area, *(f"  {code}  {known.title}" for code, known in CODES.items() if known.area is area)])
        for area in Area
    )
