"""Long results: saved whole, and previewed by what they are."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastmcp import Client, FastMCP

from bascule import Runtime
from bascule.config import load_file
from bascule.core.errors import ConfigError
from bascule.core.outcome import FailureKind
from bascule.kit import context_result
from bascule.workspace import Workspace
from support.runtime import bad, good
from support.servers import argv
from support.waiting import fail_after

CSV = "id,name\n" + "".join(f"{n},somebody\n" for n in range(5000))
LOG = "".join(f"2026-01-01 00:00:00 {'ERROR no' if n == 2500 else 'INFO ok'} {n}\n" for n in range(5000))
TABLE = "| id |\n|----|\n" + "| 1 |\n" * 5000
JSON = json.dumps([{"id": n, "name": "somebody"} for n in range(1000)])
KINDS = {
    "JSON": (JSON, "1,000 rows", "json"),
    "CSV": (CSV, "5,000 rows", "csv"),
    "a table": (TABLE, "5,000 rows", "txt"),
    "a log": (LOG, "ERROR no 2500", "log"),
    "text": ("some words\n" * 5000, "5,000 lines", "txt"),
}


def a_config(folder: Path, limit: str = "default", presets: Any = None) -> Path:
    """A file with one server that gives back whatever it is asked for."""
    command, *args = argv("obeying", folder / "received")
    server = {"command": command, "args": args, "limit": limit}
    path = folder / "bascule.yaml"
    path.write_text(yaml.safe_dump({"mcp_servers": {"work": server}, "results": {"presets": presets or {}}}))
    return path


def text(value: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": value}]}}


def saved(workspace: Workspace) -> dict[str, str]:
    names = [entry.name for entry in workspace.list("results")]
    return {f"/workspace/results/{name}": workspace.read_text(f"results/{name}") for name in names}


@pytest.mark.requirement("RES-5", "RES-6")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_long_result_of_any_server_is_saved_and_previewed_by_its_kind(tmp_path: Path, kind: str):
    whole, told, ending = KINDS[kind]
    async with fail_after(30), Runtime.from_file(a_config(tmp_path)) as runtime:
        session = runtime.session("alice", "s-1")
        result = good(await session.call("work_act", text(whole)))
        ((path, content),) = saved(session.workspace).items()
        assert content == whole
        assert path.endswith(f".{ending}")
        assert path in result.text
        assert f": {kind}, {len(whole):,} characters" in result.text
        assert told in result.text
        assert len(result.text) <= 5000
        assert not runtime.session("bob", "s-1").workspace.exists("results")


@pytest.mark.requirement("RES-6")
async def test_errors_images_and_links_are_never_cut(tmp_path: Path):
    blocks = [
        {"type": "image", "data": "A" * 20_000, "mimeType": "image/png"},
        {"type": "audio", "data": "A" * 20_000, "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///" + "x" * 9000, "name": "x"},
        {"type": "of tomorrow", "text": "t" * 20_000},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "t" * 20_000}},
    ]
    async with fail_after(30), Runtime.from_file(a_config(tmp_path)) as runtime:
        session = runtime.session("alice", "s-1")
        kept = good(await session.call("work_act", {"result": {"content": blocks}}))
        assert kept.raw["content"] == blocks
        mixed = good(
            await session.call("work_act", {"result": {"content": [*blocks, *text(CSV)["result"]["content"]]}})
        )
        assert mixed.raw["content"][:5] == blocks
        assert len(mixed.raw["content"][5]["text"]) <= 5000
        failed = {"content": [{"type": "text", "text": "no " * 3000}], "isError": True}
        failure = bad(await session.call("work_act", {"result": failed}), FailureKind.TOOL_ERROR)
        assert "saved" not in failure.message
        assert len(saved(session.workspace)) == 1


@pytest.mark.requirement("RES-5", "RES-6")
async def test_presets_of_the_config_are_used_and_others_refused(tmp_path: Path):
    path = a_config(tmp_path, "mine", {"mine": {"characters": 1500, "head_rows": 3, "tail_rows": 0}})
    async with fail_after(30), Runtime.from_file(path) as runtime:
        result = good(await runtime.session("alice", "s-1").call("work_act", text(CSV)))
        assert "Shown: the first 3 rows." in result.text
        assert result.text.endswith("\n2,somebody")
    with pytest.raises(ConfigError) as caught:
        load_file(a_config(tmp_path, "yours"), {})
    assert "one of default, sql_query, log_search" in caught.value.evidence


@pytest.mark.requirement("RES-5", "RES-6")
async def test_a_full_workspace_loses_no_preview_and_shows_no_whole(tmp_path: Path):
    path = a_config(tmp_path)
    path.write_text(path.read_text() + "workspace: {quota: 8192}\n")
    async with fail_after(30), Runtime.from_file(path) as runtime:
        result = good(await runtime.session("alice", "s-1").call("work_act", text(CSV)))
        assert "The whole could not be saved, and what is not shown here is lost: no room" in result.text
        assert len(result.text) <= 5000


@context_result()
def report(times: int) -> str:
    """A long report."""
    return "some words\n" * times


@context_result("sql_query")
async def query() -> list[dict[str, Any]]:
    return json.loads(JSON)


@pytest.mark.requirement("RES-5")
async def test_tools_of_a_server_of_ours_are_limited_by_a_decorator(tmp_path: Path):
    server = FastMCP("records")
    server.tool(report)
    server.tool(query)
    async with fail_after(30), Runtime.from_servers({"records": server}) as runtime:
        session = runtime.session("alice", "s-1")
        shown = good(await session.call("records_report", {"times": 5000})).text
        assert "5,000 lines" in shown
        rows = good(await session.call("records_query")).structured["result"]
        assert rows[1] == {"id": 0, "name": "somebody"}
        whole = saved(session.workspace)
        assert sorted(whole.values(), key=len)[1] == "some words\n" * 5000
        assert all(path in shown + str(rows) for path in whole)
        assert good(await session.call("records_report", {"times": 1})).structured == {"result": "some words\n"}


@pytest.mark.requirement("RES-5")
async def test_a_client_that_validates_takes_what_a_decorated_tool_gives(tmp_path: Path):
    server = FastMCP("records")
    server.tool(report)
    server.tool(query)
    async with fail_after(30), Client(server) as client:
        listed = {tool.name: tool for tool in await client.list_tools()}
        assert all(tool.output_schema is not None for tool in listed.values())
        assert list(listed["report"].input_schema["properties"]) == ["times"]
        shown = (await client.call_tool("report", {"times": 5000})).data
        assert "there is no workspace to save it in" in shown
        assert len(str((await client.call_tool("query")).data)) <= 3000
