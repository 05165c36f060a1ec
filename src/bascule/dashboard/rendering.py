"""The templates, made so that every value they write is escaped and legible."""

from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bascule.dashboard import shown
from bascule.dashboard.assets import assets
from bascule.dashboard.entrance import ROOT, STATIC
from bascule.dashboard.waterfall import STEPS, growing, placed

FOLDER = Path(__file__).with_name("templates")

LEVELS = ("public", "internal", "confidential", "secret")


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        auto_reload=False,
        # A name that is not there is a mistake of the page, and not an empty text.
        undefined=StrictUndefined,
        finalize=shown.legible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = made.filters
    filters.update(
        clock=shown.clock,
        moment=shown.moment,
        one_line=shown.one_line,
        pick=shown.pick,
        place=placed,
        seconds=shown.seconds,
        stamp=shown.stamp,
    )
    names = cast("dict[str, Any]", made.globals)
    names.update(root=ROOT, growing=growing, steps=STEPS, asset=asset_address, count=shown.count, share=shown.share)
    return made


def asset_address(name: str) -> str:
    return f"{STATIC}{assets()[name].digest}/{name}"


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)
