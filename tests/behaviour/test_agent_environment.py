"""Servers of one agent, described in the environment and used through the plain gateway."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bascule.bridges.plain import MCPToolGateway, ToolInfo, load_for_agent
from bascule.core.errors import ConfigError, ConnectFailed
from bascule.core.sensitivity import DataSensitivity
from support.children import children
from support.processes import ended
from support.runtime import calls_in
from support.servers import argv, pids
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("CFG-4")

Describe = Callable[..., None]
ECHO = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "search", "search_all", "delete")]


@pytest.fixture
def describe(monkeypatch: pytest.MonkeyPatch) -> Describe:
    """Set the variables of one server of the agent `Dev`."""

    def described(index: int, *command: object, **fields: str) -> None:
        program, *args = map(str, command)
        values = {"CMD": program, "ARGS": json.dumps(args), **fields}
        for field, value in values.items():
            monkeypatch.setenv(f"AGENT_Dev_MCP_{index}_{field}", value)

    return described


def obeying(log: Path) -> list[str]:
    """It does as it is told, and writes down its pid."""
    return argv("obeying", log, json.dumps(ECHO))


def loaded(user_id: str | None = None, session_id: str | None = None) -> MCPToolGateway:
    gateway = load_for_agent("Dev", user_id=user_id, session_id=session_id)
    assert gateway is not None
    return gateway


def names(gateway: MCPToolGateway) -> list[str]:
    return [tool.name for tool in gateway.list_tools()]


def portrait(gateway: MCPToolGateway) -> dict[str, Any]:
    """What the process of a server sees of itself."""
    return gateway.call("look")["structuredContent"]


def test_an_agent_that_nothing_is_said_of_has_no_gateway(describe: Describe, tmp_path: Path):
    describe(0, *obeying(tmp_path / "log"))

    assert load_for_agent("Other") is None
    assert load_for_agent("De") is None


def test_a_gateway_that_is_given_has_started_and_each_server_once(describe: Describe, tmp_path: Path):
    log = tmp_path / "log"
    describe(0, *obeying(log), ALLOW="echo")
    with loaded() as gateway:
        assert len(pids(log)) == 1
        assert gateway.list_tools() == [ToolInfo("echo", None, {"type": "object"})]
        assert gateway.call("echo", {"say": "hi"})["content"] == [{"type": "text", "text": '{"say": "hi"}'}]
    assert len(pids(log)) == 1


@pytest.mark.parametrize("allow", [None, "", " , "])
def test_without_an_allow_list_nothing_is_exposed(describe: Describe, tmp_path: Path, allow: str | None):
    log = tmp_path / "log"
    describe(0, *obeying(log), **({} if allow is None else {"ALLOW": allow}))
    with loaded() as gateway:
        assert gateway.list_tools() == []
        for name in ("echo", "mcp0_echo"):
            refused = gateway.call(name)
            assert refused["isError"] is True
            assert "no tool" in refused.text

    assert calls_in(log) == []


def test_exposed_is_what_is_allowed_and_not_blocked(describe: Describe, tmp_path: Path):
    log = tmp_path / "log"
    describe(0, *obeying(log), ALLOW="echo, search*", BLOCK="search_all")
    with loaded() as gateway:
        assert names(gateway) == ["echo", "search"]
        assert gateway.call("search_all")["isError"] is True

    assert calls_in(log) == []


def test_numbers_count_from_0_without_a_gap(describe: Describe, tmp_path: Path):
    for index in (0, 2):
        describe(index, *obeying(tmp_path / f"log-{index}"), ALLOW="*")
    with pytest.raises(ConfigError) as caught:
        load_for_agent("Dev")

    assert caught.value.problems[0].startswith("AGENT_Dev_MCP_1_CMD: not set")
    assert not list(tmp_path.iterdir()), "a server was started"


@pytest.mark.parametrize("form", ["commas", "json"])
def test_arguments_are_split_at_commas_or_are_a_json_array(describe: Describe, form: str):
    given = [*argv("mirror")[1:], "one", "two words"] + (["a,b", ""] if form == "json" else [])
    describe(0, sys.executable, ARGS=json.dumps(given) if form == "json" else " , ".join(given), ALLOW="look")
    with loaded() as gateway:
        assert portrait(gateway)["argv"] == given[3:]


@pytest.mark.parametrize("text", ["{", "[]", '{"TOKEN": 5}', '"hunter2"'])
def test_an_environment_that_is_no_object_of_texts_names_the_variable(describe: Describe, tmp_path: Path, text: str):
    describe(0, *obeying(tmp_path / "log"), ENV_JSON=text, ALLOW="*")
    with pytest.raises(ConfigError) as caught:
        load_for_agent("Dev")

    (problem,) = caught.value.problems
    assert problem.startswith("AGENT_Dev_MCP_0_ENV_JSON: ")
    assert "hunter2" not in problem
    assert not list(tmp_path.iterdir()), "a server was started"


def test_a_child_sees_what_it_was_given_and_nothing_else_of_our_environment(
    describe: Describe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in ("GITHUB_TOKEN", "OPENAI_API_KEY", "LD_LIBRARY_PATH_SECRET", "AGENT_Dev_NOTE"):
        monkeypatch.setenv(name, "s3cret")
    describe(0, *argv("mirror"), ALLOW="look", ENV_JSON='{"TOKEN": "given"}', CWD=str(tmp_path))
    with loaded() as gateway:
        seen = portrait(gateway)

    assert seen["cwd"] == str(tmp_path.resolve())
    assert seen["env"].pop("TOKEN") == "given"
    assert seen["env"].keys() <= {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "LC_CTYPE"}
    assert "s3cret" not in seen["env"].values()
    assert not any(name.startswith("AGENT_") for name in seen["env"])
    assert seen["files"] == [0, 1, 2]


def test_names_are_the_servers_own_where_unique_and_have_the_prefix_where_not(describe: Describe, tmp_path: Path):
    for index, more in enumerate(({}, {}, {"NAME": "files"})):
        describe(index, *obeying(tmp_path / f"log-{index}"), ALLOW="delete" if index == 1 else "echo", **more)
    with loaded() as gateway:
        assert names(gateway) == ["mcp0_echo", "delete", "files_echo"]
        served = {name: gateway.call(name).outcome.server for name in names(gateway)}

    assert served == {"mcp0_echo": "mcp0", "delete": "mcp1", "files_echo": "files"}


def test_a_tool_that_is_not_exposed_takes_no_name_from_one_that_is(describe: Describe, tmp_path: Path):
    describe(0, *obeying(tmp_path / "log-0"), ALLOW="echo")
    describe(1, *obeying(tmp_path / "log-1"), ALLOW="*", BLOCK="echo")
    with loaded() as gateway:
        assert names(gateway) == ["echo", "search", "search_all", "delete"]


def test_a_server_has_only_so_long_to_start(describe: Describe):
    before = children()
    describe(0, *argv("mute", "waiting"), ALLOW="*", INIT_TIMEOUT_SECONDS="0.3")
    with pytest.raises(ConnectFailed) as caught:
        load_for_agent("Dev")

    assert "0.3 s" in caught.value.message
    assert children() == before


async def test_the_first_is_stopped_when_the_second_cannot_be_started(describe: Describe, tmp_path: Path):
    log = tmp_path / "log"
    describe(0, *obeying(log), ALLOW="*")
    describe(1, "no-such-program-anywhere", ALLOW="*")
    before = children()
    with pytest.raises(ConnectFailed) as caught:
        await asyncio.to_thread(load_for_agent, "Dev")

    assert caught.value.message.startswith("AGENT_Dev_MCP_1_CMD: ")
    assert "'mcp1'" in caught.value.message
    assert "no-such-program-anywhere" in caught.value.message
    assert caught.value.fix
    # It had been started once, and is gone.
    (first,) = pids(log)
    async with fail_after(10):
        await ended(first)
    assert children() == before


def test_closing_twice_is_closing_once_and_nothing_is_left(describe: Describe, tmp_path: Path):
    before = children()
    describe(0, *obeying(tmp_path / "log"), ALLOW="*")
    gateway = loaded()
    assert children() != before
    gateway.close()
    gateway.close()

    assert children() == before


def test_an_agent_is_as_private_as_it_has_become_in_this_process_and_in_no_other(describe: Describe, tmp_path: Path):
    describe(0, *obeying(tmp_path / "log"), ALLOW="*")
    with loaded() as gateway:
        who = gateway.session.principal
        gateway.session.add_private_dataset("payroll", DataSensitivity.SECRET)
    with loaded() as again:
        assert again.session.principal == who
        assert again.session.sensitivity is DataSensitivity.SECRET
    with loaded(session_id="s-1") as another:
        assert another.session.sensitivity is DataSensitivity.PUBLIC

    assert who.user_id == "agent:Dev"
    assert str(os.getpid()) in who.session_id


def test_whoever_knows_for_whom_it_acts_says_so(describe: Describe, tmp_path: Path):
    describe(0, *obeying(tmp_path / "log"), ALLOW="*")
    with loaded(user_id="alice", session_id="s-1") as gateway:
        assert str(gateway.session.principal) == "alice/s-1"
