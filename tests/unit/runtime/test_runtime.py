"""A config in, agent sessions out, and nothing left behind."""

import asyncio
import json
from pathlib import Path

import pytest

from bascule.config import InProcessTransport, ServerConfig
from bascule.core.errors import ConfigError, ConnectFailed, StoreError, UsageError
from bascule.core.events import ConfigApplied, LinkChanged
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.records.server_logs.file import log_folder, log_path
from bascule.records.server_logs.tail import LogTail
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.per_principal import STARTING
from support.children import children
from support.command import configured, entry
from support.runtime import Events, bad, good, obeying, running, stand_in
from support.servers import argv, pids
from support.waiting import fail_after, until


async def test_a_runtime_that_was_not_entered_has_no_sessions(log: Path):
    with pytest.raises(UsageError, match="not running") as caught:
        Runtime.from_servers({"work": obeying(log)}).session("alice", "s-1")

    assert "async with" in caught.value.fix


async def test_a_runtime_that_was_left_has_no_sessions(log: Path):
    async with running(obeying(log)) as runtime:
        runtime.session("alice", "s-1")

    with pytest.raises(UsageError, match="not running"):
        runtime.session("alice", "s-1")


async def test_a_principal_has_one_session(log: Path):
    async with running(obeying(log)) as runtime:
        session = runtime.session("alice", "s-1")

        assert runtime.session(user_id="alice", session_id="s-1") is session
        assert runtime.session("alice", "s-2") is not session
        assert runtime.session("bob", "s-1") is not session


async def test_a_session_without_a_link_is_forgotten_and_comes_back_as_private_as_it_was(log: Path):
    alice = Principal("alice", "s-1")
    async with running(obeying(log)) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("work_act", {}))
        assert not runtime.forget(alice)
        assert runtime.session("alice", "s-1") is session
        await session.add_private_dataset("salaries", DataSensitivity.CONFIDENTIAL)
        await session.close()
        await until(lambda: runtime.forget(alice))
        again = runtime.session("alice", "s-1")
        assert again is not session
        assert (again.sensitivity, session.sensitivity) == (DataSensitivity.SECRET, DataSensitivity.SECRET)
        await again.begin()
        assert again.sensitivity is DataSensitivity.CONFIDENTIAL
        assert again.datasets == {"salaries": DataSensitivity.CONFIDENTIAL}
        # Whoever has kept the old one has one with which nothing can be sent out any more.
        assert session.sensitivity is DataSensitivity.SECRET
        assert runtime.forget(Principal("nobody", "s-1"))
    with pytest.raises(UsageError, match="not running"):
        runtime.forget(alice)


async def test_a_session_that_is_forgotten_begins_anew_at_its_servers(log: Path):
    async with running(obeying(log)) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("work_act", {}))
        await session.close()
        await until(lambda: runtime.forget(session.principal))
        anew = runtime.session("alice", "s-1")
        assert anew.entries("work") == {}
        good(await anew.call("work_act", {}))
        assert len(pids(log)) == 2


async def test_an_id_that_cannot_be_one_is_the_callers_mistake(log: Path):
    async with running(obeying(log)) as runtime:
        with pytest.raises(UsageError, match="user_id"):
            runtime.session("", "s-1")


# Where the servers come from


async def test_servers_come_from_a_file(tmp_path: Path, events: Events):
    command, *args = argv("echo")
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"echo": {"command": command, "args": args}}}))
    async with fail_after(20), Runtime.from_file(file, sinks=[events.append]) as runtime:
        good(await runtime.session("alice", "s-1").call("echo_echo", {"message": "hi"}))

    assert runtime.config.path == file
    assert len(events.calls) == 1


async def test_servers_come_from_the_environment_and_expose_what_is_named(monkeypatch: pytest.MonkeyPatch):
    command, *args = argv("echo")
    monkeypatch.setenv("AGENT_Dev_MCP_0_CMD", command)
    monkeypatch.setenv("AGENT_Dev_MCP_0_ARGS", json.dumps(args))
    monkeypatch.setenv("AGENT_Dev_MCP_0_ALLOW", "echo")
    monkeypatch.setenv("AGENT_Dev_MCP_1_CMD", command)
    monkeypatch.setenv("AGENT_Dev_MCP_1_ARGS", json.dumps(args))
    async with fail_after(20), Runtime.from_env("Dev") as runtime:
        assert [spec.name for spec in await runtime.session("alice", "s-1").tools()] == ["mcp0_echo"]


def test_an_agent_without_variables_has_no_servers():
    assert Runtime.from_env("Nobody").config.servers == {}


async def test_servers_come_as_configs_and_as_objects(log: Path, events: Events):
    from mcp.server import MCPServer

    here = MCPServer("here")

    @here.tool()
    def double(number: int) -> str:  # pyright: ignore[reportUnusedFunction]
        return str(number * 2)

    made = Runtime.from_servers({"here": here, "work": obeying(log)}, sinks=[events.append])
    assert made.config.servers["here"] == ServerConfig(name="here", transport=InProcessTransport(here))
    async with fail_after(20), made as runtime:
        session = runtime.session("alice", "s-1")

        assert {spec.name for spec in await session.tools()} == {"here_double", "work_act"}
        assert good(await session.call("here_double", {"number": 4})).structured == {"result": "8"}


def test_a_server_under_another_name_than_its_own_is_refused(log: Path):
    with pytest.raises(UsageError, match=r"'play' has a config named 'work'"):
        Runtime.from_servers({"play": obeying(log)})


def test_a_name_that_cannot_be_one_is_refused():
    with pytest.raises(ConfigError):
        Runtime.from_servers({"Not A Name": object()})


# Required servers


async def test_a_required_server_that_fails_fails_the_start_and_leaves_nothing(log: Path):
    before = children()
    runtime = Runtime.from_servers(
        {"bad": stand_in("bad", "failing", 3, "no API key", required=True), "work": obeying(log, required=True)}
    )
    async with fail_after(20):
        with pytest.raises(ConnectFailed, match="required server 'bad' cannot be used: the server exited") as caught:
            await runtime.__aenter__()

    assert (caught.value.where, caught.value.evidence) == ("bad", "no API key")
    assert children() == before
    with pytest.raises(UsageError):
        runtime.session("alice", "s-1")


async def test_a_required_server_is_tried_on_nobodys_behalf_and_closed(log: Path, events: Events):
    before = children()
    async with running(obeying(log, required=True), events=events) as runtime:
        assert children() == before
        assert {event.principal for event in events if isinstance(event, LinkChanged)} == {STARTING}

        good(await runtime.session("alice", "s-1").call("work_act", {}))
        assert len(set(pids(log))) == 2


async def test_a_server_that_is_not_required_is_not_started(log: Path):
    async with running(obeying(log)):
        assert not log.exists()


# Leaving


async def test_everything_is_closed_on_the_way_out(tmp_path: Path, events: Events):
    before = children()
    servers = [obeying(tmp_path / name, name=name) for name in ("one", "two")]
    async with running(*servers, events=events) as runtime:
        for user in ("alice", "bob"):
            assert len(await runtime.session(user, "s-1").tools()) == 2
        assert len(children() - before) == 4

    assert children() == before
    closed = [event for event in events if isinstance(event, LinkChanged) and event.state == "closed"]
    assert {(event.server, event.principal) for event in closed} == {
        (server, Principal(user, "s-1")) for server in ("one", "two") for user in ("alice", "bob")
    }


async def test_everything_is_closed_when_the_body_raises(log: Path):
    before = children()

    async def body() -> None:
        async with running(obeying(log)) as runtime:
            good(await runtime.session("alice", "s-1").call("work_act", {}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()
    assert children() == before


async def test_closing_twice_is_closing_once(log: Path):
    async with running(obeying(log)) as runtime:
        await runtime.close()
        await runtime.close()


async def test_a_call_of_a_closed_runtime_is_an_outcome(log: Path):
    async with running(obeying(log)) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("work_act", {}))
    failure = bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)

    assert failure.message == "the runtime is closed"
    assert len(pids(log)) == 1


async def test_a_runtime_can_be_entered_again(log: Path):
    async with running(obeying(log)) as runtime:
        good(await runtime.session("alice", "s-1").call("work_act", {}))
    async with fail_after(20), runtime:
        good(await runtime.session("alice", "s-1").call("work_act", {}))

    assert len(set(pids(log))) == 2


async def test_state_that_cannot_be_kept_fails_the_start(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError):
        await Runtime.from_servers({"work": obeying(log)}).__aenter__()

    assert not log.exists()


# Edits of the file


async def test_a_watched_file_is_followed_and_the_watch_ends_with_the_runtime(tmp_path: Path, log: Path):
    events, applied = Events(), asyncio.Event()

    def hear(event: object) -> None:
        events.append(event)
        if isinstance(event, ConfigApplied):
            applied.set()

    path = configured(tmp_path, work=entry("obeying", log))
    async with fail_after(20), Runtime.from_file(path, sinks=[hear], watch=True) as runtime:
        watch = runtime._watching
        assert watch is not None
        configured(tmp_path, other=entry("obeying", log))
        await applied.wait()
        assert runtime.config.servers.keys() == {"other"}

    assert watch.cancelled()
    assert runtime.config.servers.keys() == {"other"}


async def test_only_a_file_can_be_watched_or_read_again(log: Path):
    made = Runtime.from_servers({"work": obeying(log)})
    with pytest.raises(UsageError, match="made in code"):
        made.watch()
    async with made:
        with pytest.raises(UsageError, match="made in code"):
            await made.reload()


async def test_a_runtime_that_was_not_entered_reads_nothing_again(tmp_path: Path):
    made = Runtime.from_file(configured(tmp_path, echo=entry("echo")))
    with pytest.raises(UsageError, match="not running"):
        await made.reload()


async def test_what_servers_say_is_logged_wherever_they_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    path = Path(configured(tmp_path, work=entry("failing", 3, "no database")))
    async with fail_after(20), Runtime.from_file(path) as runtime:
        await runtime.session("alice", "s-1").settle("work")

    lines = LogTail(log_path(log_folder(tmp_path / "state", path), "work")).last(100)
    assert {(line.kind, line.text or line.state) for line in lines} >= {
        ("stderr", "no database"),
        ("link", "connecting"),
        ("link", "the server exited with code 3"),
    }
