"""The templates, made so that every value they write is escaped and legible."""

from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bascule.dashboard.auth.login import ROOT, STATIC
from bascule.dashboard.pages import templates
from bascule.dashboard.pages.assets import assets
from bascule.dashboard.pages.waterfall import STEPS, growing, placed

FOLDER = Path(__file__).parents[1] / "templates"

LEVELS = ("public", "internal", "confidential", "secret")


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        auto_reload=False,
        # A name that is not there is a mistake of the page, and not an empty text.
        undefined=StrictUndefined,
        finalize=templates.legible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = made.filters
    filters.update(
        clock=templates.clock,
        moment=templates.moment,
        one_line=templates.one_line,
        pick=templates.pick,
        place=placed,
        seconds=templates.seconds,
        stamp=templates.stamp,
    )
    names = cast("dict[str, Any]", made.globals)
    names.update(
        root=ROOT, growing=growing, steps=STEPS, asset=asset_address, count=templates.count, share=templates.share
    )
    return made


def asset_address(name: str) -> str:
    return f"{STATIC}{assets()[name].digest}/{name}"


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)
