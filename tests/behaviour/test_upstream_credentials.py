"""Who we are to servers: each principal shows its own credentials, to the server they are for, and its token to none."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from bascule.config import Sandbox, ServerConfig, StdioTransport, StreamableHttpTransport, Timeouts
from bascule.core.text.redaction import SHOWN
from support.bwrap import skip_without_bubblewrap
from support.command import BASCULE, bascule
from support.fake_login import fake_login
from support.gateways import AUTH, Served, ask, line_to, serving
from support.http_servers import asgi_server
from support.kit_http import Answered, bearer
from support.runtime import Events, obeying, stand_in
from support.scenarios import write_yaml
from support.servers import argv
from support.waiting import fail_after

CANARY = "canary-in-the-token-7f3a"
TIMES = Timeouts(connect=40, probe=20, close=1)


@dataclass
class Recorder:
    """A remote server of the official SDK, that notes all it is asked: from which connection, with which headers."""

    url: str = ""
    asked: list[tuple[Any, dict[str, str], bytes]] = field(default_factory=list[tuple[Any, dict[str, str], bytes]])
    refusing: set[str] = field(default_factory=set[str])
    """Values of `Authorization` that are not let in."""

    def of(self, who: str) -> list[tuple[Any, dict[str, str]]]:
        """What was asked on somebody's behalf, as the arguments of a call say."""
        return [(client, headers) for client, headers, body in self.asked if f'"{who}"'.encode() in body]

    def app(self, inner: Any) -> Any:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                return await inner(scope, receive, send)
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            if headers.get("authorization") in self.refusing:
                await send(
                    {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]}
                )
                return await send({"type": "http.response.body", "body": b""})
            taken = bytearray()

            async def tapped() -> Any:
                event = await receive()
                taken.extend(event.get("body", b""))
                return event

            try:
                return await inner(scope, tapped, send)
            finally:
                self.asked.append((scope["client"], headers, bytes(taken)))

        return noting


@asynccontextmanager
async def recording() -> AsyncGenerator[Recorder]:
    made, server = Recorder(), MCPServer("notes")

    @server.tool()
    def note(who: str) -> str:
        return who

    del note
    async with asgi_server(made.app(server.streamable_http_app(stateless_http=True))) as origin:
        made.url = f"{origin}/mcp"
        yield made


def remote(name: str, recorder: Recorder, *, headers: dict[str, str] | None = None, **more: Any) -> ServerConfig:
    return ServerConfig(name, StreamableHttpTransport(recorder.url, headers or {}), timeouts=TIMES, **more)


def printing(more: str = "{}") -> tuple[str, ...]:
    return tuple(argv("printed_headers", more))


async def called(served: Served, token: str, tool: str, **arguments: Any) -> Answered:
    async with line_to(served.port) as line, fail_after(120, "a call"):
        return await ask(line, "tools/call", {"name": tool, "arguments": arguments}, Authorization=token)


@pytest.mark.requirement("GTW-2")
async def test_what_a_program_prints_for_one_principal_no_other_shows(tmp_path: Path):
    async with (
        recording() as recorder,
        serving(remote("notes", recorder, headers_command=printing('{"X-Key": "key-of-all"}')), auth=AUTH) as served,
    ):
        people = ("alice", "bob", "carol")
        for _ in range(2):
            answers = await asyncio.gather(*(called(served, bearer(who), "notes_note", who=who) for who in people))
            assert [answer.status for answer in answers] == [200] * 3
            assert [answer.text for answer in answers] == [*people]
    connections = [{client for client, _ in recorder.of(who)} for who in people]
    assert all(connections)
    assert not set[Any].intersection(*connections)
    for who in people:
        assert {headers["authorization"] for _, headers in recorder.of(who)} == {f"Bearer printed-for-{who}"}
        assert {headers["x-key"] for _, headers in recorder.of(who)} == {"key-of-all"}


@pytest.mark.requirement("GTW-2")
async def test_what_is_refused_is_printed_anew_and_told_where_that_is_no_use():
    async with (
        recording() as recorder,
        serving(remote("notes", recorder, headers_command=printing()), auth=AUTH) as served,
    ):
        recorder.refusing.add("Bearer printed-for-mallory")
        good = await called(served, bearer("alice"), "notes_note", who="alice")
        bad = await called(served, bearer("mallory"), "notes_note", who="mallory")
    assert good.text == "alice"
    assert bad.message["result"]["isError"] is True
    assert "refuses the headers" in bad.text
    assert recorder.of("mallory") == []


@pytest.mark.requirement("GTW-2")
async def test_what_a_program_printed_shows_nowhere(tmp_path: Path):
    events, secret = Events(), "printed-secret-91c2"
    repeats = (
        f"import sys; print('{{\"A\": \"{secret}\"}}'); print('cannot use {secret}', file=sys.stderr); sys.exit(4)"
    )
    failing = (sys.executable, "-c", repeats)
    async with (
        recording() as recorder,
        serving(remote("notes", recorder, headers_command=failing), auth=AUTH, events=events) as served,
    ):
        answer = await called(served, bearer("alice"), "notes_note", who="alice")
        reports = served.runtime.session("alice", "s-1").servers()
    assert "ended with 4" in answer.text
    assert SHOWN in str(reports[0].error.evidence if reports[0].error is not None else "")
    told = [answer.body.decode(), repr(reports), repr(list(events)), *kept()]
    assert not any(secret in each for each in told)
    assert recorder.asked == []


@pytest.mark.long
async def test_a_command_shows_that_headers_are_printed_and_not_which(tmp_path: Path):
    async with recording() as recorder:
        entry = {"url": recorder.url, "headers_command": [*printing()]}
        path = write_yaml(tmp_path, {"notes": entry})
        for command in (("inspect", "notes"), ("doctor",), ("list",)):
            ran = await bascule(tmp_path, *command, "--config", str(path), "--json", "--user", "alice")
            assert "printed-for-alice" not in ran.out + ran.err
        shown = await bascule(tmp_path, "inspect", "notes", "--config", str(path), "--json", "--user", "alice")
    assert any("headers_command" in note for note in shown.json["notes"])
    assert shown.json["state"] == "ready", shown
    assert {headers["authorization"] for _, headers, _ in recorder.asked} == {"Bearer printed-for-alice"}


def kept() -> list[str]:
    """Everything in the state folder."""
    folder = Path(os.environ["BASCULE_HOME"])
    return [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]


def canary_token(user: str) -> tuple[str, tuple[str, ...]]:
    """A good token, and all by which it would be known again."""
    header = bearer(user, canary=CANARY)
    _, body, signature = header.removeprefix("Bearer ").split(".")
    return header, (body, signature, CANARY)


def claims_in(text: str) -> list[str]:
    """What the tokens in a text say."""
    parts = [word for word in text.replace('"', " ").replace("\\", " ").split() if word.count(".") == 2]
    found: list[str] = []
    for part in parts:
        body = part.split(".")[1]
        found.append(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("latin-1"))
    return found


@pytest.mark.requirement("GTW-2")
@pytest.mark.long
async def test_a_callers_token_reaches_no_server_in_any_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    skip_without_bubblewrap()
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")
    caplog.set_level("DEBUG")
    events = Events()
    token, signs = canary_token("alice")
    async with AsyncExitStack() as stack:
        by_env, by_command = [await stack.enter_async_context(recording()) for _ in range(2)]
        login = await stack.enter_async_context(fake_login())
        served = await stack.enter_async_context(
            serving(
                obeying(tmp_path / "log", sandbox="none"),
                stand_in("seen", "mirror", sandbox="none"),
                stand_in("kit", "mirror", kit=True, sandbox="none"),
                ServerConfig(
                    "box",
                    StdioTransport(str(BASCULE), ("sandbox", "serve")),
                    sandbox=Sandbox(engine="bubblewrap"),
                    timeouts=TIMES,
                ),
                remote("fixed", by_env, headers={"Authorization": "Bearer of-the-operator"}),
                remote("printed", by_command, headers_command=printing()),
                ServerConfig("login", StreamableHttpTransport(login.url), timeouts=TIMES),
                auth=AUTH,
                events=events,
            )
        )
        session = served.runtime.session("alice", "s-1")
        await session.login("login", login.browser, "http://127.0.0.1:7/callback")
        answers = {
            tool: await called(served, token, tool, **arguments)
            for tool, arguments in {
                "work_act": {"who": "alice"},
                "seen_look": {},
                "kit_look": {},
                "box_run": {"argv": ["env"]},
                "fixed_note": {"who": "alice"},
                "printed_note": {"who": "alice"},
            }.items()
        }
        nobodys = await called(served, token + "x", "work_act")
    assert nobodys.status == 401
    for tool, answer in answers.items():
        assert answer.message["result"].get("isError") is not True, (tool, answer)
    env_of_kit = answers["kit_look"].message["result"]["structuredContent"]["env"]
    minted = claims_in(env_of_kit["BASCULE_TOKEN"])
    assert json.loads(minted[0])["sub"] == "alice"

    seen = {
        "messages to a process": (tmp_path / "log").read_text(),
        **{f"the answer of {tool}": answer.body.decode() for tool, answer in answers.items()},
        "requests to a remote server": repr(by_env.asked) + repr(by_command.asked),
        "requests to where one logs in": repr(login.__dict__),
        "what a minted token says": repr(minted),
        "events": repr(list(events)),
        "logs": caplog.text,
        **{f"state {number}": text for number, text in enumerate(kept())},
    }
    found = [(where, sign) for where, text in seen.items() for sign in signs if sign in text]
    assert found == []

    # And what is each server's own, no other has seen.
    own = {
        "fixed": ("of-the-operator", repr(by_env.asked)),
        "printed": ("printed-for-alice", repr(by_command.asked)),
        "login": (next(given for given in login.authorizations if given), repr(login.authorizations)),
        "kit": (env_of_kit["BASCULE_TOKEN"], repr(env_of_kit)),
    }
    everywhere = {name: text for name, (_, text) in own.items()} | {
        tool: answers[tool].body.decode() for tool in ("work_act", "seen_look", "box_run")
    }
    for name, (credential, text) in own.items():
        assert credential in text
        assert [other for other, told in everywhere.items() if credential in told and other != name] == [], name
