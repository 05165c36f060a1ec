"""Jinja templates of the dashboard, and the filters that format their values. Text of servers is escaped and made
legible: it cannot hide characters or become markup."""

import base64
import binascii
import time
from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bascule.core.text.invisible_chars import escaped
from bascule.dashboard.auth.login import ROOT, STATIC
from bascule.dashboard.pages.assets import assets
from bascule.dashboard.pages.waterfall import STEPS, growing, placed
from bascule.dashboard.views.shapes import Drift

NONE = "–"

LONGEST_TEXT = 4000
"""Characters of one text on a page. A server may give a tool a description of a megabyte."""

CUT = " …"


def legible(value: Any) -> Any:
    """What becomes of every value that a template writes: what hides is written out, as `\\u202e` or `\\x1b`."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + CUT
    return escaped(text.replace("\r\n", "\n").replace("\r", "\\r"))


def one_line(value: str) -> str:
    """A text that stands in a row of others."""
    return value.replace("\n", "\\n").replace("\t", " ")


def seconds(value: float | None) -> str:
    """A duration with three digits: 840 µs, 12.3 ms, 1.20 s, 3 min."""
    if value is None:
        return NONE
    if value < 0.001:
        return f"{value * 1e6:.0f} µs"
    if value < 1:
        millis = value * 1000
        return f"{millis:.2f} ms" if millis < 10 else f"{millis:.1f} ms" if millis < 100 else f"{millis:.0f} ms"
    if value < 100:
        return f"{value:.2f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def clock(at: float | None) -> str:
    """The time of day, where this program runs."""
    return NONE if at is None else time.strftime("%H:%M:%S", time.localtime(at))


def moment(at: float | None) -> str:
    """The whole of it, for who hovers."""
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(at))


def stamp(at: float | None) -> str:
    """For programs."""
    return "" if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def share(part: int, whole: int) -> str:
    return NONE if not whole else "0 %" if not part else f"{max(0.1, 100 * part / whole):.1f} %"


def pick(drift: Drift) -> str:
    """A tool and what is approved of it, as one word of letters and digits: it comes back exactly as it went."""
    return f"{base64.urlsafe_b64encode(drift.tool.encode('utf-8', 'surrogatepass')).decode()}.{drift.digest}"


def picked(word: str) -> tuple[str, str] | None:
    """The tool and its digest again. None for what is no such word."""
    name, dot, digest = word.partition(".")
    try:
        return (base64.b64decode(name, b"-_", validate=True).decode("utf-8", "surrogatepass"), digest) if dot else None
    except (binascii.Error, ValueError):
        return None


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
        finalize=legible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = made.filters
    filters.update(
        clock=clock,
        moment=moment,
        one_line=one_line,
        pick=pick,
        place=placed,
        seconds=seconds,
        stamp=stamp,
    )
    names = cast("dict[str, Any]", made.globals)
    names.update(root=ROOT, growing=growing, steps=STEPS, asset=asset_address, count=count, share=share)
    return made


def asset_address(name: str) -> str:
    return f"{STATIC}{assets()[name].digest}/{name}"


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)
