"""The frame of an error's page, which follows from the code: its title, and how it is told to whom."""

from pathlib import Path

from bascule.cli import exit_codes
from bascule.core import errors, failure_action
from bascule.core.error_codes import CODES, Area
from bascule.core.errors import BasculeError
from bascule.core.outcome import FailureKind
from bascule.gateway import limits
from bascule.gateway.http import body
from bascule.runtime.failures import ABORTED, KINDS
from bascule.wire.results import TOOL_ERROR

PAGES = Path(__file__).parents[2] / "docs" / "errors"

CLASSES = {
    kind.code: kind
    for room in (errors, failure_action, limits, body)
    for kind in vars(room).values()
    if isinstance(kind, type) and issubclass(kind, BasculeError)
}
KIND = {kind.code: told for kind, told in KINDS.items()} | {
    ABORTED: FailureKind.ABORTED,
    TOOL_ERROR: FailureKind.TOOL_ERROR,
    BasculeError.code: FailureKind.FATAL,
}


def head(code: str) -> str:
    """The first lines of a page."""
    known, facts = CODES[code], [f"*{CODES[code].area}*"]
    if code in CLASSES:
        facts.append(f"`{CLASSES[code].__module__}.{CLASSES[code].__name__}`")
    if code in KIND:
        facts.append(f"kind of failure: `{KIND[code]}`, exit code {exit_codes.BY_KIND[KIND[code]]}")
    return f"# {code}: {known.title}\n\n{' · '.join(facts)}\n"


def index() -> str:
    """The page that leads to all others."""
    lines = ["# Error codes", "", "`bascule explain CODE` prints the same pages, offline."]
    for area in Area:
        lines += ["", f"## {area}", ""]
        lines += [f"- [{code}]({code}.md): {known.title}" for code, known in CODES.items() if known.area is area]
    return "\n".join(lines) + "\n"
