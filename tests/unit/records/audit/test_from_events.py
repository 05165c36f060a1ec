"""Events as the log tells them."""

from typing import Any

import msgspec
import pytest

from bascule.core.errors import ConfigError
from bascule.core.events import (
    CallUndone,
    CatalogChanged,
    ConfigApplied,
    ConfigRejected,
    HostAsked,
    LevelChanged,
    LinkChanged,
    QuestionAnswered,
    RefreshFailed,
    RequestEnded,
    ToolInvoked,
    ToolsQuarantined,
)
from bascule.core.outcome import FailureKind, PromptResult, ResourceResult, ToolFailure, ToolResult
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolSpec
from bascule.core.undo.transaction import Ending, Remote
from bascule.records.audit.from_events import MOST_NAMED, RECORDS, Recorded
from bascule.records.audit.pseudonyms import Aliases
from support.links import ALICE

ALIASES = Aliases(b"k" * 32)
SPEC = ToolSpec("files_write", ToolKey("files", "write"), "", input_schema={"properties": {"path": {}}})
ALIASES.shapes({"path": ""}, SPEC)
WHO = {"user": "alice", "session": "s-1"}
DONE = ToolResult({}, "files", "write", Lane.OPEN, {})


def record_of(event: object, number: int, aliases: Aliases) -> Recorded | None:
    make = RECORDS.get(type(event))
    return make(event, number, aliases) if make is not None else None


def told(event: object) -> dict[str, Any]:
    recorded = record_of(event, 7, ALIASES)
    assert recorded is not None
    shape: dict[str, Any] = msgspec.to_builtins(recorded[0])
    assert shape.pop("seq") == 7
    return shape


def a_call(outcome: ToolResult | ToolFailure = DONE, server: str = "files", **more: Any) -> ToolInvoked:
    return ToolInvoked(
        "files_write", server, ALICE, Lane.OPEN, outcome, {"path": "string[4]"}, {}, 5.0, seconds=0.25, **more
    )


ENDED = {
    "kind": "ended",
    "at": 5.0,
    **WHO,
    "server": "files",
    "tool": "write",
    "lane": "open",
    "outcome": "ok",
    "seconds": 0.25,
}


def test_a_call_that_went_well():
    assert told(a_call()) == {**ENDED, "arguments": {"path": "string[4]"}}


def test_what_stands_in_the_record_before_is_not_told_again():
    assert told(a_call(noted=6)) == {**ENDED, "call": 6}


def test_a_failure_tells_what_it_may_have_done_and_what_was_undone():
    failure = ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", "words", "files", "write")
    shape = told(a_call(failure, noted=6, remote=Remote.UNKNOWN, local=Ending.RESTORED))

    assert (shape["remote"], shape["local"]) == ("unknown", "restored")
    assert not {"remote", "local"} & told(a_call(noted=6, remote=Remote.DONE, local=Ending.KEPT)).keys()


def test_what_was_undone_later():
    event = CallUndone("files_write", "files", ALICE, Ending.RESTORED, ("words",), 5.0)

    assert told(event) == {
        "kind": "undone",
        "at": 5.0,
        **WHO,
        "server": "files",
        "tool": "files_write",
        "local": "restored",
    }


def test_a_refusal_with_its_rule():
    failure = ToolFailure(FailureKind.DENIED, "BSC-300", "words", "files", "write", evidence="words", fix="words")

    assert told(a_call(failure, rule="no_connect", findings=("a", "b"))) == {
        **ENDED,
        "outcome": "denied",
        "arguments": {"path": "string[4]"},
        "code": "BSC-300",
        "rule": "no_connect",
        "findings": 2,
    }


def test_a_failure_of_the_tool_by_its_code_alone():
    failure = ToolFailure(FailureKind.TOOL_ERROR, "BSC-700", "words", "files", "write", tool_code=404, status=500)

    assert told(a_call(failure, noted=3)) == {
        **ENDED,
        "outcome": "tool_error",
        "call": 3,
        "code": "BSC-700",
        "tool_code": 404,
        "status": 500,
    }


def test_of_a_tool_that_there_is_not_nothing_is_named():
    failure = ToolFailure(FailureKind.UNKNOWN_TOOL, "BSC-201", "words", "", "my secret")
    shape = told(a_call(failure, server=""))

    assert shape["tool"] == ALIASES.of("my secret")


@pytest.mark.parametrize(
    ("outcome", "noted", "sent"),
    [
        (DONE, 0, True),
        (ToolFailure(FailureKind.TIMEOUT, "BSC-403", "words"), 0, True),
        (ToolFailure(FailureKind.DENIED, "BSC-300", "words"), 0, False),
        (ToolFailure(FailureKind.UNKNOWN_TOOL, "BSC-201", "words"), 0, False),
        (ToolFailure(FailureKind.DENIED, "BSC-303", "words"), 4, True),
    ],
)
def test_what_may_have_been_sent_must_not_be_lost(outcome: ToolResult | ToolFailure, noted: int, sent: bool):
    recorded = record_of(a_call(outcome, noted=noted), 7, ALIASES)

    assert recorded is not None
    assert recorded[1] is sent


def a_request(method: str, subject: str, outcome: Any, server: str = "files") -> RequestEnded:
    return RequestEnded(method, subject, server, ALICE, Lane.SEALED, outcome, {}, {}, 5.0)


def test_a_resource_is_told_by_its_scheme_and_an_alias():
    uri = "file:///home/alice/payroll"
    read = a_request("resources/read", uri, ResourceResult({}, "files", uri, Lane.SEALED, {}))
    lost = a_request("resources/read", uri, ToolFailure(FailureKind.TIMEOUT, "BSC-403", "words", "files", uri))

    assert told(read)["tool"] == told(lost)["tool"] == ALIASES.uri(uri)
    assert told(read)["method"] == "resources/read"
    nowhere = a_request("resources/read", uri, ToolFailure(FailureKind.UNKNOWN_TOOL, "BSC-203", "words", "", uri), "")
    assert told(nowhere)["tool"] == ALIASES.of(uri)


def test_a_prompt_is_told_by_its_servers_own_name():
    filled = a_request("prompts/get", "files_greet", PromptResult({}, "files", "greet", Lane.SEALED, {}))

    assert told(filled)["tool"] == "greet"


def test_listings_are_counted():
    event = CatalogChanged("files", ("a", "b"), ("c",), (), 5.0, ("words",), "resources")

    assert told(event) == {
        "kind": "catalog",
        "at": 5.0,
        "server": "files",
        "listed": "resources",
        "added": 2,
        "changed": 1,
        "findings": 1,
    }


def test_quarantined_tools_are_named_up_to_a_number():
    event = ToolsQuarantined("files", tuple(f"t{n}" for n in range(500)), ("x" * 500,), 5.0)
    shape = told(event)

    assert len(shape["tools"]) == MOST_NAMED
    assert shape["released"] == ("x" * 128,) or shape["released"] == ["x" * 128]


def test_links_are_told_without_their_reasons():
    event = LinkChanged("files", Lane.OPEN, ALICE, "failed", "it said: my secret", 5.0, "BSC-402")
    expected = {"kind": "link", "at": 5.0, "server": "files", "lane": "open", **WHO, "state": "failed"}

    assert told(event) == {**expected, "code": "BSC-402"}
    assert record_of(LinkChanged("files", Lane.OPEN, ALICE, "connecting", "", 5.0), 7, ALIASES) is None


def test_a_refresh_that_failed_is_told_without_its_reason():
    event = RefreshFailed("files", Lane.OPEN, ALICE, "it said: my secret", 5.0)

    assert told(event) == {"kind": "refresh", "at": 5.0, "server": "files", "lane": "open", **WHO}


def test_questions_are_told_by_what_became_of_them():
    event = QuestionAnswered("elicitation/create", "files", ALICE, Lane.OPEN, "accept", "my secret", 5.0)
    named = {"kind": "question", "at": 5.0, "server": "files", "lane": "open", **WHO, "answer": "accept"}

    assert told(event) == {**named, "method": "elicitation/create"}
    odd = QuestionAnswered("tell me/your secret", "files", ALICE, Lane.OPEN, "refused", "", 5.0)
    assert told(odd)["method"] == ALIASES.of("tell me/your secret")


def test_edits_of_the_config_are_told_by_the_servers_they_touch():
    applied = ConfigApplied(("a",), ("b",), ("c",), ("d",), ("my secret",), 5.0)
    rejected = ConfigRejected(ConfigError("my secret", problems=("my secret",)), 5.0)
    names = {"added": ("a",), "removed": ("b",), "restarted": ("c",), "retuned": ("d",)}
    shape = {name: tuple(value) if isinstance(value, list) else value for name, value in told(applied).items()}

    assert shape == {"kind": "config", "at": 5.0, "applied": True, **names}
    assert told(rejected) == {"kind": "config", "at": 5.0, "applied": False, "code": "BSC-100"}


def test_a_level_is_written_down_elsewhere():
    level = DataSensitivity.SECRET
    event = LevelChanged(ALICE, "raise", DataSensitivity.PUBLIC, level, Cause("label"), (), {}, 5.0)

    assert record_of(event, 7, ALIASES) is None


def test_who_received_is_named_and_what_was_refused_is_not_repeated():
    let = HostAsked("web", ALICE, "api.example.org", 443, "", 200, 120, 4000, ended=True, at=5.0)
    counts = {"port": 443, "status": 200, "sent": 120, "received": 4000, "ended": True}
    assert told(let) == {"kind": "host", "at": 5.0, "server": "web", **WHO, "host": "api.example.org", **counts}

    refused = HostAsked("web", ALICE, "the-secret.evil.test", 443, "host", 403, 0, 0, ended=True, at=5.0)
    assert told(refused)["host"] == ALIASES.of("the-secret.evil.test")
    kept = [recorded[1] for recorded in (record_of(let, 7, ALIASES), record_of(refused, 8, ALIASES)) if recorded]
    assert kept == [True, False]
