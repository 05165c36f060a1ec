"""Words that must not be in the audit log, put wherever a caller, a server or a config can put them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.client_features import Accept, ElicitAnswer
from bascule.core.errors import BasculeError
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.auditing import checked, logged
from support.offers import DONE, SCHEMA, life, required, result
from support.runtime import a_tool, running
from support.scenarios import scripted, write_yaml
from support.waiting import fail_after, until

CANARY = "canary-5f1e77aa"
"""Part of everything that must not be written."""


def word(what: str) -> str:
    return f"{CANARY}-{what}"


ERROR = {"error": {"code": -32000, "message": word("error"), "data": {"path": f"/home/{word('path')}"}}}
FAILED = {
    "result": {
        "isError": True,
        "content": [{"type": "text", "text": word("text")}],
        "structuredContent": {"message": word("message"), "code": word("code")},
        "resultType": "complete",
    }
}
ODD = {
    "result": {"content": [{"type": word("type")}], "resultType": "complete", "_meta": {word("meta"): word("value")}}
}
ASKS = {"method": "elicitation/create", "params": {"message": word("question"), "requestedSchema": SCHEMA}}
TOOLS = [
    {**a_tool("act"), "description": word("description"), "annotations": {"title": word("title")}},
    a_tool("strict", {"properties": {"n": {"type": "integer"}}, "additionalProperties": False}),
]
PROMPTS = ({"name": "greet", "description": word("prompt"), "arguments": [{"name": "who", "required": True}]},)


def hostile(folder: Path) -> ServerConfig:
    """A server that says the words on every occasion."""
    scenario = life(
        uris=(f"note://{word('uri')}",),
        templates=(f"file:///{word('template')}/{{name}}",),
        prompts=PROMPTS,
        scenario={
            "tools/list": [result(tools=TOOLS)],
            "tools/call": [
                DONE,
                ERROR,
                FAILED,
                ODD,
                required(q=ASKS),
                DONE,
                {"stderr": word("stderr"), "exit": 3},
                DONE,
            ],
            "resources/read": [result(contents=[{"uri": "x", "text": word("content")}]), ERROR],
        },
    )
    server = scripted(folder, scenario)
    return replace(server, transport=replace(server.transport, env={"KEY": word("secret")}))


def remote() -> ServerConfig:
    """One that cannot be reached, by an address and with a header that nobody may know."""
    url = f"http://127.0.0.1:9/{word('address')}"
    return ServerConfig(name="away", transport=StreamableHttpTransport(url, headers={"X-Key": word("header")}))


def answered(_question: Any) -> ElicitAnswer:
    return Accept({"n": 1, "unit": word("answer")})


@asynccontextmanager
async def at_work(folder: Path, **config: Any) -> AsyncGenerator[tuple[Runtime, AgentSession]]:
    async with running(hostile(folder), remote(), on_elicit=answered, **config) as runtime:
        yield runtime, runtime.session("alice", "s-1")


async def everything(session: AgentSession) -> None:
    """Every kind of request, with the words wherever they fit, and every kind of end."""
    await session.connect()
    await session.library()
    for number in range(8):
        await session.call("work_act", {"text": word("argument"), word("name"): number, "path": f"/etc/{word('file')}"})
    await session.call("work_strict", {word("unknown"): word("argument")})
    await session.call("work_strict", {"n": word("wrong")})
    await session.call(f"work_{word('tool')}", {"text": word("argument")})
    await session.call("away_act", {"text": word("argument")})
    await session.call("work_act", {"text": word("argument")}, timeout=-1)
    for uri in (f"note://{word('uri')}", f"file:///{word('template')}/x", f"{word('scheme')}://x", word("no uri")):
        await session.read(uri)
    await session.read(f"other://{word('uri')}", server="work")
    await session.read(f"other://{word('uri')}", server=word("server"))
    await session.prompt("work_greet", {"who": word("who")})
    await session.prompt("work_greet", {word("who"): "x"})
    await session.prompt(word("prompt"), {"who": "x"})
    await session.complete("work_greet", "who", word("value"), {"other": word("context")})
    await session.complete(f"file:///{word('template')}/{{name}}", "name", word("value"))
    await session.add_private_dataset(word("dataset"), DataSensitivity.SECRET)
    await session.call("work_act", {"text": word("argument")})


def written(state: Path) -> str:
    return "\n".join(path.read_text("utf-8", "replace") for path in sorted((state / "audit").iterdir()))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The folder itself has the words in its name.
    state = tmp_path / word("home")
    monkeypatch.setenv("BASCULE_HOME", str(state))
    return state


async def test_none_of_them_is_in_the_log(state: Path, tmp_path: Path):
    async with at_work(tmp_path) as (_, session):
        await everything(session)

    kinds = {record["kind"] for record in logged(state)}
    assert kinds >= {"sending", "ended", "level", "link", "catalog", "question"}
    assert {record["outcome"] for record in logged(state, "ended")} >= {
        *("ok", "tool_error", "connection_error", "invalid_arguments", "unknown_tool", "denied"),
    }
    assert CANARY not in written(state)
    assert (await checked(state)).ok


async def test_none_is_there_after_edits_of_the_config(state: Path, tmp_path: Path):
    path = write_yaml(tmp_path, {"work": {"command": "true", "env": {"KEY": word("secret")}}})
    async with fail_after(20, "a runtime"), Runtime.from_file(path) as runtime:
        path.write_text(f"mcp_servers: {{work: {{command: {word('command')}, {word('key')}: 1}}}}")
        with pytest.raises(BasculeError):
            await runtime.reload()
        write_yaml(tmp_path, {"other": {"command": word("command"), "args": [f"/home/{word('path')}"]}})
        await runtime.reload()
        await runtime.session("alice", "s-1").connect()
        await until(lambda: len(logged(state, "config")) == 2)

    assert CANARY not in written(state)


async def test_with_whole_arguments_the_secrets_of_the_server_are_still_not_there(state: Path, tmp_path: Path):
    async with at_work(tmp_path, audit_arguments="full") as (_, session):
        await session.connect()
        await session.call("work_act", {"text": f"I know {word('secret')}", "own": word("argument")})
        await session.call(f"work_{word('tool')}", {"text": word("argument")})

    log = written(state)
    assert word("secret") not in log
    assert word("tool") not in log
    assert log.count(word("argument")) == 1
