"""Resources and prompts: listed on first use, kept, found by name, all on the one path."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.config.diff import ConfigDiff
from bascule.core.events import CatalogChanged
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime import resources
from bascule.runtime.session import AgentSession
from bascule.upstream.key import LinkKey
from bascule.upstream.notifications import Kind
from support.offers import CACHE, capable, offering, result
from support.runtime import TIMEOUTS, Events, at_work, bad, obeying, ratchet_of, stand_in, well
from support.scenarios import log_of
from support.servers import methods, received

GREET = {"name": "greet", "arguments": [{"name": "who", "required": True}]}


def asked(folder: Path, name: str = "work") -> list[str]:
    """What a server was asked beside tools."""
    return [method for method in methods(log_of(folder, name)) if method.split("/")[0] not in {"server", "tools"}]


# Listing


async def test_everything_is_listed_once_and_kept(tmp_path: Path, events: Events):
    server = offering(tmp_path, uris=("a://1",), templates=("a://{n}",), prompts=(GREET,))
    async with at_work(server, events=events) as session:
        assert asked(tmp_path) == []
        assert [spec.address for spec in await session.resources()] == ["a://1", "a://{n}"]
        assert [spec.name for spec in await session.prompts()] == ["work_greet"]
        assert asked(tmp_path) == ["resources/list", "resources/templates/list", "prompts/list"]
        await session.resources(refresh=True)

    assert len(asked(tmp_path)) == 6
    first = events.requests[0]
    assert (first.method, first.server, first.principal, first.outcome.ok) == (
        "resources/list",
        "work",
        session.principal,
        True,
    )
    assert len(events.requests) == 6
    assert events.calls == []


async def test_a_listing_is_asked_for_again_when_its_time_is_over(tmp_path: Path):
    server = offering(tmp_path, scenario={"prompts/list": [result(prompts=[GREET], ttlMs=0)]})
    async with at_work(server) as session:
        await session.prompts()
        await session.prompts()
        assert (await session.prompt("work_greet", {"who": "x"})).ok

    assert asked(tmp_path).count("prompts/list") == 2


async def test_a_new_link_lists_anew(tmp_path: Path):
    async with at_work(offering(tmp_path, uris=("a://1",))) as session:
        await session.resources()
        await session.close()
        await session.call("work_act")
        await session.resources()

    assert asked(tmp_path).count("resources/list") == 2


async def test_two_who_ask_at_once_share_one_listing(tmp_path: Path):
    async with at_work(offering(tmp_path, uris=("a://1",))) as session:
        await session.connect()
        await asyncio.gather(session.resources(), session.prompts())

    assert asked(tmp_path).count("resources/list") == 1


async def test_servers_without_the_capability_are_not_asked(tmp_path: Path):
    server = offering(tmp_path, scenario={"server/discover": [capable("prompts")]}, prompts=(GREET,))
    async with at_work(server) as session:
        library = await session.library()

    assert asked(tmp_path) == ["prompts/list"]
    assert (library.resources, len(library.prompts), library.problems) == ((), 1, ())


async def test_a_server_that_knows_no_templates_has_none(tmp_path: Path):
    unknown = {"error": {"code": -32601, "message": "Method not found"}}
    server = offering(tmp_path, uris=("a://1",), scenario={"resources/templates/list": [unknown]})
    async with at_work(server) as session:
        library = await session.library()

    assert ([spec.uri for spec in library.resources], library.problems) == (["a://1"], ())


async def test_pages_are_followed_and_a_list_without_end_is_a_problem_of_its_own(tmp_path: Path):
    pages = [result(prompts=[{"name": "one"}], nextCursor="2"), result(prompts=[{"name": "two"}])]
    endless = [result(resources=[{"uri": "a://1"}], nextCursor="same")]
    server = offering(tmp_path, scenario={"prompts/list": pages, "resources/list": endless})
    async with at_work(server) as session:
        library = await session.library()

    assert [spec.name for spec in library.prompts] == ["work_one", "work_two"]
    assert library.resources == ()
    assert "work: its resources could not be listed: the server gave the same cursor twice" in library.problems[0]
    cursors = [m["params"].get("cursor") for m in received(log_of(tmp_path)) if m.get("method") == "prompts/list"]
    assert cursors == [None, "2"]


async def test_a_server_that_does_not_answer_takes_no_others_prompts_away(tmp_path: Path, events: Events):
    silent = offering(tmp_path, name="mute", scenario={"prompts/list": [{}]}, timeouts=replace(TIMEOUTS, list=0.3))
    talking = offering(tmp_path, prompts=(GREET,))
    gone = stand_in("gone", "failing")
    async with at_work(silent, talking, gone, events=events) as session:
        library = await session.library()

    assert [spec.name for spec in library.prompts] == ["work_greet"]
    assert "mute: its prompts could not be listed: no reply to prompts/list" in library.problems[0]


async def test_what_is_offered_is_remembered_and_a_change_is_told(tmp_path: Path, events: Events):
    for description in ("old", "new"):
        server = offering(tmp_path, uris=("a://1",), prompts=({**GREET, "description": description},))
        async with at_work(server, events=events) as session:
            await session.prompts()

    changes = [event for event in events if isinstance(event, CatalogChanged) and event.kind != "tools"]
    assert [(change.kind, change.added, change.changed) for change in changes] == [
        ("resources", ("resource a://1",), ()),
        ("prompts", ("greet",), ()),
        ("prompts", (), ("greet",)),
    ]


# Reading


async def test_a_resource_is_read_of_the_server_that_lists_it(tmp_path: Path, events: Events):
    one = offering(tmp_path, name="one", uris=("a://1",), templates=("b://{n}",))
    two = offering(tmp_path, name="two", uris=("a://2",))
    async with at_work(one, two, events=events) as session:
        listed, fitting = well(await session.read("a://2")), well(await session.read("b://9"))

    assert (listed.text, listed.server) == ("of two", "two")
    assert (fitting.server, fitting.uri) == ("one", "b://9")
    event = next(event for event in events.requests if event.method == "resources/read")
    assert (event.subject, event.server, event.outcome) == ("a://2", "two", listed)
    assert list(listed.steps) == ["resolve", "validate", "decide", "lease", "send", "read"]


async def test_a_named_server_is_asked_without_any_listing(tmp_path: Path):
    async with at_work(offering(tmp_path)) as session:
        assert (await session.read("z://1", server="work")).ok

    assert asked(tmp_path) == ["resources/read"]


async def test_a_uri_of_nobody_is_looked_for_again_and_then_named_with_those_to_ask(tmp_path: Path, events: Events):
    pages = [result(resources=[{"uri": "a://1"}], ttlMs=0), result(resources=[{"uri": "a://2"}], ttlMs=0)]
    async with at_work(offering(tmp_path, scenario={"resources/list": pages}), events=events) as session:
        await session.resources()
        assert (await session.read("a://2")).ok
        failure = bad(await session.read("a://3"), FailureKind.UNKNOWN_TOOL)

    assert failure.code == "BSC-203"
    assert "resources are offered by work" in failure.message
    assert "`server`" in failure.fix
    assert events.requests[-1].outcome is failure


@pytest.mark.parametrize(
    ("server", "says"), [("nobody", "no server is called 'nobody'"), ("plain", "offers no resources")]
)
async def test_a_server_that_cannot_be_asked_is_the_callers_mistake(tmp_path: Path, server: str, says: str):
    async with at_work(offering(tmp_path), obeying(tmp_path / "log", name="plain")) as session:
        failure = bad(await session.read("a://1", server=server), FailureKind.INVALID_ARGUMENTS)

    assert says in failure.message


async def test_a_server_that_cannot_be_reached_says_why(tmp_path: Path):
    async with at_work(stand_in("gone", "failing")) as session:
        failure = bad(await session.read("a://1", server="gone"), FailureKind.CONNECTION_ERROR)
        again = bad(await session.read("a://1", server="gone"), FailureKind.CONNECTION_ERROR)

    assert failure.message == again.message


async def test_a_session_that_has_seen_private_data_reads_nothing_more(tmp_path: Path, events: Events):
    async with at_work(offering(tmp_path, uris=("a://1",), prompts=(GREET,)), events=events) as session:
        await session.resources()
        before = asked(tmp_path)
        ratchet_of(session).hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        refused = [
            await session.read("a://1"),
            await session.read("a://1", server="work"),
            await session.prompt("work_greet", {"who": "x"}),
            await session.complete("work_greet", "who", "x"),
        ]
        assert [spec.uri for spec in await session.resources()] == ["a://1"]
        assert all("confidential" in bad(outcome, FailureKind.DENIED).message for outcome in refused)
        await session.resources(refresh=True)

    assert asked(tmp_path) == before
    assert all(not event.outcome.ok for event in events.requests[-7:])


async def test_the_setting_for_tools_says_nothing_of_resources_and_prompts(tmp_path: Path):
    async with at_work(offering(tmp_path, uris=("a://1",), prompts=(GREET,), allow=())) as session:
        assert await session.tools() == ()
        assert (await session.read("a://1")).ok
        assert (await session.prompt("work_greet", {"who": "Ada"})).ok


async def test_labels_on_a_resource_are_findings(tmp_path: Path, events: Events):
    labelled = result(contents=[], _meta={"dev.bascule/labels": ["secret"]})
    async with at_work(offering(tmp_path, scenario={"resources/read": [labelled]}), events=events) as session:
        assert (await session.read("a://1", server="work")).ok

    assert events.requests[-1].findings == ("work labels its result SECRET, and is not trusted for labels",)


async def test_contents_that_are_malformed_are_kept_raw(tmp_path: Path):
    async with at_work(offering(tmp_path, scenario={"resources/read": [result(contents=7)]})) as session:
        failure = bad(await session.read("a://1", server="work"), FailureKind.PROTOCOL_ERROR)

    assert failure.cause == {**CACHE, "contents": 7}


# Prompts and completions


async def test_a_prompt_goes_by_its_exposed_name_and_an_unknown_one_names_the_nearest(tmp_path: Path, events: Events):
    async with at_work(offering(tmp_path, prompts=(GREET,)), events=events) as session:
        outcome = well(await session.prompt("work_greet", {"who": "Ada"}))
        assert (outcome.prompt, outcome.text) == ("greet", "user: Hi.")
        unknown = bad(await session.prompt("work_great"), FailureKind.UNKNOWN_TOOL)
        missing = bad(await session.prompt("work_greet"), FailureKind.INVALID_ARGUMENTS)

    assert (unknown.code, "work_greet" in unknown.message) == ("BSC-204", True)
    assert "missing argument 'who'" in missing.message
    assert asked(tmp_path).count("prompts/get") == 1
    assert [event.arguments for event in events.requests if event.method == "prompts/get"] == [
        {"who": "string[3]"},
        {},
        {},
    ]


async def test_arguments_and_blanks_are_completed(tmp_path: Path):
    server = offering(tmp_path, templates=("a://{n}",), prompts=(GREET,))
    async with at_work(server) as session:
        (template,), (prompt,) = await session.resources(), await session.prompts()
        for ref in ("a://{n}", template, "work_greet", prompt):
            outcome = well(await session.complete(ref, "n", "o", {"m": "1"}))
            assert outcome.values == ("one", "two")
        bad(await session.complete("nothing", "n", "o"), FailureKind.UNKNOWN_TOOL)

    refs = [m["params"]["ref"] for m in received(log_of(tmp_path)) if m.get("method") == "completion/complete"]
    resource, named = {"type": "ref/resource", "uri": "a://{n}"}, {"type": "ref/prompt", "name": "greet"}
    assert refs == [resource, resource, named, named]


async def test_a_server_without_completions_is_not_asked_for_them(tmp_path: Path):
    scenario = {"server/discover": [capable("prompts")]}
    async with at_work(offering(tmp_path, prompts=(GREET,), scenario=scenario)) as session:
        failure = bad(await session.complete("work_greet", "who", "A"), FailureKind.INVALID_ARGUMENTS)

    assert "offers no completions" in failure.message


# Changes that are told


async def told(session: AgentSession, kind: Kind) -> None:
    """The server says that something has changed."""
    roster = session._roster
    link = await roster.lease(LinkKey("work", session.lane, session.principal))
    roster.refreshing.on_change(link, kind)


@pytest.mark.parametrize("kind", ["resources", "prompts"])
async def test_what_is_held_is_dropped_when_the_server_tells_of_a_change(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resources, "SHORTEST_PAUSE", 0.0)
    scenario = {"resources/list": [result(resources=[{"uri": f"a://{n}", "name": "x"}]) for n in (1, 2)]}
    async with at_work(offering(tmp_path, scenario=scenario)) as session:
        assert [spec.address for spec in await session.resources()] == ["a://1"]
        await told(session, kind)
        assert [spec.address for spec in await session.resources()] == ["a://2"]
        await session.resources()

    assert asked(tmp_path).count("resources/list") == 2


async def test_a_read_by_name_looks_again_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resources, "SHORTEST_PAUSE", 0.0)
    async with at_work(offering(tmp_path, uris=("a://1",))) as session:
        well(await session.read("a://1"))
        await told(session, "resources")
        well(await session.read("a://1"))
        well(await session.read("a://1"))

    assert asked(tmp_path).count("resources/list") == 2


async def test_a_server_that_tells_of_changes_all_the_time_is_not_asked_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resources, "SHORTEST_PAUSE", 600.0)
    async with at_work(offering(tmp_path, uris=("a://1",))) as session:
        await session.resources()
        for _ in range(10):
            await told(session, "resources")
            await session.read("a://1")

    assert asked(tmp_path).count("resources/list") == 1


async def test_all_who_look_after_many_changes_wait_for_the_same_new_list(tmp_path: Path):
    scenario = {"resources/list": [result(resources=[{"uri": f"a://{n}", "name": "x"}]) for n in (1, 2)]}
    async with at_work(offering(tmp_path, scenario=scenario)) as session:
        await session.resources()
        for _ in range(10):
            await told(session, "resources")
        seen = await asyncio.gather(*(session.resources() for _ in range(10)))

    assert [[spec.address for spec in specs] for specs in seen] == [["a://2"]] * 10
    assert asked(tmp_path).count("resources/list") == 2


# Edits of the config


async def test_what_a_removed_or_changed_server_offered_is_not_offered_any_more(tmp_path: Path):
    one = offering(tmp_path, uris=("a://1",), prompts=(GREET,))
    two = offering(tmp_path, uris=("b://1",), name="two")
    async with at_work(one, two) as session:
        roster = session._roster
        assert len(await session.resources()) == 2
        roster.adopt({"work": replace(one, prefix="w")}, ConfigDiff(removed=("two",), relisted=("work",)))

        assert well(await session.prompt("w_greet", {"who": "x"})).prompt == "greet"
        assert [spec.address for spec in (await session.library()).resources] == ["a://1"]
        bad(await session.read("b://1"), FailureKind.UNKNOWN_TOOL)
        assert (await session._shelf._list("two")).offers.resources == {}
