"""What is known of tools: all pages of them, the names agents see, digests, and what changed since last time."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from bascule.config import Timeouts
from bascule.core.events import CatalogChanged
from bascule.core.outcome import FailureKind
from bascule.core.tool import ToolSpec, ToolStatus
from support.runtime import Events, a_tool, at_work, bad, good, obeying, running
from support.scenarios import from_file, listing, log_of, scripted, write_yaml
from support.servers import argv, methods, received

PATIENT = Timeouts(connect=15, list=15, call=10, close=1)


@pytest.mark.requirement("CAT-1")
async def test_every_page_is_asked_for_with_the_cursor_of_the_one_before(tmp_path: Path):
    pages = [listing(a_tool("one"), nextCursor="after one"), listing(nextCursor="✂ 2"), listing(a_tool("three"))]
    async with at_work(scripted(tmp_path, {"tools/list": pages})) as session:
        assert [spec.name for spec in await session.tools()] == ["work_one", "work_three"]

    asked = [message["params"] for message in received(log_of(tmp_path)) if message.get("method") == "tools/list"]
    assert [params.get("cursor") for params in asked] == [None, "after one", "✂ 2"]


ENDLESS = '{"jsonrpc": "2.0", "id": $ID, "result": {"tools": [], "nextCursor": "$N"}}'


@pytest.mark.requirement("CAT-1")
@pytest.mark.parametrize(
    ("page", "told", "asked"),
    [
        (listing(nextCursor="again"), "the same cursor twice", 2),
        ({"say": [ENDLESS]}, "more than 1,000 pages", 1000),
        (listing(*range(20_001)), "more than 20,000 tools", 1),
    ],
    ids=["cursors", "pages", "tools"],
)
async def test_a_list_that_does_not_end_is_refused(tmp_path: Path, page: dict[str, Any], told: str, asked: int):
    async with at_work(scripted(tmp_path, {"tools/list": [page]}, timeouts=PATIENT)) as session:
        (report,) = await session.connect()

    assert (report.state, report.tools) == ("failed", 0)
    assert told in report.reason
    assert methods(log_of(tmp_path)).count("tools/list") == asked


@pytest.mark.requirement("CAT-2")
async def test_a_name_is_the_prefix_and_the_tool_in_characters_that_models_take(tmp_path: Path):
    long = "very_long_" * 12
    server = obeying(tmp_path / "log", a_tool("read.file/now"), a_tool(long), a_tool("täglich"), prefix="fs")
    async with at_work(server) as session:
        specs = {spec.key.tool: spec.name for spec in await session.tools()}
        for tool, name in specs.items():
            assert good(await session.call(name, {})).tool == tool

    assert specs["read.file/now"] == "fs_read_file_now"
    assert specs["täglich"] == "fs_t_glich"
    assert len(specs[long]) == 64
    assert specs[long].startswith("fs_very_long_very_long_")


@pytest.mark.requirement("CAT-2")
async def test_cut_and_altered_names_of_one_server_stay_apart_and_stay_the_same(tmp_path: Path):
    long = "x" * 80
    tools = [a_tool(long + "1"), a_tool(long + "2"), a_tool("a.b"), a_tool("a/b"), a_tool("a_b")]
    names: list[dict[str, str]] = []
    for order in (tools, tools[::-1]):
        async with at_work(obeying(tmp_path / "log", *order)) as session:
            names.append({spec.key.tool: spec.name for spec in await session.tools()})

    assert names[0] == names[1]
    assert len({*names[0].values()}) == 5
    assert names[0]["a_b"] == "work_a_b"


@pytest.mark.requirement("CAT-2")
async def test_a_call_goes_where_the_table_says_and_not_where_the_name_seems_to_point(tmp_path: Path):
    short = obeying(tmp_path / "short", a_tool("b_act"), name="a")
    long = obeying(tmp_path / "long", a_tool("other"), name="a_b")
    async with at_work(short, long) as session:
        await session.tools()
        assert good(await session.call("a_b_act", {})).server == "a"


@pytest.mark.requirement("CAT-2")
async def test_of_two_tools_with_one_name_neither_is_exposed_and_both_are_told(tmp_path: Path):
    short = obeying(tmp_path / "short", a_tool("b_act"), a_tool("fine"), name="a")
    long = obeying(tmp_path / "long", a_tool("act"), name="a_b")
    async with at_work(short, long) as session:
        assert [spec.name for spec in await session.tools()] == ["a_fine"]
        refused = bad(await session.call("a_b_act", {}), FailureKind.UNKNOWN_TOOL)
        colliding = [spec for spec in session.toolbox.all_specs() if spec.status is ToolStatus.COLLIDING]

    for text in (refused.message, *(spec.problem for spec in colliding)):
        assert "a/b_act and a_b/act" in text
        assert "prefix" in text
    assert len(colliding) == 2


PAGE = '{"jsonrpc": "2.0", "id": $ID, "result": {"tools": [$TOOL]}}'


async def digest_of(folder: Path, definition: dict[str, Any]) -> str:
    """The digest of a tool that is listed with these very characters."""
    page = PAGE.replace("$TOOL", json.dumps(definition))
    async with at_work(scripted(folder, {"tools/list": [{"say": [page]}]})) as session:
        (spec,) = await session.tools()
    return spec.digest


WHOLE: dict[str, Any] = {
    "name": "act",
    "title": "Act",
    "description": "Does é as told.",
    "inputSchema": {"type": "object", "properties": {"b": {"type": "string"}, "a": {"minimum": 1.0}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "_meta": {"ui": {"visibility": ["model"]}},
    "vendor": {"unknown": [1, {"deep": None}]},
}


@pytest.mark.requirement("CAT-3")
async def test_a_digest_is_the_sha256_of_the_whole_definition_in_canonical_form(tmp_path: Path):
    canonical = json.dumps(WHOLE, sort_keys=True, separators=(",", ":"), ensure_ascii=False).replace("1.0", "1")

    assert await digest_of(tmp_path, WHOLE) == f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(inner) for key, inner in reversed(value.items())}
    return [reversed_keys(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.requirement("CAT-3")
async def test_the_order_of_keys_never_matters(tmp_path: Path):
    assert await digest_of(tmp_path, reversed_keys(WHOLE)) == await digest_of(tmp_path, WHOLE)


@pytest.mark.requirement("CAT-3")
@pytest.mark.parametrize("changed", [key for key in WHOLE if key != "name"])
async def test_no_part_of_a_definition_is_left_out(tmp_path: Path, changed: str):
    other = {key: value for key, value in WHOLE.items() if key != changed}

    assert await digest_of(tmp_path, other) != await digest_of(tmp_path, WHOLE)


@pytest.mark.requirement("CAT-3")
async def test_other_instructions_of_the_server_are_a_change_too(tmp_path: Path):
    def discovered(instructions: str) -> dict[str, Any]:
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": instructions}
        return {"server/discover": [{"result": found}]}

    server = scripted(tmp_path, discovered("Be kind."), discovered("Be quick."))
    assert len(await changes_in_a_run(server)) == 1
    (change,) = await changes_in_a_run(server)
    assert (change.server, change.added, change.changed, change.removed) == ("work", (), (), ())


async def changes_in_a_run(*servers: Any) -> list[CatalogChanged]:
    """What one run of a runtime, from start to end, tells of changed listings."""
    events = Events()
    async with at_work(*servers, events=events) as session:
        await session.tools()
    return [event for event in events if isinstance(event, CatalogChanged)]


@pytest.mark.requirement("CAT-4")
async def test_a_restart_without_a_change_tells_nothing(tmp_path: Path):
    server = obeying(tmp_path / "log", a_tool("read"), a_tool("write"))
    (first,) = await changes_in_a_run(server)

    assert first.added == ("read", "write")
    assert await changes_in_a_run(server) == []


@pytest.mark.requirement("CAT-4")
async def test_a_restart_tells_what_came_what_went_and_what_changed(tmp_path: Path):
    def described(**tools: str) -> Any:
        return obeying(tmp_path / "log", *(a_tool(name, description=text) for name, text in tools.items()))

    await changes_in_a_run(described(same="s", worded="before", gone="g"))
    (change,) = await changes_in_a_run(described(same="s", worded="after", new="n"))

    assert (change.server, change.added, change.changed, change.removed) == ("work", ("new",), ("worded",), ("gone",))
    assert await changes_in_a_run(described(same="s", worded="after", new="n")) == []


@pytest.mark.requirement("CAT-4")
async def test_servers_of_one_name_in_two_files_are_two_servers(tmp_path: Path):
    changes: list[list[CatalogChanged]] = []
    for folder, tool in (("one", "read"), ("two", "write"), ("one", "read"), ("two", "write")):
        (tmp_path / folder).mkdir(exist_ok=True)
        command, *args = argv("obeying", tmp_path / folder / "log", json.dumps([a_tool(tool)]))
        path = write_yaml(tmp_path / folder, {"work": {"command": command, "args": args}})
        events = Events()
        async with from_file(path, events) as session:
            await session.tools()
        changes.append([event for event in events if isinstance(event, CatalogChanged)])

    assert [[change.added for change in run] for run in changes] == [[("read",)], [("write",)], [], []]


@pytest.mark.requirement("CAT-4")
async def test_within_a_run_an_unchanged_tool_stays_the_same_object(tmp_path: Path):
    first = listing(a_tool("same", description="s"), a_tool("other", description="before"))
    second = listing(a_tool("other", description="after"), {"description": "s", **a_tool("same")})
    server = scripted(tmp_path, {"tools/list": [first]}, {"tools/list": [second]})
    events = Events()

    def by_tool(specs: tuple[ToolSpec, ...]) -> dict[str, ToolSpec]:
        return {spec.key.tool: spec for spec in specs}

    async with running(server, events=events) as runtime:
        before = by_tool(await runtime.session("alice", "s-1").tools())
        after = by_tool(await runtime.session("bob", "s-2").tools())
        again = by_tool(await runtime.session("carol", "s-3").tools())
    assert after["same"] is before["same"]
    assert after["other"] is not before["other"]
    assert all(again[name] is after[name] for name in after)
    changes = [event for event in events if isinstance(event, CatalogChanged)]
    assert [(change.added, change.changed) for change in changes] == [(("other", "same"), ()), ((), ("other",))]
