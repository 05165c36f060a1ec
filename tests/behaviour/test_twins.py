"""What goes on once private data is on board: the same tools, from a twin, or what an operator vouches for."""

from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.errors import ConfigError
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import DataSensitivity, Lane
from support.offers import offering, result
from support.runtime import a_tool, at_work, bad, calls_in, good, obeying, running, stand_in, twinned
from support.scenarios import entry, from_file, write_yaml
from support.servers import argv, methods
from support.spies import CARRIERS, WORDS, answer, spying
from support.waiting import until

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


@pytest.mark.requirement("RAT-5")
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("twins", CARRIERS)
async def test_the_same_tool_is_served_by_the_twin_under_the_same_name(tmp_path: Path, carrier: str, twins: str):
    async with (
        spying(carrier, tmp_path, {"tools/call": [answer()]}) as loose,
        spying(twins, tmp_path, {"tools/call": [answer()]}, name="twin") as twin,
        at_work(twinned(loose.config, twin.config)) as session,
    ):
        names = [spec.name for spec in await session.tools()]
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        outcome = good(await session.call("loose_act", {"text": WORDS}))

        assert (outcome.server, outcome.tool, outcome.lane) == ("loose", "act", Lane.SEALED)
        assert [spec.name for spec in await session.tools()] == names
        assert WORDS.encode() not in loose.heard
        assert twin.asked("tools/call")[0]["arguments"] == {"text": WORDS}


@pytest.mark.requirement("RAT-5")
async def test_a_twin_stands_in_the_file_beside_its_server(tmp_path: Path):
    logs = [tmp_path / "open", tmp_path / "twin"]
    served = entry("obeying", logs[0], command_isolated=argv("obeying", logs[1]), raises={"act": "confidential"})
    async with from_file(write_yaml(tmp_path, {"work": served})) as session:
        assert good(await session.call("work_act", {"text": WORDS})).lane is Lane.SEALED

    assert calls_in(logs[0]) == []
    assert len(calls_in(logs[1])) == 1


@pytest.mark.requirement("RAT-5")
@pytest.mark.parametrize("url", ["https://example.com/mcp", "http://8.8.8.8/mcp"])
def test_a_twin_that_is_reached_over_the_internet_is_none(tmp_path: Path, url: str):
    path = write_yaml(tmp_path, {"work": {"url": "https://example.com/mcp", "url_isolated": url}})
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(path)
    assert "url_isolated" in caught.value.problems[0]


@pytest.mark.requirement("RAT-5")
async def test_a_twin_that_cannot_be_reached_is_no_reason_for_the_wider_lane(tmp_path: Path):
    log = tmp_path / "log"
    server = twinned(obeying(log), stand_in("twin", "failing", 3, "no such image"))
    async with at_work(server) as session:
        good(await session.call("work_act"))
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        for _ in range(3):
            outcome = await session.call("work_act", {"text": WORDS})
            assert isinstance(outcome, ToolFailure)
            assert outcome.kind is FailureKind.CONNECTION_ERROR
    assert WORDS not in log.read_text()


OTHERS: dict[str, list[Any]] = {
    "one tool less": [a_tool("act")],
    "one tool more": [a_tool("act"), a_tool("look"), a_tool("more")],
    "another schema": [a_tool("act", {"properties": {"text": {"type": "integer"}}}), a_tool("look")],
    "a promise about results": [a_tool("act", outputSchema={"type": "object"}), a_tool("look")],
}


@pytest.mark.requirement("RAT-5")
@pytest.mark.parametrize("tools", OTHERS.values(), ids=OTHERS)
async def test_a_twin_that_lists_something_else_is_refused(tmp_path: Path, tools: list[Any]):
    logs = [tmp_path / "open", tmp_path / "twin"]
    async with at_work(twinned(obeying(logs[0], a_tool("act"), a_tool("look")), obeying(logs[1], *tools))) as session:
        good(await session.call("work_act", {"n": 1}))
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        failure = bad(await session.call("work_act", {"text": WORDS}), FailureKind.DENIED)

        assert failure.code == "BSC-302"
        assert "command_isolated" in failure.fix
    for log in logs:
        assert WORDS not in log.read_text()


@pytest.mark.requirement("RAT-5")
async def test_a_twin_may_be_described_in_other_words(tmp_path: Path):
    logs = [tmp_path / "open", tmp_path / "twin"]
    tools = [a_tool("act", description=words) for words in ("Acts.", "Acts, and tells nobody.")]
    async with at_work(twinned(obeying(logs[0], tools[0]), obeying(logs[1], tools[1]))) as session:
        await session.connect()
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        good(await session.call("work_act"))
        assert [spec.description for spec in await session.tools()] == ["Acts."]


@pytest.mark.requirement("RAT-5")
async def test_an_eager_twin_is_there_before_it_is_needed(tmp_path: Path):
    logs = [tmp_path / "open", tmp_path / "twin"]
    async with at_work(twinned(obeying(logs[0], twin="eager"), obeying(logs[1]))) as session:
        await session.connect()
        await until(lambda: "tools/list" in methods(logs[1]))
        assert session.sensitivity is PUBLIC
        good(await session.call("work_act"))
    assert (len(calls_in(logs[0])), len(calls_in(logs[1]))) == (1, 0)


@pytest.mark.requirement("RAT-5")
async def test_a_private_agent_session_that_never_saw_the_server_is_served_by_the_twin(tmp_path: Path):
    logs = [tmp_path / "open", tmp_path / "twin"]
    server = twinned(obeying(logs[0]), obeying(logs[1]))
    async with at_work(server) as session:
        await session.add_private_dataset("payroll", SECRET)
    async with at_work(server) as session:
        assert good(await session.call("work_act", {"text": WORDS})).lane is Lane.SEALED
    # What the server lists is no secret, and is asked for on nobody's behalf.
    assert {*methods(logs[0])} == {"server/discover", "tools/list"}
    assert WORDS not in logs[0].read_text()


# The table

EFFECTS = ("read", "write", "connect")
TOOLS = [a_tool(name) for name in EFFECTS]
FOOTINGS: dict[str, dict[str, Any]] = {
    "confined": {},
    "loose": {},
    "vouched: confidential": {"vouched": CONFIDENTIAL},
    "vouched: secret": {"vouched": SECRET},
}
TABLE: dict[tuple[str, DataSensitivity], tuple[str, ...]] = {
    **{(footing, level): EFFECTS for footing in FOOTINGS for level in (PUBLIC, INTERNAL)},
    ("confined", CONFIDENTIAL): EFFECTS,
    ("loose", CONFIDENTIAL): (),
    ("vouched: confidential", CONFIDENTIAL): ("read", "write"),
    ("vouched: secret", CONFIDENTIAL): ("read", "write"),
    ("confined", SECRET): EFFECTS,
    ("loose", SECRET): (),
    ("vouched: confidential", SECRET): (),
    ("vouched: secret", SECRET): ("read", "write"),
}


@pytest.mark.requirement("RAT-6")
@pytest.mark.parametrize(("footing", "level"), TABLE, ids=str)
async def test_what_a_server_may_still_be_asked_is_what_the_table_says(
    tmp_path: Path, footing: str, level: DataSensitivity
):
    permissions = {name: name for name in EFFECTS}
    server = obeying(tmp_path / "log", *TOOLS, permissions=permissions, **FOOTINGS[footing])
    if footing == "confined":
        server = twinned(server, obeying(tmp_path / "twin", *TOOLS))
    async with at_work(server) as session:
        await session.connect()
        await session.add_private_dataset("data", level)
        outcomes = {name: await session.call(f"work_{name}", {"text": WORDS}) for name in EFFECTS}

    allowed = tuple(name for name, outcome in outcomes.items() if not isinstance(outcome, ToolFailure))
    assert allowed == TABLE[footing, level]
    if footing == "confined" and level >= CONFIDENTIAL:
        assert calls_in(tmp_path / "log") == []
    else:
        assert tuple(params["name"] for params in calls_in(tmp_path / "log")) == allowed


@pytest.mark.requirement("RAT-6")
async def test_nobodys_word_is_inferred(tmp_path: Path):
    """Neither a private address nor what the tool says of itself makes a server one that has no way out."""
    harmless = a_tool("act", annotations={"readOnlyHint": True, "openWorldHint": False})
    scenario = {"tools/list": [result(tools=[harmless])]}
    async with spying("http", tmp_path, scenario, trust=("annotations", "permissions")) as loose:
        assert isinstance(loose.config, ServerConfig)
        assert isinstance(loose.config.transport, StreamableHttpTransport)
        async with at_work(loose.config) as session:
            good(await session.call("loose_act"))
            await session.add_private_dataset("payroll", CONFIDENTIAL)
            bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)
        assert WORDS.encode() not in loose.heard


@pytest.mark.requirement("RAT-6")
async def test_requests_that_are_no_calls_count_as_reading_and_connecting(tmp_path: Path):
    server = offering(tmp_path, uris=("note://a",), prompts=({"name": "greet"},), vouched=SECRET)
    async with running(server) as runtime:
        session = runtime.session("alice", "s-1")
        await session.library()
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        for outcome in (await session.read("note://a"), await session.prompt("work_greet")):
            failure = bad(outcome, FailureKind.DENIED)
            assert "vouched for, which covers only what does not connect" in failure.message
