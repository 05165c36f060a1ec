"""What the rules let be seen and done."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bascule import Runtime
from bascule.core.errors import ConfigError
from bascule.core.outcome import FailureKind
from support.runtime import Events, a_tool, at_work, bad, calls_in, obeying
from support.scenarios import entry, from_file, write_mcp_json, write_yaml

NAMES = ("read_file", "read_secret", "write_file", "delete")
TOOLS = [a_tool(name) for name in NAMES]


async def seen_with(folder: Path, **lists: Any) -> set[str]:
    """The server's own names of the tools that an agent sees."""
    async with at_work(obeying(folder / "log", *TOOLS, prefix="files", **lists)) as session:
        return {spec.key.tool for spec in await session.tools()}


@pytest.mark.requirement("POL-1")
@pytest.mark.parametrize(
    ("lists", "seen"),
    [
        ({}, {*NAMES}),
        ({"allow": ("read_*",)}, {"read_file", "read_secret"}),
        ({"allow": ("read_*", "delete"), "block": ("*_secret",)}, {"read_file", "delete"}),
        ({"block": ("write_file", "del*")}, {"read_file", "read_secret"}),
        ({"allow": ("delete",), "block": ("delete",)}, set[str]()),
        ({"allow": ()}, set[str]()),
        ({"allow": ("files_read_file", "READ_FILE", "read")}, set[str]()),
    ],
)
async def test_agents_see_what_is_allowed_less_what_is_blocked(tmp_path: Path, lists: dict[str, Any], seen: set[str]):
    assert await seen_with(tmp_path, **lists) == seen


@pytest.mark.requirement("POL-1")
async def test_a_tool_that_is_not_exposed_answers_like_one_that_does_not_exist(tmp_path: Path):
    log = tmp_path / "log"
    others = [tool for tool in TOOLS if tool["name"] != "delete"]
    async with at_work(obeying(log, *TOOLS, block=("delete",))) as session:
        hidden = bad(await session.call("work_delete", {}), FailureKind.UNKNOWN_TOOL)
    async with at_work(obeying(log, *others)) as session:
        absent = bad(await session.call("work_delete", {}), FailureKind.UNKNOWN_TOOL)

    assert replace(hidden, steps={}) == replace(absent, steps={})
    assert calls_in(log) == []


@pytest.mark.requirement("POL-1")
@pytest.mark.parametrize("unreadable", ["read_*", {"read_*": True}, ["read_*", 7], [""]])
def test_an_allow_list_that_cannot_be_read_exposes_nothing(tmp_path: Path, unreadable: Any):
    path = write_yaml(tmp_path, {"files": entry("echo", tools={"allow": unreadable})})

    with pytest.raises(ConfigError, match="1 problem") as caught:
        Runtime.from_file(path)
    assert "mcp_servers.files.tools.allow" in caught.value.problems[0]


@pytest.mark.requirement("POL-1")
async def test_an_allow_list_with_a_hole_exposes_nothing(tmp_path: Path):
    path = write_yaml(tmp_path, {"files": entry("echo", tools={"allow": ["echo", "${SURELY_NOT_SET}"]})})
    async with from_file(path) as session:
        assert await session.tools() == ()
        assert session.servers()[0].state == "failed"


@pytest.mark.requirement("POL-1")
async def test_a_server_listed_in_somebody_elses_file_exposes_every_tool(tmp_path: Path):
    async with from_file(write_mcp_json(tmp_path, {"files": entry("echo")})) as session:
        assert [spec.name for spec in await session.tools()] == ["files_echo"]


def broken(*_: object) -> Any:
    raise RuntimeError("a mistake inside a rule")


@pytest.mark.requirement("POL-4")
async def test_a_rule_that_breaks_has_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Rules are ours alone, so the only way to meet a broken one is to break one.
    monkeypatch.setattr("bascule.policy.rules.lane_for", broken)
    log, events = tmp_path / "log", Events()
    async with at_work(obeying(log), events=events) as session:
        failure = bad(await session.call("work_act", {}), FailureKind.DENIED)

    assert failure.code == "BSC-300"
    assert "data_stays_in" in failure.message
    assert "a mistake inside" not in failure.message
    assert calls_in(log) == []
    assert events.call.outcome == failure


@pytest.mark.requirement("POL-4")
async def test_the_rule_that_hides_tools_hides_them_also_when_it_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = tmp_path / "log"
    async with at_work(obeying(log)) as session:
        await session.connect()
        monkeypatch.setattr("bascule.policy.exposure.Exposure.permits", broken)
        failure = bad(await session.call("work_act", {}), FailureKind.UNKNOWN_TOOL)

    assert "there is no tool 'work_act'" in failure.message
    assert calls_in(log) == []
