"""Fields that a client fetches by itself, in a private agent session: they are removed from everything a server returns,
unless the operator allows their host for confidential data. Text stays as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.config import Egress, RuntimeConfig, ServerConfig
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity, Lane
from support.bwrap import skip_without_bubblewrap
from support.gateways import ask, serving
from support.kit_http import line_to
from support.offers import life, result
from support.runtime import Events, at_work, bad, good, stand_in, twinned, well
from support.scenarios import scripted
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("RAT-12")

CONFIDENTIAL, SECRET = DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET
ALLOWING = Egress(allow=("allowed.test",))
EVIL, GOOD = "https://evil.test/?salary=90000", "https://allowed.test/report"
REMOVED = (
    "[removed by Bascule: this agent session is private, and a client may fetch the address in this part by itself]"
)
REMOVED_URI = "urn:bascule:removed-address"
TEXT = f"The report is at {EVIL}."


def icon(address: str) -> dict[str, Any]:
    return {"src": address, "mimeType": "image/png"}


def link(address: str, **more: Any) -> dict[str, Any]:
    return {"type": "resource_link", "uri": address, "name": "report", **more}


def embedded(address: str, **more: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": address, "text": TEXT, **more}}


BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": TEXT},
    link(EVIL),
    link("note://1", icons=[icon(EVIL)], _meta={"ui": {"resourceUri": "ui://page"}, "kept": 1}),
    link(GOOD, icons=[icon(GOOD)]),
    embedded(EVIL),
    embedded("ui://page", mimeType="text/html;profile=mcp-app"),
    {"type": "image", "url": EVIL, "mimeType": "image/png"},
    {"type": "audio", "data": EVIL, "mimeType": "audio/mpeg"},
    {"type": "audio", "data": "//uQxAAA", "mimeType": "audio/mpeg"},
]
META = {
    "ui/resourceUri": "ui://page",
    "openai/outputTemplate": "ui://page",
    "about": {"websiteUrl": EVIL, "name": "work"},
}
CALLED = result(content=BLOCKS, structuredContent={"link": EVIL}, _meta=META)
GONE = {"type": "text", "text": REMOVED}
SEALED_BLOCKS = [
    BLOCKS[0],
    GONE,
    {"type": "resource_link", "uri": "note://1", "name": "report", "_meta": {"kept": 1}},
    GONE,
    embedded(REMOVED_URI),
    *(GONE, GONE, GONE),
    BLOCKS[8],
]
PROXIED_BLOCKS = [*SEALED_BLOCKS[:3], BLOCKS[3], *SEALED_BLOCKS[4:]]


@pytest.fixture
def boxed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in sandboxes of bubblewrap, as users have them."""
    skip_without_bubblewrap()
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")


def in_a_sandbox(folder: Path, scenario: dict[str, Any]) -> ServerConfig:
    """A scripted server that can write to the `/tmp` of its sandbox alone."""
    file = folder / "scenario.json"
    file.write_text(json.dumps([scenario]))
    return stand_in("work", "scripted", file, "/tmp/scripted.log")


def pair(folder: Path, scenario: dict[str, Any]) -> ServerConfig:
    """The same server twice: on the open lane and as its declared twin."""
    return twinned(*(scripted(folder, scenario, name=name) for name in ("work", "twin")))


async def test_a_result_loses_what_a_client_would_fetch_and_keeps_its_text(engine: str, tmp_path: Path, events: Events):
    server = in_a_sandbox(tmp_path, {"tools/call": [CALLED]})
    async with at_work(server, events=events, egress=ALLOWING, within=120) as session:
        opened = good(await session.call("work_act"))
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        proxied = good(await session.call("work_act"))
        await session.add_private_dataset("payroll", SECRET)
        sealed = good(await session.call("work_act"))

    assert (opened.raw["content"], opened.raw["_meta"]) == (BLOCKS, META)
    assert (proxied.lane, proxied.raw["content"]) == (Lane.PROXIED, PROXIED_BLOCKS)
    assert (sealed.lane, sealed.raw["content"]) == (Lane.SEALED, SEALED_BLOCKS)
    for each in (proxied, sealed):
        assert each.raw["_meta"] == {"about": {"name": "work"}}
        assert each.structured == {"link": EVIL}
    assert [len(call.findings) for call in events.calls] == [0, 1, 1]
    assert "content[1]" in events.calls[1].findings[0]
    assert "evil.test" not in str([call.findings for call in events.calls])


async def test_the_result_that_raises_a_session_loses_them_too(tmp_path: Path):
    labelled = result(content=BLOCKS, _meta={"dev.bascule/labels": ["secret"]})
    server = scripted(tmp_path, {"tools/call": [labelled]}, trust=("labels",))
    async with at_work(server) as session:
        outcome = good(await session.call("work_act"))
    assert (outcome.lane, outcome.raw["content"]) == (Lane.OPEN, SEALED_BLOCKS)


async def test_what_the_operator_vouches_for_is_no_exception(tmp_path: Path):
    server = scripted(tmp_path, {"tools/call": [CALLED]}, vouched=SECRET, permissions={"act": "read"})
    async with at_work(server) as session:
        await session.add_private_dataset("payroll", SECRET)
        assert good(await session.call("work_act")).raw["content"] == SEALED_BLOCKS


async def test_a_raise_within_a_wrapper_counts_for_what_it_passes_on(tmp_path: Path):
    made = Runtime(RuntimeConfig(servers={"work": scripted(tmp_path, {"tools/call": [CALLED]})}))
    seen: list[Any] = []

    async def wrapper(tool: Any, arguments: Any) -> Any:
        outcome = good(await tool(arguments))
        seen.append(outcome.raw["content"])
        await session.add_private_dataset("payroll", SECRET)
        return outcome

    made.wrap("work_act", wrapper)
    async with fail_after(20, "a wrapped call"), made as runtime:
        session = runtime.session("alice", "s-1")
        outcome = good(await session.call("work_act"))
    assert (seen, outcome.raw["content"]) == ([BLOCKS], SEALED_BLOCKS)


MESSAGES = [{"role": "user", "content": block} for block in BLOCKS]
CONTENTS = [
    {"uri": "note://1", "text": TEXT, "_meta": {"ui": {"csp": {"connectDomains": [EVIL]}}}},
    {"uri": EVIL, "text": TEXT},
    {"uri": "ui://page", "mimeType": "text/html", "text": "<img src=x>"},
]


async def test_a_prompt_and_a_resource_lose_them(tmp_path: Path, events: Events):
    scenario = life(
        uris=("note://1", "ui://page", GOOD),
        prompts=({"name": "hello", "icons": [icon(EVIL)]},),
        scenario={"prompts/get": [result(messages=MESSAGES)], "resources/read": [result(contents=CONTENTS)]},
    )
    async with at_work(pair(tmp_path, scenario), events=events) as session:
        before = well(await session.read("note://1"))
        await session.add_private_dataset("payroll", SECRET)
        prompt = well(await session.prompt("work_hello"))
        contents = well(await session.read("note://1")).contents
        page = well(await session.read("ui://page")).contents

    assert before.contents == CONTENTS
    assert [message["content"] for message in prompt.messages] == SEALED_BLOCKS
    note = {"mimeType": "text/plain", "text": REMOVED}
    assert contents == [
        {"uri": "note://1", "text": TEXT, "_meta": {}},
        {"uri": REMOVED_URI, "text": TEXT},
        {"uri": REMOVED_URI, **note},
    ]
    assert page[2] == {"uri": "ui://page", **note}
    done = {event.method: len(event.findings) for event in events.requests}
    assert (done["prompts/get"], done["resources/read"]) == (1, 1)


async def test_a_listing_of_a_private_session_has_no_entry_that_a_client_would_fetch(tmp_path: Path, events: Events):
    uris, templates = ("note://1", EVIL, "ui://page"), ("note://{n}", f"{EVIL}&{{n}}")
    async with at_work(pair(tmp_path, life(uris=uris, templates=templates)), events=events) as session:
        before = [spec.address for spec in await session.resources()]
        await session.add_private_dataset("payroll", SECRET)
        after = [spec.address for spec in await session.resources(refresh=True)]

    assert before == [*uris, *templates]
    assert after == ["note://1", "note://{n}"]
    listed = [event for event in events.requests if event.findings]
    assert {event.method for event in listed} == {"resources/list", "resources/templates/list"}


async def test_the_structured_data_of_an_error_loses_them(tmp_path: Path, events: Events):
    error = {
        "error": {"code": -32000, "message": TEXT, "data": {"icons": [icon(EVIL)], "see": [EVIL, 1], "message": TEXT}}
    }
    async with at_work(pair(tmp_path, {"tools/call": [error]}), events=events) as session:
        await session.add_private_dataset("payroll", SECRET)
        failure = bad(await session.call("work_act"), FailureKind.TOOL_ERROR)
    assert (failure.message, failure.cause) == (TEXT, {"see": [1], "message": TEXT})
    assert "visit" not in failure.fix
    assert len(events.call.findings) == 1


@pytest.mark.usefixtures("boxed")
@pytest.mark.parametrize("new", [True, False], ids=["new", "old"])
async def test_a_client_of_the_gateway_gets_none_of_them(tmp_path: Path, new: bool):
    scenario = life(
        uris=("note://1", EVIL), scenario={"tools/call": [CALLED], "resources/read": [result(contents=CONTENTS)]}
    )
    server = in_a_sandbox(tmp_path, scenario)
    async with serving(server, egress=ALLOWING, within=120) as served, line_to(served.port) as line:

        async def got(method: str, **params: Any) -> Any:
            return (await ask(line, method, params, new=new)).message["result"]

        opened = await got("tools/call", name="work_act")
        session = served.runtime.session("alice", "s-1")
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        proxied = await got("tools/call", name="work_act")
        await session.add_private_dataset("payroll", SECRET)
        sealed = await got("tools/call", name="work_act")
        read = await got("resources/read", uri="note://1")
        listed = await got("resources/list")

    assert [each["content"] for each in (opened, proxied, sealed)] == [BLOCKS, PROXIED_BLOCKS, SEALED_BLOCKS]
    assert [each["uri"] for each in read["contents"]] == ["note://1", REMOVED_URI, REMOVED_URI]
    assert [each["uri"] for each in listed["resources"]] == ["note://1"]


async def test_a_question_for_a_model_loses_them(tmp_path: Path, events: Events):
    """Sampling: the messages hold content blocks too."""
    asked: list[Any] = []
    server = twinned(*(stand_in("it", "asking", tmp_path / name) for name in ("log", "twin")))
    async with at_work(server, events=events, on_sample=lambda question: asked.append(question.params)) as session:
        await session.add_private_dataset("payroll", SECRET)
        params = {"messages": [{"role": "user", "content": BLOCKS}], "maxTokens": 5}
        good(await session.call("it_ask", {"ask": "sampling/createMessage", "params": params}))

    assert asked[0]["messages"][0]["content"] == SEALED_BLOCKS
    assert len(events.answers[0].findings) == 1
