"""The page of each error code, as `docs/errors` has it. They come with us, so that they can be read offline."""

from collections.abc import Iterable
from pathlib import Path

from bascule.core.error_codes import CODES
from bascule.core.errors import ConfigError, UsageError

PLACES = (Path(__file__).parents[1] / "error_pages", Path(__file__).parents[4] / "docs" / "errors")
"""Where the pages are: beside this file if we were installed, else where they are kept in the checkout."""


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
