"""Built-in MCP server with slow tool calls and a crash: the showcase needs timeouts and restarts. Separate,
because it runs as a program: `python -m bascule.demo.reports`."""

import sys
import time
from typing import Any

from bascule.kit.stdio_server import Tool, ToolError, serve

SECONDS = {"daily": 0.4, "weekly": 1.2, "monthly": 2.5, "yearly": 8.0}
"""How long each kind of report takes."""

JINXED = "jinxed"
"""The kind that no printer survives."""


def make(kind: str) -> dict[str, Any]:
    print(f"printing the {kind} report", file=sys.stderr, flush=True)
    if kind == JINXED:
        print("the printer is on fire", file=sys.stderr, flush=True)
        sys.exit(3)
    if kind not in SECONDS:
        raise ToolError(f"there is no {kind!r:.50} report: it is one of {', '.join(SECONDS)}", kinds=[*SECONDS])
    time.sleep(SECONDS[kind])
    return {"kind": kind, "pages": len(kind)}


_MAKE = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
TOOLS = (Tool("make", "Make a report: daily, weekly, monthly or yearly.", _MAKE, make, ("read",)),)

if __name__ == "__main__":
    serve("reports", TOOLS)
