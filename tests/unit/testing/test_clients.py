"""A client asks on somebody's behalf, and nothing of the developer's own state is touched."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server.lowlevel import Server

from bascule.config import InProcessTransport, ServerConfig
from bascule.core.errors import UsageError
from bascule.core.permission import Permission
from bascule.kit import (
    DataSensitivity,
    PrivateData,
    ToolPermission,
    ToolRetryError,
    create_mcp_server,
    get_session_id,
    get_user_id,
    tool_permission,
)
from bascule.testing.clients import TRUST, client, is_kit_server, name_of, trusting_config
from bascule.workspace import current_workspace


def a_server() -> Any:
    mcp = create_mcp_server("records")

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def who() -> str:
        return f"{get_user_id()}/{get_session_id()}"

    @mcp.tool
    @tool_permission(ToolPermission.WRITE)
    def note(text: str) -> str:
        workspace = current_workspace()
        assert workspace is not None
        workspace.write_text("note.txt", text)
        if text == "bad":
            raise ToolRetryError("again")
        return text

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def salaries() -> int:
        PrivateData().add_private_dataset("salaries", DataSensitivity.CONFIDENTIAL)
        return 3

    @mcp.tool
    @tool_permission(ToolPermission.CONNECT)
    def publish() -> str:
        return "out"

    return mcp


async def test_a_client_asks_on_behalf_of_whom_it_is_given():
    async with client(a_server(), user="alice", session="s-1") as c:
        assert (await c.result("who")).text == "result: alice/s-1"
        assert (await c.of("bob").result("who")).text == "result: bob/test"
        assert c.of("alice", "s-1").session is c.session
        assert sorted(await c.tools()) == ["note", "publish", "salaries", "who"]
        assert c.calls.tools == ["who", "who"]


async def test_an_outcome_that_is_not_the_wanted_kind_fails_the_test():
    async with client(a_server()) as c:
        with pytest.raises(AssertionError, match="note failed: tool_error BSC-"):
            await c.result("note", {"text": "bad"})
        with pytest.raises(AssertionError, match="who did not fail, and gave result: tester/test"):
            await c.failure("who")
        assert (await c.failure("note", {"text": "bad"})).retriable


async def test_one_principal_becomes_private_and_the_other_does_not():
    async with client(a_server(), user="alice") as c:
        await c.result("salaries")

        assert (c.sensitivity, c.lane) == (DataSensitivity.CONFIDENTIAL, "proxied")
        assert (await c.failure("publish")).kind == "denied"
        # What reaches nobody goes on.
        await c.result("who")
        await c.of("bob").result("publish")


async def test_without_a_twin_nothing_goes_on():
    async with client(a_server(), vouched=None) as c:
        await c.result("salaries")

        assert (await c.failure("who")).kind == "denied"


async def test_what_one_client_has_seen_the_next_has_not():
    server = a_server()
    async with client(server) as c:
        await c.result("salaries")
    async with client(server) as c:
        # What its results are labelled with is remembered, and must be forgotten too.
        await c.result("who")
        assert c.sensitivity is DataSensitivity.PUBLIC
        await c.result("publish")


async def test_state_is_in_a_folder_of_its_own_that_is_gone_afterwards(tmp_path: Path):
    developers = Path(os.environ["BASCULE_HOME"])
    server = a_server()
    async with client(server) as c:
        kept = Path(os.environ["BASCULE_HOME"])
        await c.result("salaries")
        c.workspace.write_text("a.txt", "a")
        assert kept != developers
        assert any(kept.iterdir())
        assert server.home.folder == kept

    assert not kept.exists()
    assert not developers.exists()
    assert os.environ["BASCULE_HOME"] == str(developers)
    assert server.home.folder == developers


async def test_clients_that_close_out_of_turn_leave_the_environment_as_it_was(tmp_path: Path):
    developers = os.environ["BASCULE_HOME"]
    first, second = client(a_server(), home=tmp_path / "1"), client(a_server(), home=tmp_path / "2")
    await first.__aenter__()
    await second.__aenter__()
    await first.__aexit__(None, None, None)
    assert os.environ["BASCULE_HOME"] == str(tmp_path / "2")
    await second.__aexit__(None, None, None)

    assert os.environ["BASCULE_HOME"] == developers


async def test_a_home_may_be_named_from_this_folder_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    async with client(a_server(), home="state") as c:
        await c.result("salaries")

    assert (tmp_path / "state" / "servers").is_dir()


async def test_what_is_kept_in_a_home_that_is_given_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BASCULE_HOME")
    server = a_server()
    async with client(server, home=tmp_path) as c:
        await c.result("salaries")
    assert "BASCULE_HOME" not in os.environ
    async with client(server, home=tmp_path) as c:
        assert (await c.failure("publish")).kind == "denied"


async def test_two_clients_of_one_server_share_a_home_or_are_refused(tmp_path: Path):
    server = a_server()
    async with client(server, user="alice", home=tmp_path) as first:
        async with client(server, user="bob", home=tmp_path) as second:
            await second.result("salaries")
        await first.result("publish")
        assert server.home.folder == tmp_path
        with pytest.raises(UsageError, match="already, for another test"):
            async with client(server):
                pass
        await first.result("who")


async def test_several_servers_have_their_names_before_those_of_their_tools():
    other = FastMCP("other")

    @other.tool
    def ping() -> str:
        return "pong"

    async with client({"records": a_server(), "other": other}) as c:
        assert (await c.result("other_ping")).text == "result: pong"
        assert (await c.result("records_who")).text == "result: tester/test"


async def test_a_failed_call_leaves_nothing_in_the_workspace():
    async with client(a_server()) as c:
        assert "again" in (await c.failure("note", {"text": "bad"})).message
        assert not c.workspace.list()
        await c.result("note", {"text": "good"})
        assert c.workspace.read_text("note.txt") == "good"


def our_records() -> Any:
    mcp = create_mcp_server("Our Records")

    @mcp.tool
    @tool_permission(ToolPermission.READ, ToolPermission.CONNECT)
    def fetch() -> str:
        return ""

    return mcp


async def test_a_server_of_the_kit_is_believed_in_everything():
    config = await trusting_config("records", our_records(), {})

    assert config.kit
    assert config.trust == TRUST
    assert config.permissions == {"fetch": {Permission.READ, Permission.CONNECT}}
    assert config.vouched is DataSensitivity.SECRET


async def test_what_a_test_says_stands_above_that():
    config = await trusting_config("records", our_records(), {"trust": frozenset(), "vouched": None, "prefix": "x"})

    assert (config.trust, config.vouched, config.prefix) == (frozenset(), None, "x")


async def test_of_another_server_nothing_is_known_but_what_a_test_says():
    config = await trusting_config("other", FastMCP("other"), {})

    assert (config.kit, dict(config.permissions)) == (False, {})


async def test_a_config_is_taken_as_it_is():
    made = ServerConfig(name="other", transport=InProcessTransport(object()))

    assert await trusting_config("other", made, {"kit": True}) is made


def test_a_server_is_named_as_it_names_itself():
    assert name_of(our_records()) == "our-records"
    assert name_of(Server("plain")) == "plain"
    assert name_of(object()) == "server"
    assert is_kit_server(our_records())
    assert not is_kit_server(FastMCP("other"))


def test_where_there_is_no_fastmcp_no_server_is_of_the_kit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "bascule.kit.server")
    monkeypatch.setitem(sys.modules, "fastmcp", None)

    assert not is_kit_server(object())


def test_anything_else_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "bascule.kit.server", None)

    with pytest.raises(ModuleNotFoundError):
        is_kit_server(object())
