"""Doctor on what servers list, and on what the config says: tools that model APIs refuse, that have one name, that have
changed since they were approved; a file that is not YAML, a key that is misspelt."""

import json
from pathlib import Path

import pytest

from support.command import bascule
from support.doctor import HOME, all_in_order, command_in, doctor, on_the_page
from support.runtime import a_tool
from support.scenarios import entry, write_yaml

UNION = {"anyOf": [{"required": ["id"]}, {"required": ["name"]}], "properties": {"id": {"type": "string"}}}


def tools(folder: Path, *listed: object, **more: object) -> dict[str, object]:
    return entry("obeying", folder / "log", json.dumps(listed), **more)


async def test_a_schema_that_model_apis_refuse(tmp_path: Path):
    listed = (a_tool("find", UNION), a_tool("act"))
    write_yaml(tmp_path, {"notes": tools(tmp_path, *listed)})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (found.ok, check.subject, check.status) == (True, "tool notes_find", "warn")
    assert check.message == "OpenAI and Anthropic would refuse every request with this tool in it"
    assert check.evidence == "OpenAI, Anthropic: its input schema has `anyOf` at the top level"
    assert check.fix.endswith('`tools: {block: ["find"]}`')
    on_the_page("A schema that model APIs refuse", found, {str(tmp_path): HOME})
    write_yaml(tmp_path, {"notes": tools(tmp_path, *listed, tools={"block": ["find"]})})
    assert all_in_order(await doctor(tmp_path))


@pytest.mark.long
async def test_two_tools_with_one_name(tmp_path: Path):
    one, two = (entry("echo", prefix="") for _ in range(2))
    write_yaml(tmp_path, {"mine": one, "yours": two})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (check.subject, check.status) == ("tool echo", "warn")
    assert check.message == "2 tools would have this name, so agents are given none of them"
    assert check.evidence == "mine/echo\nyours/echo"
    assert "`prefix: yours` for the server yours" in check.fix
    on_the_page("Two tools with one name", found, {})
    write_yaml(tmp_path, {"mine": one, "yours": {**two, "prefix": "yours"}})
    assert all_in_order(await doctor(tmp_path))


@pytest.mark.long
async def test_a_tool_that_has_changed_since_it_was_approved(tmp_path: Path):
    write_yaml(tmp_path, {"notes": tools(tmp_path, a_tool("act", description="Say hello."))})
    assert (await bascule(tmp_path, "approve", "notes", "--yes")).code == 0
    assert all_in_order(await doctor(tmp_path))
    write_yaml(tmp_path, {"notes": tools(tmp_path, a_tool("act", description="Say goodbye."))})
    assert (await bascule(tmp_path, "list")).code == 0
    found = await doctor(tmp_path)
    drift = found.of("lock")

    assert drift.status == "warn"
    assert drift.message == "1 tool is changed since approved, and kept from agents"
    assert drift.evidence == "notes_act: its description changed since it was approved"
    assert command_in(drift.fix) == "bascule approve notes"
    on_the_page("A tool that has changed since it was approved", found, {})
    lock = (tmp_path / "bascule.lock").read_bytes()
    assert (await bascule(tmp_path, "approve", "notes", "--yes")).code == 0
    assert (tmp_path / "bascule.lock").read_bytes() != lock
    assert all_in_order(await doctor(tmp_path))


async def test_a_config_that_is_not_yaml(tmp_path: Path):
    path = tmp_path / "bascule.yaml"
    path.write_text("mcp_servers:\n  notes: {command: notes-server\n  other: {command: x}\n")
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (found.code, check.subject) == (2, "config")
    assert f"{path}:3: not YAML" in check.message
    on_the_page("A config that is not YAML", found, {str(tmp_path): HOME})
    write_yaml(tmp_path, {"notes": entry("echo")})
    assert all_in_order(await doctor(tmp_path))


async def test_a_key_that_is_misspelt(tmp_path: Path):
    described = entry("echo")
    path = write_yaml(tmp_path, {"notes": {**described, "timeout": {"call": 5}}})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (found.code, check.subject) == (2, "config")
    assert 'mcp_servers.notes.timeout: unknown key; did you mean "timeouts"?' in check.evidence
    on_the_page("A key that is misspelt", found, {str(tmp_path): HOME})
    path.write_text(path.read_text().replace("timeout:", "timeouts:"))
    assert all_in_order(await doctor(tmp_path))
