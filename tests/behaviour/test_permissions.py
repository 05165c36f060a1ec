"""What tools may do: by the operator's map, which a server can only tighten."""

from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.core.json_types import JsonObject
from bascule.core.permission import UNDECLARED, Permission
from support.command import bascule
from support.facts import noted_facts
from support.locks import lock_in
from support.offers import offering
from support.runtime import a_tool, at_work, good, obeying, running
from support.scenarios import entry, write_yaml
from support.waiting import fail_after

READ, WRITE, CONNECT = Permission.READ, Permission.WRITE, Permission.CONNECT
DECLARED_IN = "dev.bascule/permissions"
HARMLESS = {"annotations": {"readOnlyHint": True, "openWorldHint": False}, "_meta": {DECLARED_IN: ["read"]}}


async def permissions(folder: Path, *tools: JsonObject, **word: Any) -> dict[str, set[Permission]]:
    async with running(obeying(folder / "log", *tools, **word), path=folder / "bascule.yaml") as runtime:
        specs = await runtime.session("alice", "s-1").tools()
    return {spec.key.tool: {*spec.permissions} for spec in specs}


@pytest.mark.requirement("POL-2")
async def test_undeclared_means_write_and_connect_whatever_the_server_says(tmp_path: Path):
    assert await permissions(tmp_path, a_tool("act", **HARMLESS)) == {"act": {WRITE, CONNECT}}
    trusting = await permissions(tmp_path, a_tool("act", **HARMLESS), trust=["permissions", "annotations"])
    assert trusting["act"] >= UNDECLARED


@pytest.mark.requirement("POL-2")
async def test_the_operators_map_decides_and_overlapping_patterns_join(tmp_path: Path):
    word = {"read_file": "read", "write_*": "write", "*_remote": "connect", "fetch": ["read", "connect"]}
    tools = [a_tool(name) for name in ("read_file", "write_file", "write_remote", "fetch", "else")]
    assert await permissions(tmp_path, *tools, permissions=word) == {
        "read_file": {READ},
        "write_file": {WRITE},
        "write_remote": {WRITE, CONNECT},
        "fetch": {READ, CONNECT},
        "else": {WRITE, CONNECT},
    }


@pytest.mark.requirement("POL-2")
async def test_a_pattern_says_read_only_of_tools_as_they_were_approved(tmp_path: Path):
    one, two = a_tool("read_one"), a_tool("read_two", description="Reads.")
    word: dict[str, Any] = {"permissions": {"read_*": "read"}}
    assert await permissions(tmp_path, one, two, **word) == {"read_one": UNDECLARED, "read_two": UNDECLARED}
    lock_in(tmp_path, work=(one, two))
    assert await permissions(tmp_path, one, two, **word) == {"read_one": {READ}, "read_two": {READ}}


@pytest.mark.requirement("POL-2")
async def test_a_server_is_believed_only_where_it_is_trusted_and_only_to_tighten(tmp_path: Path):
    tools = (
        a_tool("says", _meta={DECLARED_IN: ["read", "write"]}),
        a_tool("hints", annotations={"readOnlyHint": True}),
        a_tool("mumbles", _meta={DECLARED_IN: "read"}),
    )
    word: dict[str, Any] = {"permissions": dict.fromkeys(("says", "hints", "mumbles"), "read")}
    plain = {"says": {READ}, "hints": {READ}, "mumbles": {READ}}
    assert await permissions(tmp_path, *tools, **word) == plain
    by_words = await permissions(tmp_path, *tools, **word, trust=["permissions"])
    assert by_words == {**plain, "says": {READ, WRITE}, "mumbles": {READ, WRITE, CONNECT}}
    by_hints = await permissions(tmp_path, *tools, **word, trust=["annotations"])
    assert by_hints == {**plain, "hints": {READ, CONNECT}}


@pytest.mark.requirement("POL-2")
async def test_other_requests_read_and_connect_unless_they_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = noted_facts(monkeypatch)
    word = {"resources/read": "read", "prompts/list": ["read", "write"], "prompts/*": "write", "*": "write"}
    server = offering(tmp_path, uris=("a://1",), prompts=({"name": "greet"},), permissions=word)
    async with at_work(server) as session:
        await session.connect()
        assert (await session.read("a://1")).ok
        assert (await session.prompt("work_greet")).ok
        assert (await session.complete("work_greet", "x", "")).ok

    assert seen["a://1"].permissions == {READ}
    assert seen["the prompts of work"].permissions == {READ, WRITE}
    assert seen["the resources of work"].permissions == {READ, CONNECT}
    assert seen["work_greet"].permissions == {READ, CONNECT}


@pytest.mark.requirement("POL-2")
@pytest.mark.long
async def test_an_edit_of_the_map_changes_what_a_tool_may_do_while_it_runs(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", timeouts={"close": 1})})
    async with fail_after(20), Runtime.from_file(path) as runtime:
        session = runtime.session("alice", "s-1")
        assert [spec.permissions for spec in await session.tools()] == [UNDECLARED]
        word = {"act": "read"}
        write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", timeouts={"close": 1}, permissions=word)})
        await runtime.reload()
        assert [spec.permissions for spec in await session.tools()] == [{READ}]
        good(await session.call("work_act", {}))
    assert (tmp_path / "log").read_text().count('{"pid"') == 1

    shown = await bascule(tmp_path, "list", "--json")
    assert [tool["permissions"] for tool in shown.json["tools"]] == [["read"]]
    assert (await bascule(tmp_path, "inspect", "work_act", "--json")).json["permissions"] == ["read"]
