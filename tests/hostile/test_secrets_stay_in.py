"""Secrets in forty places, and every way in which a runtime, a gateway or a command speaks: none of them is heard."""

import asyncio
import json
import logging
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.core.client_features import Accept
from bascule.core.events import RequestEnded, ToolInvoked
from support.canaries import Canaries, told
from support.collector import Collector, collecting
from support.command import bascule, environment, started
from support.gateways import ask, introduced
from support.http_servers import Asked, error_body, http_reply, raw_server, result_body
from support.kit_http import Line, bearer, line_to
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.tokens import AUDIENCE, ISSUER, SECRET
from support.waiting import fail_after, until

AUTH = {"keys": [{"algorithm": "HS256", "secret": SECRET}], "issuer": ISSUER, "audience": AUDIENCE}

HELD = (
    *("env", "env of the process", "env of a dotenv", "header", "bearer header", "query", "path", "oauth secret"),
    *("signing secret", "caller token", "wrong token", "basic auth", "cookie", "session header", "minted token"),
    *("collector header", "answer"),
)
"""Credentials, and what a person was asked for: these are on no surface at all, errors included."""

SAID = (
    *("argument", "argument name", "wrong argument", "nested argument", "result argument", "structured argument"),
    *("unknown tool", "unknown method", "resource", "prompt argument", "unknown prompt", "completion"),
    *("baggage", "baggage header", "client name", "capability", "meta key", "meta value", "progress token"),
    *("param header", "query of the door", "user agent"),
)
"""What callers say: it goes to the server, and back to the caller; whoever watches does not see it."""

NAMES = ("user", "agent session")
"""Who asks: in the audit log, and in no metric and no span."""

OF_THE_FILE = ("userinfo", "collector userinfo", "argument of a command", "store password", "odd header", "weak secret")
"""What stands in files that are refused, or that lead nowhere."""


def test_there_are_forty_of_them():
    places = (*HELD, *SAID, *NAMES, *OF_THE_FILE)
    assert len(places) == len({*places}) >= 40


@dataclass
class Place:
    """Where a gateway runs, and all that it shows."""

    folder: Path
    word: Canaries = field(default_factory=Canaries)
    shown: dict[str, str | bytes] = field(default_factory=dict[str, str | bytes])
    bodies: list[bytes] = field(default_factory=list[bytes])

    def body(self) -> None:
        self.shown["answers of the gateway"] = b"\n".join(self.bodies)


def echo(word: Canaries, calls: list[Asked]) -> Any:
    """A remote server that repeats the headers and the address of each request: as HTTP first, then in the protocol."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        calls.append(asked)
        message = json.loads(asked.body) if asked.body else {}
        seen = f"{asked.path} {asked.headers} {asked.headers.get('authorization', '').removeprefix('Bearer ')}"
        if message.get("method") == "server/discover":
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            body = result_body(message["id"], {**found, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"})
        elif message.get("method") == "tools/list":
            tools = [{"name": "tell", "inputSchema": {"type": "object"}}]
            body = result_body(message["id"], {"tools": tools, "ttlMs": 0, "cacheScope": "private"})
        elif len(calls) % 2:
            writer.write(http_reply(seen.encode(), "500 Internal Server Error", "text/plain"))
            return
        else:
            body = error_body(message.get("id"), -32000, seen, {"seen": seen})
        writer.write(http_reply(body))

    return answer


def config(place: Place, port: int, **top: Any) -> Path:
    """A file in which every credential stands that a file can hold."""
    word, folder = place.word, place.folder
    (folder / ".env").write_text(f"FROM_DOTENV={word('env of a dotenv')}\n")
    env = {
        "SECRET_A": word("env"),
        "SECRET_B": "${CANARY_OF_THE_PROCESS}",
        "SECRET_C": "${FROM_DOTENV}",
    }
    url = f"http://127.0.0.1:{port}/mcp/{word('path')}?api_key={word('query')}"
    headers = {"X-Key": word("header"), "Authorization": f"Bearer {word('bearer header')}"}
    servers = {
        "local": entry("telltale", folder / "found", env=env),
        "kit": entry("telltale", folder / "minted", kit=True),
        "away": {"url": url, "headers": headers, "era": "new"},
        "login": {
            "url": "http://127.0.0.1:9/mcp",
            "oauth": {"client_id": "us", "client_secret": word("oauth secret")},
            "timeouts": {"connect": 2},
        },
    }
    return write_yaml(folder, servers, **top)


@asynccontextmanager
async def served(place: Place, remote: int, collector: Collector) -> AsyncGenerator[tuple[int, int]]:
    """`bascule serve` as it is run in earnest. Gives its port, and that of its metrics."""
    port, metrics = free_port(), free_port()
    word = place.word
    word.learn("signing secret", SECRET)
    telemetry = {"otlp": collector.url, "prometheus": f"127.0.0.1:{metrics}"}
    path = config(place, remote, gateway={"port": port, "auth": AUTH}, telemetry=telemetry)
    env = {
        "CANARY_OF_THE_PROCESS": word("env of the process"),
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-key={word('collector header')}",
    }
    words = ("serve", "--config", str(path), "--json", "--log", "json")
    async with started(place.folder, *words, env=env) as process, fail_after(90, "a gateway"):
        assert process.stdout is not None
        assert process.stderr is not None
        first = await process.stdout.readline()
        assert json.loads(first)["servers"] == 4
        logged = asyncio.create_task(process.stderr.read())
        yield port, metrics
        process.send_signal(signal.SIGINT)
        place.shown["stdout of serve"] = first + await process.stdout.read()
        place.shown["log of serve"] = await logged
        assert await process.wait() == 0


async def drive(place: Place, line: Line, token: str) -> None:
    """Everything that a client can ask, with a word wherever it can say one."""
    word = place.word
    meta = {
        "baggage": f"user={word('baggage')}",
        "traceparent": f"00-{'a' * 32}-{'b' * 16}-01",
        word("meta key"): word("meta value"),
        "progressToken": word("progress token"),
        "io.modelcontextprotocol/clientInfo": {"name": word("client name"), "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"experimental": {word("capability"): {}}},
    }
    usual: dict[str, Any] = {
        "Authorization": token,
        "baggage": f"user={word('baggage header')}",
        "Mcp-Param-X": word("param header"),
        "Cookie": word("cookie"),
        "User-Agent": word("user agent"),
    }

    async def said(method: str, params: dict[str, Any]) -> None:
        answer = await ask(line, method, {**params, "_meta": meta}, **usual)
        place.bodies.append(repr(answer.headers).encode() + answer.body)

    given: dict[str, Any] = {"a": word("argument"), word("argument name"): 1, "deep": {"x": [word("nested argument")]}}
    for server in ("local", "kit"):
        for how in ("error", "tool_error", "garbage", "exit", "error"):
            await said("tools/call", {"name": f"{server}_tell", "arguments": {"how": how, **given}})
    await said("tools/call", {"name": "local_tell", "arguments": {"how": "result", "x": word("result argument")}})
    await said(
        "tools/call", {"name": "local_tell", "arguments": {"how": "structured", "x": word("structured argument")}}
    )
    await said("tools/call", {"name": "local_tell", "arguments": {"how": "x", "n": word("wrong argument")}})
    for _ in range(4):
        await said("tools/call", {"name": "away_tell", "arguments": given})
    await said("tools/call", {"name": "login_tell", "arguments": given})
    await said("tools/call", {"name": word("unknown tool")})
    await said(word("unknown method"), {})
    await said("tools/list", {})
    await said("resources/list", {})
    await said("resources/read", {"uri": f"db://me:{word('resource')}@h/x?key={word('resource')}"})
    await said("prompts/get", {"name": "local_hint", "arguments": {"who": word("prompt argument")}})
    await said("prompts/get", {"name": word("unknown prompt")})
    argument = {"name": "who", "value": word("completion")}
    await said("completion/complete", {"ref": {"type": "ref/prompt", "name": "local_hint"}, "argument": argument})


async def knock(place: Place, line: Line, token: str) -> None:
    """Those who are not let in, and what stands beside the endpoint."""
    word = place.word
    for shown in (f"Bearer {word('wrong token')}", f"Basic {word('basic auth')}", word("wrong token")):
        place.bodies.append((await ask(line, "tools/list", Authorization=shown)).body)
    gone = await ask(
        line, "tools/list", new=False, Authorization=token, Mcp_Session_Id=word("session header"), Accept="*/*"
    )
    place.bodies.append(gone.body)
    session = await introduced(line, Authorization=token)
    old = await ask(line, "tools/call", {"name": "local_tell"}, new=False, Authorization=token, Mcp_Session_Id=session)
    place.bodies.append(old.body)
    for path in ("/healthz", "/readyz", f"/x?key={word('query of the door')}"):
        place.bodies.append((await line.send(ask=f"GET {path} HTTP/1.1")).body)


async def commands(place: Place) -> None:
    """What a person sees who runs the command on the same file."""
    env = {"CANARY_OF_THE_PROCESS": place.word("env of the process")}
    tell = ("call", "local_tell", "how=error")
    words: list[tuple[str, ...]] = [
        ("list", "--json"),
        tell,
        (*tell, "--json"),
        ("call", "kit_tell", "how=exit"),
        ("call", "away_tell"),
        ("inspect", "local", "--json"),
        ("doctor",),
        ("logs", "local"),
        ("logs", "kit", "--json"),
        ("audit", "show", "--json"),
        ("audit", "export", "--format", "csv"),
    ]
    for each in words:
        ran = await bascule(place.folder, *each, "--config", str(place.folder / "bascule.yaml"), env=env)
        place.shown[f"bascule {' '.join(each)}"] = f"{ran.out}\n{ran.err}"


def kept(folder: Path) -> dict[str, str | bytes]:
    """Logs that are kept in files: of servers, and of what was done. Keys are kept too, and are secret themselves."""
    state = Path(environment(folder)["BASCULE_HOME"])
    files = [file for part in ("logs", "audit") for file in (state / part).rglob("*") if file.is_file()]
    assert {file.relative_to(state).parts[0] for file in files} == {"logs", "audit"}
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.long
@pytest.mark.requirement("OBS-1")
async def test_nothing_that_a_gateway_was_trusted_with_is_seen_or_heard(tmp_path: Path):
    place = Place(tmp_path)
    word = place.word
    token = bearer(word("user"), word("agent session"))
    word.learn("caller token", token.removeprefix("Bearer "))
    calls: list[Asked] = []
    async with collecting() as collector, raw_server(echo(word, calls)) as remote:
        async with served(place, remote.port, collector) as (port, metrics):
            async with line_to(port) as line:
                await drive(place, line, token)
                await knock(place, line, token)
            async with line_to(metrics) as line:
                place.shown["metrics"] = (await line.send(ask="GET /metrics HTTP/1.1")).body
        place.shown["spans and metrics that were sent"] = b"\n".join(asked.body for asked in collector.asked)
        assert all(asked.headers["x-key"] == word("collector header") for asked in collector.asked)
        await commands(place)
    place.body()
    for made in (tmp_path / "minted").read_text().split():
        word.learn("minted token", made)
    # What was put there has arrived: else it would be easy to keep.
    assert {word("env"), word("env of the process"), word("env of a dotenv")} <= {
        *(tmp_path / "found").read_text().split()
    }
    assert any(word("query") in asked.path and word("path") in asked.path for asked in calls)
    assert any(asked.headers.get("x-key") == word("header") for asked in calls)
    assert len(collector.spans) > 30
    assert place.shown["log of serve"]
    for line_of_log in bytes(place.shown["log of serve"]).splitlines():  # pyright: ignore[reportArgumentType]
        assert json.loads(line_of_log)["message"]
    held = [each for each in HELD if each in word.words]
    assert not (found := word.found({**place.shown, **kept(tmp_path)}, held)), "\n".join(found)
    watched = ("metrics", "spans and metrics that were sent")
    assert word.found({name: place.shown[name] for name in watched}, (*SAID, *NAMES)) == []
    audit = {name: text for name, text in kept(tmp_path).items() if "/audit/" in name}
    assert word.found({**audit, "log of serve": place.shown["log of serve"]}, SAID) == []


@pytest.mark.requirement("OBS-1")
async def test_nothing_that_a_program_was_trusted_with_is_seen_or_heard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    place = Place(tmp_path)
    word, events = place.word, list[Any]()
    monkeypatch.setenv("CANARY_OF_THE_PROCESS", word("env of the process"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-key={word('collector header')}")
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    async with collecting() as collector, raw_server(echo(word, [])) as remote:
        path = config(place, remote.port, telemetry={"otlp": collector.url})
        made = Runtime.from_file(path, sinks=[events.append], on_elicit=lambda *_: Accept({"k": word("answer")}))
        with caplog.at_level(logging.DEBUG, "bascule"):
            async with fail_after(60, "a runtime"), made as runtime:
                session = runtime.session(word("user"), word("agent session"))
                failed: list[Any] = []
                for how in ("error", "tool_error", "garbage", "ask", "exit"):
                    failed.append(await session.call("local_tell", {"how": how, "a": word("argument")}))
                    failed.append(await session.call("kit_tell", {"how": how}))
                failed += [await session.call("away_tell") for _ in range(4)]
                failed.append(await session.call("login_tell"))
                failed.append(await session.prompt("local_hint", {"who": word("prompt argument")}))
                failed.append(await session.read(f"db://{word('resource')}"))
                place.shown["reports"] = told([repr(report) async for report in session.connecting()])
        place.shown["sent"] = b"\n".join(asked.body for asked in collector.asked)
    assert not any(outcome.ok for outcome in failed)
    for made_token in (tmp_path / "minted").read_text().split():
        word.learn("minted token", made_token)
    place.shown["failures"] = told([repr(outcome) for outcome in failed])
    place.shown["events"] = told([repr(event) for event in events])
    place.shown["log"] = caplog.text
    held = [each for each in HELD if each in word.words]
    assert {"answer", "minted token", "env"} <= {*held}
    surfaces = {**place.shown, **kept(tmp_path)}
    assert not (found := word.found(surfaces, {*held} - {"answer"})), "\n".join(found)
    # The server itself has repeated the answer, to whom it was given; nobody else is told.
    watched = {name: place.shown[name] for name in ("sent", "log")}
    assert word.found(watched, ("answer", "argument", "prompt argument", "resource")) == []
    shapes = [repr(event.arguments) for event in events if isinstance(event, ToolInvoked | RequestEnded)]
    assert word.found({"arguments of events": told(shapes)}, ("answer", "argument", "prompt argument")) == []
    assert word.found({"sent": place.shown["sent"]}, NAMES) == []


@pytest.mark.requirement("OBS-1")
@pytest.mark.long
async def test_a_file_that_is_refused_is_not_repeated(tmp_path: Path):
    word, shown = Canaries(), dict[str, str | bytes]()
    url = "https://h/mcp"
    refused: dict[str, dict[str, Any]] = {
        "userinfo": {"mcp_servers": {"a": {"url": f"https://me:{word('userinfo')}@h/mcp"}}},
        "collector userinfo": {"telemetry": {"otlp": f"http://me:{word('collector userinfo')}@h:4318"}},
        "argument of a command": {
            "mcp_servers": {"a": {"command": "x", "args": [f"--token={word('argument of a command')}"]}}
        },
        "store password": {"store": f"postgresql://me:{word('store password')}@127.0.0.1:9/x"},
        "odd header": {"mcp_servers": {"a": {"url": url, "headers": {"X-Key": f"{word('odd header')}\n\x00"}}}},
        "weak secret": {
            "gateway": {"auth": {**AUTH, "keys": [{"algorithm": "HS512", "secret": word("weak secret")}]}},
        },
    }
    assert {*refused} == {*OF_THE_FILE}
    for name, file in refused.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        servers = file.pop("mcp_servers", {"a": {"url": url}})
        path = write_yaml(folder, servers, **file)
        serve = ("serve", "--log", "json", "--dev", "--port", str(free_port()))
        # A database that is not there is waited for.
        for words in (serve,) if "store" in file else (("list", "--json"), serve):
            ran = await bascule(folder, *words, "--config", str(path))
            assert ran.code, (name, words)
            assert ran.err
            shown[f"{name}: bascule {words[0]}"] = f"{ran.out}\n{ran.err}"
    assert word.found(shown, OF_THE_FILE) == []


async def test_a_canary_that_sings_is_heard():
    """Else all of the above would prove nothing."""
    word = Canaries()
    word("env")
    assert word.found({"a": f"x{word('env')}x"}, ["env"]) == ["a shows the word of 'env'"]
    assert word.found({"a": word("env").lower().encode()}, ["env"]) == ["a shows the word of 'env'"]
    assert word.found({"a": "nothing"}, ["env"]) == []
    await until(lambda: True)
