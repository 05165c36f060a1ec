"""What a prompt says of the tools: by default a list of them by server."""

import textwrap
from collections.abc import Mapping
from string import Template

from bascule.bridges.weakincentives.naming import one_line
from bascule.core.errors import UsageError
from bascule.core.tool import ToolSpec

DEFAULT = """
The following external tools are available via MCP:

${tools_by_server}
"""

VARIABLES = ("server_names", "tool_count", "tools_by_server")
"""What a template may name."""

EMPTY = "(no tools)"


def check_template(template: str) -> None:
    """Raises `UsageError` where it could never be filled in."""
    text = Template(template)
    # Not `get_identifiers`: it passes over a lone dollar sign.
    if not text.is_valid():
        raise UsageError("the template has a `$` that begins no name", fix="write `$$` for a dollar sign")
    unknown = sorted(set(text.get_identifiers()) - set(VARIABLES))
    if unknown:
        raise UsageError(
            f"the template names what is not there: {', '.join(unknown)}",
            fix=f"there are {', '.join(f'${{{name}}}' for name in VARIABLES)}",
        )


def filled_in(template: str, tools: Mapping[str, Mapping[str, ToolSpec]], depth: int) -> str:
    """A template with the tools of each server, by the names that the model calls them by."""
    values = {
        "server_names": ", ".join(tools),
        "tool_count": str(sum(map(len, tools.values()))),
        "tools_by_server": "\n\n".join(_server(name, under, depth) for name, under in tools.items()),
    }
    return Template(textwrap.dedent(template).strip()).substitute(values).strip()


def _server(name: str, tools: Mapping[str, ToolSpec], depth: int) -> str:
    # One deeper than the section's own heading.
    heading = f"{'#' * (depth + 3)} {name}"
    lines = [f"- `{called}` - {_described(spec)}" for called, spec in tools.items()]
    return "\n".join([heading, "", *(lines or [EMPTY])])


def _described(spec: ToolSpec) -> str:
    """The whole description: the one that goes with the tool may have been cut."""
    return one_line(spec.description or spec.title or spec.name)
