"""Meta-tools `search_tools` and `call_tool`: a model gets these two instead of a list that is too long."""

from functools import lru_cache

from bascule.catalog.entry import Entry, make_entry
from bascule.catalog.judgement import Judgement, accept
from bascule.core.json_types import JsonObject
from bascule.core.permission import READING
from bascule.core.tool import ToolKey

SEARCH = "search_tools"
CALL = "call_tool"

OURS = "bascule"
"""What stands where the server of a tool is named."""

MOST_FOUND = 20
"""Tools that one search gives at most."""

USUALLY_FOUND = 5

MOST_NAMED = 30
"""Servers that are named, so that a model knows what it may look for."""

REMEMBERED = 64


@lru_cache(maxsize=REMEMBERED)
def search_pair(servers: tuple[str, ...] = ()) -> tuple[Entry, Entry]:
    """Catalogued like the tools of any server, so that no door needs to know of them. `servers` are those whose tools
    can be found."""
    searching = make_entry(_search(servers), ToolKey(OURS, SEARCH), SEARCH, _reading)
    # It may do whatever the tool does that it calls.
    calling = make_entry(_CALL, ToolKey(OURS, CALL), CALL, accept)
    return searching, calling


def _reading(_definition: JsonObject, _digest: str) -> Judgement:
    return Judgement(permissions=READING)


def _search(servers: tuple[str, ...]) -> JsonObject:
    named = ", ".join(servers[:MOST_NAMED]) + (", …" if len(servers) > MOST_NAMED else "")
    there = f" There are tools of: {named}." if servers else ""
    return {
        "name": SEARCH,
        "title": "Search tools",
        "description": (
            "Finds tools by words, best first, with what each does and its input schema. There are more tools than can "
            "be shown: search before you decide that something cannot be done. Call what was found with "
            f"{CALL}.{there}"
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "words": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What the tool should do, in a few words: verbs, things, the name of a service.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_FOUND,
                    "default": USUALLY_FOUND,
                    "description": "How many tools to give at most.",
                },
            },
            "required": ["words"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


_CALL: JsonObject = {
    "name": CALL,
    "title": "Call a tool",
    "description": f"Calls a tool that {SEARCH} has found, and gives its result.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": f"The tool's name, as {SEARCH} gave it."},
            "arguments": {
                "type": "object",
                "description": "The tool's own arguments, by its input schema. None: leave it out.",
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}
