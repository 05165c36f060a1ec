"""Generated reference pages: the table of pages and their generators. The pages are kept in docs/, so that they can be
read without a build."""

from collections.abc import Callable

from handbook.cli_page import cli_page
from handbook.config_page import config_page
from handbook.design_page import design_page
from handbook.events_page import events_page
from handbook.json_page import json_page
from handbook.navigation import DOCS

MADE: dict[str, Callable[[], str]] = {
    "design.md": design_page,
    "reference/cli.md": cli_page,
    "reference/config.md": config_page,
    "reference/events.md": events_page,
    "reference/json.md": json_page,
}


def write() -> list[str]:
    for page, made in MADE.items():
        (DOCS / page).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / page).write_text(made(), encoding="utf-8")
    return list(MADE)
