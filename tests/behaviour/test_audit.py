"""The audit log: everything that was done is in it, and what could do harm was in it before it was done."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.config import RuntimeConfig
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from support.auditing import logged
from support.command import bascule, configured, entry
from support.locks import lock_in
from support.offers import life
from support.runtime import Events, a_tool, bad, good, obeying, running, well
from support.scenarios import scripted, write_yaml
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("OBS-2")

READS = {"act": "read"}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def told(records: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(record.get(name) for name in names) for record in records]


async def test_a_call_that_may_change_something_leaves_two_records_and_one_that_reads_leaves_one(
    state: Path, tmp_path: Path
):
    tool = a_tool("act", {"properties": {"text": {"type": "string"}}})
    writes = obeying(tmp_path / "one", tool, name="writes")
    reads = obeying(tmp_path / "two", tool, name="reads", permissions=READS)
    async with running(writes, reads) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("writes_act", {"text": "hello"}))
        good(await session.call("reads_act", {"text": "hello"}))

    sending, first, second = logged(state, "sending", "ended")
    assert told([sending, first, second], "kind", "user", "session", "server", "tool", "lane") == [
        ("sending", "alice", "s-1", "writes", "act", "open"),
        ("ended", "alice", "s-1", "writes", "act", "open"),
        ("ended", "alice", "s-1", "reads", "act", "open"),
    ]
    assert sending["arguments"] == second["arguments"] == {"text": "string[5]"}
    assert (first["outcome"], first["call"], "call" in second) == ("ok", sending["seq"], False)
    assert first["seconds"] > 0


async def test_a_refusal_is_there_with_its_rule(state: Path, tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        session = runtime.session("alice", "s-1")
        await session.tools()
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        failure = bad(await session.call("work_act"), FailureKind.DENIED)

    (refused,) = logged(state, "ended")
    assert (refused["outcome"], refused["code"], refused["server"]) == ("denied", failure.code, "work")
    assert failure.evidence == f"rule: {refused['rule']}"
    assert logged(state, "sending") == []


async def test_a_raise_a_resource_and_the_links_are_there(state: Path, tmp_path: Path):
    server = scripted(tmp_path, life(uris=("note://index",)))
    async with running(server) as runtime:
        session = runtime.session("alice", "s-1")
        well(await session.read("note://index"))
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)

    (level,) = logged(state, "level")
    assert told([level], "change", "before", "after", "by") == [("raise", "public", "confidential", "dataset")]
    asked = [record for record in logged(state, "sending") if record["method"] == "resources/read"]
    assert asked[0]["tool"].startswith("note:#")
    assert [record["state"] for record in logged(state, "link")][:1] == ["ready"]
    assert "payroll" not in "".join(path.read_text() for path in (state / "audit").iterdir())


async def test_what_is_not_as_it_was_approved_is_there(state: Path, tmp_path: Path):
    lock_in(tmp_path, work=(a_tool("act", description="as it was"),))
    path = write_yaml(tmp_path, {"work": entry("obeying", str(tmp_path / "log"))})
    async with fail_after(20, "a runtime"), Runtime.from_file(path) as runtime:
        await runtime.session("alice", "s-1").tools()

    assert told(logged(state, "quarantine"), "server", "tools") == [("work", ["act"])]


async def test_an_edit_of_the_config_is_there(state: Path, tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("obeying", str(tmp_path / "log"))})
    async with fail_after(20, "a runtime"), Runtime.from_file(path) as runtime:
        path.write_text("mcp_servers: {work: {}}")
        with pytest.raises(Exception, match="config"):
            await runtime.reload()
        write_yaml(tmp_path, {"other": entry("obeying", str(tmp_path / "log"))})
        await runtime.reload()

    assert told(logged(state, "config"), "applied", "code", "added", "removed") == [
        (False, "BSC-100", None, None),
        (True, None, ["other"], ["work"]),
    ]


async def test_a_link_that_died_and_came_back_is_there(state: Path, tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        session = runtime.session("alice", "s-1")
        await session.call("work_act", {"exit": 3})
        good(await session.call("work_act", {}))

    assert told(logged(state, "link"), "state", "code")[:3] == [("ready", None), ("failed", "BSC-402"), ("ready", None)]
    assert told(logged(state, "ended"), "outcome", "code") == [("connection_error", "BSC-402"), ("ok", None)]


async def test_arguments_are_whole_and_without_secrets_if_the_operator_says_so(state: Path, tmp_path: Path):
    server = scripted(tmp_path, {}, permissions=READS)
    secret = "hunter-2222"
    config = RuntimeConfig({"work": with_secret(server, secret)}, audit_arguments="full")
    async with fail_after(20, "a runtime"), Runtime(config) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("work_act", {"path": "/a", "note": f"it is {secret}"}))
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        bad(await session.call("work_act", {"path": "/b"}), FailureKind.DENIED)

    assert told(logged(state, "sending", "asked"), "kind", "arguments") == [
        ("sending", {"path": "/a", "note": "it is ***"}),
        ("asked", {"path": "/b"}),
    ]


def with_secret(server: Any, secret: str) -> Any:
    from dataclasses import replace

    return replace(server, transport=replace(server.transport, env={"KEY": secret}))


async def test_the_events_say_where_their_record_is(state: Path, tmp_path: Path):
    events = Events()
    async with running(obeying(tmp_path / "log"), events=events) as runtime:
        good(await runtime.session("alice", "s-1").call("work_act"))

    (sending,) = logged(state, "sending")
    assert events.call.noted == sending["seq"]
    assert events.call.seconds > 0


# At the command line


@pytest.mark.long
async def test_the_command_shows_what_was_done_and_verifies_it(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    nothing = await bascule(tmp_path, "audit", "show")
    assert (nothing.code, nothing.out) == (0, "nothing is logged yet\n")
    for user in ("ada", "bob"):
        await bascule(tmp_path, "call", "echo_echo", "message=hi", "--user", user)
    shown = await bascule(tmp_path, "audit", "show", "--user", "ada", "--server", "echo")
    records = (await bascule(tmp_path, "audit", "show", "--json", "--last", "3")).json
    verified = await bascule(tmp_path, "audit", "verify")
    checked = (await bascule(tmp_path, "audit", "verify", "--json")).json

    assert (shown.code, verified.code) == (0, 0)
    assert "echo/echo" in shown.out
    assert "bob" not in shown.out
    assert [record["kind"] for record in records["records"]] == ["ended", "link", "anchored"]
    assert "intact" in verified.out
    assert "cannot be found out" in verified.out
    assert (checked["ok"], checked["writers"][0]["after"], checked["writers"][0]["proven_by"]) == (True, 0, "store")


@pytest.mark.long
async def test_the_command_names_the_record_that_was_altered_and_the_last_anchor_that_holds(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    for user in ("ada", "bob"):
        await bascule(tmp_path, "call", "echo_echo", "message=hi", "--user", user)
    log = tmp_path / "state" / "audit" / "0001.log"
    lines = log.read_bytes().splitlines(keepends=True)
    anchors = [number for number, line in enumerate(lines, start=1) if b'"anchored"' in line]
    place = next(number for number, line in enumerate(lines, start=1) if b'"bob"' in line)
    lines[place - 1] = lines[place - 1].replace(b'"bob"', b'"eve"')
    log.write_bytes(b"".join(lines))
    verified = await bascule(tmp_path, "audit", "verify")
    checked = (await bascule(tmp_path, "audit", "verify", "--json")).json

    assert verified.code == 1
    assert f"altered: record {place} is not as it was written (0001.log, line {place})" in verified.out
    assert f"proven up to record {anchors[0]}" in verified.out
    (writer,) = checked["writers"]
    assert (checked["ok"], writer["proven"]["sequence"], writer["damage"][0]["what"]) == (False, anchors[0], "altered")


@pytest.mark.long
async def test_an_anchor_that_was_kept_elsewhere_proves_more(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    await bascule(tmp_path, "call", "echo_echo", "message=hi")
    (writer,) = (await bascule(tmp_path, "audit", "verify", "--json")).json["writers"]
    anchor = writer["head"]["anchor"]
    held = await bascule(tmp_path, "audit", "verify", "--anchor", anchor)
    for path in (tmp_path / "state" / "bascule.db", *(tmp_path / "state" / "audit").iterdir()):
        path.unlink()
    gone = await bascule(tmp_path, "audit", "verify", "--anchor", anchor)
    wrong = await bascule(tmp_path, "audit", "verify", "--anchor", "abc")

    assert held.code == 0
    assert gone.code == 1
    assert wrong.code == 2
    assert "WRITER:SEQUENCE:MAC" in wrong.err


@pytest.mark.long
async def test_the_log_is_exported_as_lines_or_as_a_table(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    await bascule(tmp_path, "call", "echo_echo", "message=hi", "--user", "=cmd")
    lines = await bascule(tmp_path, "audit", "export")
    table = await bascule(tmp_path, "audit", "export", "--format", "csv", "--since", "1h", "out.csv")
    none = await bascule(tmp_path, "audit", "export", "--since", "2099-01-01")
    wrong = await bascule(tmp_path, "audit", "export", "--since", "yesterday")

    assert [json.loads(line)["kind"] for line in lines.out.splitlines()][:2] == ["began", "link"]
    assert table.code == 0
    written = (tmp_path / "out.csv").read_text()
    assert written.startswith("at,writer,seq,kind,user,")
    assert ",'=cmd," in written
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o600
    assert none.out == ""
    assert wrong.code == 2


async def test_an_operators_deeds_are_there(tmp_path: Path):
    of = ("--user", "ada", "--session", "s-1")
    await bascule(tmp_path, "sessions", "raise", *of, "--to", "secret", "--reason", "my-own-words")
    await bascule(tmp_path, "sessions", "declassify", *of, "--to", "public", "--reason", "my-own-words", "--yes")
    state = tmp_path / "state"

    assert [record["kind"] for record in logged(state)] == [
        *("began", "level", "anchored"),
        *("resumed", "deed", "level", "anchored"),
    ]
    assert "my-own-words" not in (state / "audit" / "0001.log").read_text()


async def test_a_log_that_cannot_be_written_is_told_before_anything_is_done(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "audit").write_text("a file in the way")
    ran = await bascule(tmp_path, "call", "echo_echo", "message=hi")

    assert ran.code == 1
    assert "BSC-650  the audit log in" in ran.err
    assert "BASCULE_HOME" in ran.err
