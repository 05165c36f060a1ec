"""Functions of a program as tools: governed, recorded and offered as those of any server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from bascule import (
    AgentSession,
    Principal,
    Runtime,
    ToolRetryError,
    tool,
)
from bascule.config import Limits, Timeouts
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolStatus
from support.auditing import logged
from support.native import note, serving
from support.runtime import Events, bad, good
from support.scenarios import entry, write_yaml
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("CAT-10")

SECRET = DataSensitivity.SECRET


@dataclass
class Place:
    name: str
    height: float = 0.0


@tool("read")
def nearest(
    to: Annotated[str, "Where to look from."], kind: Literal["peak", "lake"] = "peak", within: int | None = None
) -> Place:
    """Find the nearest place."""
    return Place(f"{kind} by {to} within {within}")


@tool("read")
async def whoami(greeting: str, me: Principal) -> str:
    """Tell who asks."""
    return f"{greeting}, {me.user_id} in {me.session_id}"


async def fetch(url: str) -> str:
    return f"fetched {url}"


async def test_a_function_is_listed_with_a_schema_from_its_signature():
    async with serving(nearest, whoami, fetch) as session:
        found = {spec.name: spec for spec in await session.tools()}

    spec = found["own_nearest"]
    assert found.keys() == {"own_nearest", "own_whoami", "own_fetch"}
    assert (spec.description, spec.status) == ("Find the nearest place.", ToolStatus.EXPOSED)
    assert spec.input_schema["required"] == ["to"]
    assert spec.input_schema["properties"] == {
        "to": {"type": "string", "description": "Where to look from."},
        "kind": {"enum": ["lake", "peak"], "default": "peak"},
        "within": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    }
    assert spec.output_schema is not None
    assert spec.output_schema["properties"].keys() == {"name", "height"}
    assert [found[name].permissions for name in found] == [
        {Permission.READ},
        {Permission.READ},
        {Permission.WRITE, Permission.CONNECT},
    ]


async def test_a_function_is_called_with_what_was_given_and_its_result_is_structured():
    async with serving(nearest) as session:
        outcome = good(await session.call("own_nearest", {"to": "Bern", "within": 3}))

    assert outcome.structured == {"name": "peak by Bern within 3", "height": 0.0}
    assert (outcome.server, outcome.tool) == ("own", "nearest")


@pytest.mark.parametrize("arguments", [{}, {"to": 7}, {"to": "Bern", "kind": "sea"}, {"to": "Bern", "more": 1}])
async def test_arguments_that_do_not_fit_never_reach_the_function(arguments: dict[str, Any]):
    async with serving(nearest) as session:
        bad(await session.call("own_nearest", arguments), FailureKind.INVALID_ARGUMENTS)


async def test_who_asks_is_filled_in_and_never_shown_to_a_model():
    async with serving(whoami) as session:
        (spec,) = await session.tools()
        outcome = good(await session.call("own_whoami", {"greeting": "hello"}))
        forged = await session.call("own_whoami", {"greeting": "hello", "me": {"user_id": "eve", "session_id": "s"}})

    assert spec.input_schema["properties"].keys() == {"greeting"}
    assert outcome.text == "hello, alice in s-1"
    bad(forged, FailureKind.INVALID_ARGUMENTS)


async def test_the_event_and_the_audit_record_say_that_it_was_native(
    events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path))

    @tool("write")
    async def burn() -> None:
        raise ToolRetryError("too wet")

    async with serving(note, burn, events=events) as session:
        good(await session.call("own_note", {"text": "a"}))
        bad(await session.call("own_burn", {}), FailureKind.TOOL_ERROR)

    assert [(call.tool, call.server, call.source) for call in events.calls] == [
        ("own_note", "own", "native"),
        ("own_burn", "own", "native"),
    ]
    ended = logged(tmp_path, "ended")
    assert [(record["tool"], record["outcome"], record["source"]) for record in ended] == [
        ("note", "ok", "native"),
        ("burn", "tool_error", "native"),
    ]
    assert [record["tool"] for record in logged(tmp_path, "sending")] == ["note", "burn"]


async def test_a_call_of_a_server_is_still_told_as_one(events: Events, tmp_path: Path):
    from mcp.server import MCPServer

    server = MCPServer("other", log_level="CRITICAL")

    @server.tool()
    def echo(text: str) -> str:  # pyright: ignore[reportUnusedFunction] -- the server has it
        return text

    async with fail_after(20), Runtime.from_servers({"other": server, "own": [note]}, sinks=[events.append]) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("other_echo", {"text": "a"}))
        good(await session.call("own_note", {"text": "a"}))

    assert [call.source for call in events.calls] == ["mcp", "native"]


async def test_a_file_and_functions_go_together_and_an_edit_keeps_the_functions(tmp_path: Path):
    path = write_yaml(tmp_path, {"echo": entry("echo")})
    runtime = Runtime.from_file(path)
    runtime.native("own", [note], timeouts=Timeouts(call=5))
    async with fail_after(30), runtime:
        session = runtime.session("alice", "s-1")
        names = {spec.name for spec in await session.tools()}
        write_yaml(tmp_path, {"echo": entry("echo"), "more": entry("echo")})
        applied = await runtime.reload()
        outcome = await session.call("own_note", {"text": "still here"})

    assert {"own_note", "echo_echo"} <= names
    assert (applied.added, applied.removed, applied.restarted) == (("more",), (), ())
    assert good(outcome).text == "noted still here"


def test_functions_and_a_server_cannot_have_one_name(tmp_path: Path):
    runtime = Runtime.from_file(write_yaml(tmp_path, {"echo": entry("echo")}))
    with pytest.raises(UsageError, match="echo"):
        runtime.native("echo", [note])


async def test_functions_cannot_be_added_to_a_runtime_that_runs():
    async with fail_after(20), Runtime.from_servers({"own": [note]}) as runtime:
        with pytest.raises(UsageError, match="running"):
            runtime.native("more", [note])


async def test_the_operators_words_hold_for_functions(events: Events):
    asked: list[Any] = []

    def on_ask(approval: Any) -> bool:
        asked.append((approval.name, dict(approval.arguments)))
        return approval.arguments["text"] != "no"

    settings: dict[str, Any] = {"ask": ("note",), "block": ("fetch",), "limits": Limits(per_minute=2)}
    async with serving(note, fetch, whoami, on_ask=on_ask, **settings) as session:
        names = [spec.name for spec in await session.tools()]
        good(await session.call("own_note", {"text": "yes"}))
        bad(await session.call("own_note", {"text": "no"}), FailureKind.DENIED)
        bad(await session.call("own_fetch", {"url": "x"}), FailureKind.UNKNOWN_TOOL)
        good(await session.call("own_whoami", {"greeting": "hi"}))
        limited = bad(await session.call("own_whoami", {"greeting": "hi"}), FailureKind.DENIED)

    assert names == ["own_note", "own_whoami"]
    assert asked == [("own_note", {"text": "yes"}), ("own_note", {"text": "no"})]
    assert limited.retry_after


async def test_an_operator_can_only_tighten_what_a_function_says_of_itself():
    async with serving(nearest, note, permissions={"nearest": ["connect"]}) as session:
        found = {spec.key.tool: spec.permissions for spec in await session.tools()}

    assert found == {"nearest": {Permission.READ, Permission.CONNECT}, "note": {Permission.WRITE}}


async def test_once_private_what_does_not_connect_goes_on_and_what_does_is_refused(events: Events):
    ran: list[str] = []

    @tool("write", "connect")
    async def post(text: str) -> str:
        ran.append(text)
        return text

    async with serving(note, fetch, post, nearest, events=events) as session:
        good(await session.call("own_post", {"text": "public"}))
        await session.add_private_dataset("salaries", SECRET)
        noted = good(await session.call("own_note", {"text": "private"}))
        found = good(await session.call("own_nearest", {"to": "Bern"}))
        refused = bad(await session.call("own_post", {"text": "private"}), FailureKind.DENIED)
        undeclared = bad(await session.call("own_fetch", {"url": "private"}), FailureKind.DENIED)
        (receipt,) = session.receipts

    assert ran == ["public"]
    assert (noted.lane, found.lane) == (Lane.SEALED, Lane.SEALED)
    assert "own_post may connect" in refused.message
    assert "@tool(" in undeclared.fix
    assert receipt.twins == {"own": "native"}


async def test_a_raises_rule_holds_for_a_function_before_it_runs():
    levels: list[DataSensitivity] = []

    @tool("read")
    async def salaries() -> str:
        levels.append(sessions[0].sensitivity)
        return "much"

    sessions: list[AgentSession] = []
    async with serving(salaries, fetch, raises={"salaries": SECRET}) as session:
        sessions.append(session)
        outcome = good(await session.call("own_salaries"))
        bad(await session.call("own_fetch", {"url": "x"}), FailureKind.DENIED)

    assert levels == [SECRET]
    assert outcome.lane is Lane.SEALED
