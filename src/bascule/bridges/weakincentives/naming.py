"""Tool names and descriptions in the form that weakincentives accepts: lowercase names, short ASCII descriptions."""

import unicodedata
from collections.abc import Iterable

from bascule.bridges.weakincentives.errors import McpSchemaError
from bascule.core.tool import ToolSpec

DESCRIPTION_MAX = 200
"""Longest description that the framework takes."""

_CUT = "..."


def lowered(specs: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """The tools by the names that the framework takes. Raises `McpSchemaError` where two would have one."""
    names: dict[str, ToolSpec] = {}
    for spec in specs:
        other = names.setdefault(spec.name.lower(), spec)
        if other is not spec:
            reason = f"{other.name} and {spec.name} differ in capitals alone, and names are lowercase here"
            raise McpSchemaError(
                f"two tools would be called {spec.name.lower()}",
                server_name=spec.key.server,
                tool_name=spec.key.tool,
                reason=reason,
                fix="give one of the servers another `prefix`, or `block` one of the tools",
            )
    return names


def one_line(text: str) -> str:
    """A text of a server in a line of a prompt, where it cannot pass for a heading or a line of ours."""
    return " ".join(text.split())


def cut_description(spec: ToolSpec) -> str:
    """The description in the characters and the length that the framework takes."""
    whole = one_line(spec.description or spec.title or "") or spec.name
    plain = "".join(c if c.isascii() else "?" for c in unicodedata.normalize("NFKD", whole) if not _is_mark(c))
    # Printable: what is left of hidden characters must not be there either.
    clean = "".join(c if c.isprintable() else "?" for c in plain).strip() or spec.name
    return clean if len(clean) <= DESCRIPTION_MAX else clean[: DESCRIPTION_MAX - len(_CUT)].rstrip() + _CUT


def _is_mark(character: str) -> bool:
    return unicodedata.combining(character) != 0
