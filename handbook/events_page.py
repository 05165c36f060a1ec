"""Reference page of events, generated from the module that declares them."""

import ast
from collections.abc import Iterator

from handbook.navigation import ROOT

MODULE = "src/bascule/core/events.py"

HEAD = """# Events

<!-- Made by `python -m handbook write` from {module}. -->

What happens in a runtime is told as events: frozen data, one class for each kind of thing. A sink is any callable that takes one;
`Runtime.from_file(path, sinks=[…])` gives every event to each. A sink that raises spoils nothing: it is told of in the log, and the call goes on.

```python
import asyncio

import bascule
from bascule.core.events import ToolInvoked


def tell(event: object) -> None:
    if isinstance(event, ToolInvoked):
        print(event.tool, event.lane, event.arguments)


async def main() -> None:
    async with bascule.Runtime.from_file(".mcp.json", sinks=[tell]) as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        await session.call("notes_add", {{"text": "The bridge is down."}})


asyncio.run(main())
```

There is exactly one `ToolInvoked` for each call, and one `RequestEnded` for each other request, on every path. Arguments are told by their shape, never by
their values. The same events make the [audit log](../audit.md) and the [metrics](metrics.md).
"""

COMMON = {
    "at": "Seconds since the epoch.",
    "findings": "What was odd about the reply and changed nothing.",
    "lane": "By which way it went.",
    "local": "What became of what it changed on our side.",
    "method": "The method of the protocol.",
    "noted": "The number of the record in the audit log that was written before it was sent, if one was.",
    "outcome": "The result or the failure, as the caller gets it.",
    "principal": "On whose behalf: the user and the agent session.",
    "reason": "Why, in a sentence.",
    "remote": "What is known of what it did at the server.",
    "rule": "The rule that refused it, if one did.",
    "seconds": "From its beginning until it ended.",
    "server": "Its name in the config.",
    "source": "Whether a server or a function of the program was called.",
    "span": "Its place in a trace, where there is telemetry.",
    "steps": "Seconds in each step of its path.",
}
"""What fields mean that several events have, where the class does not say it itself."""


def events_page() -> str:
    module = ast.parse((ROOT / MODULE).read_text(encoding="utf-8"))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    return HEAD.format(module=MODULE) + "".join(f"\n{_section(node)}" for node in classes)


def _section(node: ast.ClassDef) -> str:
    rows = [f"| `{name}` | `{kind}` | {default} | {words} |" for name, kind, default, words in _fields(node)]
    table = "\n".join(["| field | type | unless said | |", "|---|---|---|---|", *rows])
    return f"## {node.name}\n\n{_one_line(ast.get_docstring(node) or '')}\n\n{table}\n"


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str, str]]:
    """Each field with what stands beneath it."""
    following: list[ast.stmt | None] = [*node.body[1:], None]
    for stated, after in zip(node.body, following, strict=True):
        if isinstance(stated, ast.AnnAssign) and isinstance(stated.target, ast.Name):
            default = f"`{ast.unparse(stated.value)}`" if stated.value else ""
            name = stated.target.id
            words = _words(after) or COMMON.get(name, "")
            yield name, ast.unparse(stated.annotation).replace("|", "\\|"), default, words


def _words(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return _one_line(text)
        case _:
            return ""


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
