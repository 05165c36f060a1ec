"""Kit server over HTTP and stdio: authentication, header whitespace, change notifications, and the loader of a server file."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.server.providers import FastMCPProvider
from fastmcp.server.transforms import Namespace
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from bascule.config import AuthSettings
from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.identity.jwt.claims import AT_SPAWN, SPAWN_VARIABLE, audience_of_url
from bascule.identity.jwt.minting import KEY_VARIABLE, Mint
from bascule.kit import PrivateData, create_mcp_server, get_user_id
from bascule.kit.events.changes import ALL_LISTS
from bascule.kit.levels.files import KeptLevels
from bascule.kit.server import PlainHeaders, TellingServer, load_server
from support.kit import ALICE, called, client_of, connecting, kit_server, labels_of, reading, text_of
from support.kit_http import AUTH, asked, bearer, listening
from support.ports import free_port
from support.waiting import fail_after, until
from support.warm import python

SCRIPT = Path(__file__).parents[2] / "servers/kit_script.py"
PRIVATE = "Jane Roe, born 1961-04-02"


@reading
def patients() -> str:
    PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
    return "Jane Roe"


@reading
def look() -> str:
    return "looked"


@reading
def whoami() -> str:
    return get_user_id()


# What is refused to be served


def test_who_believes_nobody_is_not_served_over_http(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="believes nobody") as caught:
        kit_server(tmp_path).http_app()
    assert "development" in caught.value.fix


@asynccontextmanager
async def refused_to_start(words: str) -> AsyncGenerator[None]:
    """Whoever starts all the same would serve for ever."""
    with pytest.raises(ConfigError, match=words):
        async with fail_after(20, "the refusal"):
            yield


async def test_nor_by_running_it(tmp_path: Path) -> None:
    for transport in ("http", "sse", "streamable-http"):
        async with refused_to_start("believes nobody"):
            await kit_server(tmp_path).run_async(transport, port=free_port())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "records.example"])
async def test_a_development_principal_listens_to_this_machine_alone(tmp_path: Path, host: str) -> None:
    async with refused_to_start("for this machine alone"):
        await kit_server(tmp_path, development="me").run_http_async(host=host, port=free_port())


def test_a_server_has_either_tokens_or_a_developer(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="either"):
        kit_server(tmp_path, auth=AUTH, development="me")


def test_what_verifies_tokens_is_told_in_our_way(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="AuthSettings"):
        kit_server(tmp_path, auth=object())


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"host": "::"}, {"port": 0}, {"sockets": []}])
async def test_tokens_need_an_address_that_clients_can_write_down(tmp_path: Path, options: dict[str, Any]) -> None:
    server = kit_server(tmp_path, auth=AuthSettings())

    async with refused_to_start("at which address"):
        await server.run_http_async(**{"port": free_port(), **options})


def test_an_address_is_needed_for_an_app_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at which address"):
        kit_server(tmp_path, auth=AUTH).http_app()


async def test_mounted_elsewhere_a_development_principal_is_for_this_machine_alone(tmp_path: Path) -> None:
    inner = kit_server(tmp_path, development="me", tools=[whoami]).http_app()

    def from_afar(app: Any) -> Any:
        async def asgi(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "client": ("192.0.2.7", 4711)} if scope["type"] == "http" else scope, receive, send)

        return asgi

    for app, status in ((inner, 200), (from_afar(inner), 403)):
        outer = Starlette(routes=[Mount("/", app=app)], lifespan=inner.lifespan)
        async with listening(outer) as port:
            assert (await asked(port, "whoami")).status == status


async def test_a_server_of_another_auth_provider_identifies_nobody(tmp_path: Path) -> None:
    from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

    server = kit_server(tmp_path, development="me", tools=[whoami])
    server.auth = StaticTokenVerifier({"theirs": {"client_id": "mallory", "scopes": []}})
    async with listening(server.http_app()) as port:
        answer = await asked(port, "whoami", Authorization="Bearer theirs")
    assert "not known on whose behalf" in answer.text


# Levels


async def test_what_reaches_out_is_refused_from_confidential_on_also_after_a_restart(tmp_path: Path) -> None:
    begun: list[str] = []

    @connecting
    def send() -> None:
        begun.append("sent")

    def server() -> Any:
        return kit_server(tmp_path, tools=[patients, look, send])

    first = server()
    assert not (await called(first, "send", ALICE)).is_error
    assert labels_of(await called(first, "look", ALICE)) is None
    assert labels_of(await called(first, "patients", ALICE)) == ["confidential"]
    for each in (first, server()):
        assert labels_of(await called(each, "look", ALICE)) == ["confidential"]
        refused = await called(each, "send", ALICE)
        assert (refused.is_error, labels_of(refused)) == (True, ["confidential"])
        assert not (await called(each, "send", Principal("alice", "another"))).is_error
    assert begun == ["sent"] * 3


async def test_a_level_that_another_process_raises_in_the_midst_counts(tmp_path: Path) -> None:
    server = kit_server(tmp_path)
    server.tool(connecting(lambda: "sent"), name="send")
    async with client_of(server, ALICE) as client:
        assert text_of(await client.call_tool("send")) == "sent"
        assert isinstance(server.home.levels, KeptLevels)
        twin = KeptLevels(server.home.levels._folder)
        twin.add(ALICE, "patients", DataSensitivity.SECRET)
        twin.close()
        assert (await client.call_tool("send", raise_on_error=False)).is_error


@pytest.mark.parametrize("damage", [b"", b"\0" * 4096, None])
async def test_levels_of_which_a_file_was_damaged_or_lost_are_never_clean(tmp_path: Path, damage: bytes | None) -> None:
    def server(folder: Path) -> Any:
        made = kit_server(folder, tools=[patients])
        made.tool(connecting(lambda: "sent"), name="send")
        return made

    original = server(tmp_path / "original")
    await called(original, "patients", ALICE)
    kept = [file.relative_to(tmp_path / "original") for file in (tmp_path / "original/servers").rglob("*")]
    files = [file for file in kept if (tmp_path / "original" / file).is_file()]
    assert len(files) >= 3

    for number, file in enumerate(files):
        copy = tmp_path / str(number)
        shutil.copytree(tmp_path / "original", copy)
        if damage is None:
            (copy / file).unlink()
        else:
            (copy / file).write_bytes(damage)
        result = await called(server(copy), "send", ALICE)
        assert result.is_error, file
        assert str(tmp_path) not in text_of(result)


async def test_a_lifespan_of_the_author_is_lived_and_its_state_found(tmp_path: Path) -> None:
    lived: list[str] = []

    @asynccontextmanager
    async def life(_server: Any) -> AsyncGenerator[dict[str, str]]:
        lived.append("begun")
        yield {"state": "here"}
        lived.append("ended")

    server = kit_server(tmp_path, lifespan=life, tools=[look])
    assert text_of(await called(server, "look", ALICE)) == "looked"
    assert lived == ["begun", "ended"]


def test_without_more_it_keeps_its_state_where_the_runtime_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path))

    assert create_mcp_server("records").home.folder == tmp_path


# Its own process


def environment(folder: Path, **more: str) -> dict[str, str]:
    language = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_"))}
    return {"PATH": os.environ["PATH"], "BASCULE_HOME": str(folder), **language, **more}


@asynccontextmanager
async def over_stdio(folder: Path, log: Path, **more: str) -> AsyncGenerator[Client[Any]]:
    transport = StdioTransport(
        python(), [str(SCRIPT), "stdio"], env=environment(folder, **more), log_file=log, keep_alive=False
    )
    async with fail_after(40, "the server"), Client(transport) as client:
        yield client


@asynccontextmanager
async def over_http(folder: Path, log: Path, way: str = "http") -> AsyncGenerator[int]:
    port = free_port()
    with log.open("wb") as errors:
        child = await asyncio.create_subprocess_exec(
            python(), str(SCRIPT), way, str(port), env=environment(folder), stderr=errors, stdout=errors
        )
    try:
        await until(lambda: b"Uvicorn running" in log.read_bytes() or child.returncode is not None)
        yield port
    finally:
        if child.returncode is None:
            child.terminate()
        async with fail_after(20, "the end of the server"):
            await child.wait()


def is_whole(log: str) -> None:
    """The log has every frame and every word, in plain lines with their severity."""
    assert f"LookupError: no row for {PRIVATE}" in log
    assert "[Previous line repeated 1 more time]" in log
    assert "kit_script.py" in log
    assert "ERROR fastmcp" in log
    assert "Traceback (most recent call last)" in log
    assert not {"│", "╭", "╰", "❱"} & set(log)


@pytest.mark.long
async def test_over_stdio_a_crash_is_masked_and_in_the_log_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with over_stdio(tmp_path / "state", log) as client:
        for tool in ("crash", "crash_later"):
            result = await client.call_tool(tool, {"words": PRIVATE}, raise_on_error=False)
            assert result.is_error
            assert not {word for word in ("Jane", "LookupError", "kit_script", str(tmp_path)) if word in repr(result)}
            assert text_of(result) == f"Error calling tool {tool!r}"

    is_whole(log.read_text())


async def test_over_http_a_crash_is_masked_and_in_the_log_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with over_http(tmp_path / "state", log) as port:
        answer = await asked(port, "crash", {"words": PRIVATE})
        assert (answer.status, answer.text) == (200, "Error calling tool 'crash'")
        assert b"Jane" not in answer.body
        assert (await asked(port, "whoami")).text == "me/development"

    is_whole(log.read_text())


@pytest.mark.long
async def test_a_server_over_http_believes_the_runtime_on_this_machine(tmp_path: Path) -> None:
    async with over_http(tmp_path / "state", tmp_path / "log", "tokens") as port:
        audience = audience_of_url(f"http://localhost:{port}/mcp")
        token = Mint.of(tmp_path / "state").token(ALICE, audience)
        assert (await asked(port, "whoami", Authorization=f"Bearer {token}")).text == "alice/s-1"
        assert (await asked(port, "whoami", Authorization=bearer("alice"))).status == 401
        assert (await asked(port, "whoami")).status == 401


async def test_a_spawned_server_serves_whom_it_was_started_for_and_keeps_that_to_itself(tmp_path: Path) -> None:
    token = Mint.of(tmp_path / "state").token(ALICE, AT_SPAWN)
    async with over_stdio(tmp_path / "state", tmp_path / "log", **{SPAWN_VARIABLE: token}) as client:
        assert text_of(await client.call_tool("whoami")) == "alice/s-1"
        assert text_of(await client.call_tool("send")) == "sent"
        assert labels_of(await client.call_tool("patients")) == ["confidential"]
        assert (await client.call_tool("send", raise_on_error=False)).is_error
    assert token not in (tmp_path / "log").read_text()


async def test_a_spawned_server_that_is_told_of_nobody_serves_nobody(tmp_path: Path) -> None:
    async with over_stdio(tmp_path / "state", tmp_path / "log") as client:
        for tool in ("whoami", "send", "patients"):
            assert (await client.call_tool(tool, raise_on_error=False)).is_error


async def test_a_spawned_server_that_is_given_the_mark_needs_no_key_and_makes_none(tmp_path: Path) -> None:
    mint = Mint.of(tmp_path / "runtime")
    told = {SPAWN_VARIABLE: mint.token(ALICE, AT_SPAWN), KEY_VARIABLE: str(mint.mark)}
    async with over_stdio(tmp_path / "state", tmp_path / "log", **told) as client:
        assert text_of(await client.call_tool("whoami")) == "alice/s-1"
    assert not (tmp_path / "state/keys/minting.key").exists()


@pytest.mark.parametrize("key", ["", "nonsense", "another"])
def test_a_server_that_is_given_another_mark_does_not_start(tmp_path: Path, key: str) -> None:
    mint = Mint.of(tmp_path / "state")
    mark = str(Mint.of(tmp_path / "other").mark) if key == "another" else key
    ended = started_with(tmp_path, **{SPAWN_VARIABLE: mint.token(ALICE, AT_SPAWN), KEY_VARIABLE: mark})

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("script: BSC-305: " if key == "another" else "script: BSC-100: ")


@pytest.mark.parametrize("token", ["", "nonsense", "another audience", "another key"])
def test_a_server_that_is_started_with_a_bad_token_does_not_start(tmp_path: Path, token: str) -> None:
    made = {
        "another audience": lambda: Mint.of(tmp_path / "state").token(ALICE, "records"),
        "another key": lambda: Mint.of(tmp_path / "other").token(ALICE, AT_SPAWN),
    }
    shown = made[token]() if token in made else token

    ended = started_with(tmp_path, **{SPAWN_VARIABLE: shown})

    assert ended.returncode == 1
    assert ended.stderr.startswith("script: BSC-305: ")
    assert "Traceback" not in ended.stderr
    assert not shown or shown not in ended.stderr
    assert ended.stdout == ""


def started_with(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python(), str(SCRIPT), "stdio"],
        env=environment(tmp_path / "state", **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


async def passed_on(scope: Scope) -> Scope:
    """The scope that the app behind it gets."""
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(_message: Message) -> None:
        raise AssertionError("nothing is sent")

    await PlainHeaders(app)(scope, receive, send)
    return seen[0]


async def test_blanks_around_values_are_taken_off_and_those_within_stay():
    headers = [(b"mcp-name", b"  a tool\t "), (b"x", b""), (b"y", b"\xa0z")]
    given = {"type": "http", "path": "/mcp", "headers": headers}
    got = await passed_on(given)
    assert got["headers"] == [(b"mcp-name", b"a tool"), (b"x", b""), (b"y", b"\xa0z")]
    assert got["path"] == "/mcp"
    assert given["headers"] is headers


async def test_what_is_no_request_is_passed_on_as_it_is():
    scope: Scope = {"type": "lifespan"}
    assert await passed_on(scope) is scope


async def test_what_may_change_every_list_is_told_as_a_change_of_every_list():
    server, heard = TellingServer("telling"), list[ServerEvent]()
    server.changes.subscribe(heard.append)
    other: FastMCP[None] = FastMCP("other")
    for change in (
        lambda: server.disable(names={"a"}),
        lambda: server.enable(names={"a"}),
        lambda: server.add_transform(Namespace("b")),
        lambda: server.add_provider(FastMCPProvider(other)),
        lambda: server.mount(other, namespace="other"),
    ):
        change()
        await asyncio.sleep(0)
        assert heard == [*ALL_LISTS]
        heard.clear()


async def test_disabling_and_enabling_still_do_what_they_say():
    server = TellingServer("telling")

    @server.tool
    def words() -> str:
        return "words"

    assert server.disable(names={"words"}) is server
    assert await server.get_tool("words") is None
    assert server.enable(names={"words"}) is server
    assert await server.get_tool("words") is not None


async def test_a_resource_that_changed_is_told_from_any_thread():
    server, heard = TellingServer("telling"), list[ServerEvent]()
    server.changes.subscribe(heard.append)
    await asyncio.to_thread(server.resource_updated, "a://1")
    await asyncio.sleep(0)
    assert heard == [ResourceUpdated("a://1")]


MADE = "from bascule.kit import create_mcp_server\nmcp = create_mcp_server('notes')\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "target.py"
    file.write_text(text)
    return file


def test_the_server_of_a_file_is_found_by_whatever_name_it_has(tmp_path: Path):
    assert load_server(written(tmp_path, MADE + "same = mcp\n")).name == "notes"


def test_what_lies_beside_the_file_can_be_imported(tmp_path: Path):
    (tmp_path / "beside_the_target.py").write_text("NAME = 'from beside'\n")
    text = (
        "from beside_the_target import NAME\nfrom bascule.kit import create_mcp_server\nmcp = create_mcp_server(NAME)"
    )

    assert load_server(written(tmp_path, text)).name == "from beside"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "makes no server"),
        ("from fastmcp import FastMCP\nmcp = FastMCP('x')", "nobody would be known there"),
        (MADE + "other = create_mcp_server('second')", "several servers: 'notes', 'second'"),
        ("import nothing_like_this", "ModuleNotFoundError"),
        ("raise SystemError('no')", "SystemError: no"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_file_without_a_server_of_ours_says_why(tmp_path: Path, text: str, told: str):
    with pytest.raises(ConfigError, match=told) as caught:
        load_server(written(tmp_path, text))
    assert caught.value.fix


def test_a_file_that_is_not_there_says_so(tmp_path: Path):
    for name in ("missing.py", "folder", "text.txt"):
        with pytest.raises(ConfigError, match="no Python file"):
            load_server(tmp_path / name)
