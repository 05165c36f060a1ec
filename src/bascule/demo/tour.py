"""A short tour on the built-in servers: link, list, call, refuse; told line by line."""

import sys

from bascule.config import ServerConfig, StdioTransport
from bascule.core.events import LinkChanged, ToolInvoked
from bascule.core.outcome import Outcome, ToolResult
from bascule.runtime.runtime import Runtime

USER, SESSION = "demo", "tour"


def servers() -> dict[str, ServerConfig]:
    """The built-in servers, as a config would name them."""
    python = sys.executable
    return {
        name: ServerConfig(name=name, transport=StdioTransport(command=python, args=("-m", f"bascule.demo.{name}")))
        for name in ("clock", "notes")
    }


async def tour() -> bool:
    """Whether everything went as it should."""
    async with Runtime.from_servers(servers(), sinks=[_tell]) as runtime:
        session = runtime.session(user_id=USER, session_id=SESSION)
        await session.begin()
        print(f"An agent session for user {USER}: level {session.sensitivity.name}, lane {session.lane}.\n")
        for spec in await session.tools():
            print(f"  {spec.name:<16} {spec.description}")
        print("\nA call:")
        noted = await session.call("notes_add", {"text": "The bridge is down."})
        _show(noted)
        found = await session.call("notes_search", {"word": "bridge"})
        _show(found)
        print("A call with the wrong type, which never reaches the server:")
        wrong = await session.call("notes_add", {"text": 7})
        _show(wrong)
    print("All links are closed; nothing is left running.")
    return isinstance(noted, ToolResult) and isinstance(found, ToolResult) and not isinstance(wrong, ToolResult)


def _tell(event: object) -> None:
    match event:
        case LinkChanged(server=server, state=state, reason=reason):
            print(f"  link   {server}: {state}{f' ({reason})' if reason else ''}")
        case ToolInvoked(tool=tool, outcome=outcome, steps=steps, arguments=shapes):
            took = ", ".join(f"{step} {seconds * 1e6:.0f} µs" for step, seconds in steps.items())
            how = "ok" if outcome.ok else "failed"
            print(f"  event  {tool}({', '.join(f'{k}: {v}' for k, v in shapes.items())}) {how}: {took}")
        case _:
            pass


def _show(outcome: Outcome) -> None:
    text = outcome.text if isinstance(outcome, ToolResult) else f"{outcome.kind} {outcome.code}: {outcome.message}"
    print("".join(f"  > {line}\n" for line in text.split("\n")))
