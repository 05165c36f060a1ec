"""The zoo: every misbehaviour of a server that we know of, with what must become of a call to it.

An inhabitant's name is that of its way in `servers/beast_ways.py`. For each carrier on which it lives it has an ending.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bascule.config import Timeouts
from bascule.core.outcome import FailureKind
from bascule.links.state import LinkState

Carrier = Literal["stdio", "json", "events"]
"""A child process; HTTP that answers in JSON; HTTP that answers in event streams."""

MEBIBYTE = 1024 * 1024


PATIENT = Timeouts(connect=10, reconnect=10, probe=8, list=10, call=10, close=0.2)
"""Enough for all that has to happen by itself, on however busy a machine."""

BRIEF = 0.4
"""Seconds for a call that nothing but its timeout can end."""


@dataclass(frozen=True)
class Ending:
    """What must become of one call, and of the link it was sent on."""

    kind: FailureKind | None
    """None: the call succeeds."""
    state: LinkState = LinkState.READY
    says: str = ""
    """Words of the message or its evidence: that the right defence stopped it."""
    counted: Literal["", "garbage", "strays", "notices_dropped"] = ""
    """The counter in which what was dropped must show."""


@dataclass(frozen=True)
class Inhabitant:
    """One misbehaviour."""

    name: str
    on: Mapping[Carrier, Ending]
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it is called with."""
    limits: Timeouts = PATIENT
    memory: int = 64 * MEBIBYTE
    """Bytes that we may grow by at the worst moment: a few times the cap on messages."""


def fails(
    kind: FailureKind, says: str = "", counted: Literal["", "garbage", "strays", "notices_dropped"] = ""
) -> Ending:
    """The call fails, and the link goes on."""
    return Ending(kind, LinkState.READY, says, counted)


def ends(
    kind: FailureKind, says: str = "", counted: Literal["", "garbage", "strays", "notices_dropped"] = ""
) -> Ending:
    """The call fails, and the link with it."""
    return Ending(kind, LinkState.FAILED, says, counted)


def everywhere(ending: Ending) -> Mapping[Carrier, Ending]:
    return {"stdio": ending, "json": ending, "events": ending}


LOST, TIMEOUT, BROKEN = FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.PROTOCOL_ERROR
SAID_NO, DENIED, MISFIT = FailureKind.TOOL_ERROR, FailureKind.DENIED, FailureKind.INVALID_ARGUMENTS

SIZES = (
    Inhabitant(
        "a_line_of_100_mb",
        {
            "stdio": ends(BROKEN, "longer than"),
            "json": fails(BROKEN, "longer than"),
            "events": fails(BROKEN, "longer than"),
        },
    ),
    Inhabitant(
        "bytes_without_a_newline",
        {
            "stdio": ends(BROKEN, "longer than"),
            "json": fails(BROKEN, "longer than"),
            "events": fails(BROKEN, "longer than"),
        },
    ),
    Inhabitant(
        "json_100_000_deep",
        {
            "stdio": fails(BROKEN, "nests deeper", counted="garbage"),
            "json": fails(BROKEN, "nests deeper"),
            "events": fails(BROKEN, "nests deeper"),
        },
    ),
    Inhabitant("a_gzip_bomb", {"json": fails(BROKEN, "compressed")}),
    Inhabitant("a_page_of_100_000_tools", everywhere(ends(LOST, "more than 20,000 tools")), memory=128 * MEBIBYTE),
    Inhabitant("endless_cursors", everywhere(ends(LOST, "more than 1,000 pages"))),
    Inhabitant("cursors_of_five_megabytes", everywhere(ends(LOST, "a cursor of 5,000,001 characters"))),
    Inhabitant("one_cursor_again_and_again", everywhere(ends(LOST, "same cursor twice"))),
)

TIMES = (
    Inhabitant(
        "hanging_from_the_first_word",
        everywhere(ends(LOST, "did not answer within")),
        limits=replace(PATIENT, connect=0.4, probe=0.1),
    ),
    Inhabitant("hanging_at_the_listing", everywhere(ends(LOST, "timeouts.list")), limits=replace(PATIENT, list=0.4)),
    Inhabitant("hanging_after_the_question", everywhere(fails(TIMEOUT, "no reply to tools/call"))),
    Inhabitant("bytes_dripped_one_at_a_time", everywhere(fails(TIMEOUT, "no reply to tools/call"))),
    Inhabitant("stderr_without_end", {"stdio": fails(TIMEOUT)}),
    Inhabitant("a_progress_storm", {"stdio": fails(TIMEOUT), "events": fails(TIMEOUT)}),
    Inhabitant("events_without_end", {"events": fails(TIMEOUT, "without the reply")}),
)

WORDS = (
    Inhabitant(
        "junk_lines",
        {
            "stdio": ends(BROKEN, "could not be read", counted="garbage"),
            "json": fails(TIMEOUT, "began and did not end"),
            "events": fails(BROKEN, "not a JSON-RPC message"),
        },
    ),
    Inhabitant(
        "a_foreign_id_only",
        {
            "stdio": fails(TIMEOUT, counted="strays"),
            "json": fails(BROKEN, "not the reply", counted="strays"),
            "events": fails(LOST, "ended before the reply", counted="strays"),
        },
    ),
    Inhabitant(
        "two_replies",
        {
            "stdio": Ending(None, counted="strays"),
            "json": fails(BROKEN, "not a JSON-RPC message"),
            "events": Ending(None),
        },
    ),
    Inhabitant(
        "not_a_number",
        {
            "stdio": fails(BROKEN, "not a JSON-RPC message", counted="garbage"),
            "json": fails(BROKEN, "not a JSON-RPC message"),
            "events": fails(BROKEN, "not a JSON-RPC message"),
        },
    ),
    Inhabitant(
        "requests_nobody_offered",
        {"stdio": ends(BROKEN, "does not read the answers"), "events": fails(TIMEOUT, counted="notices_dropped")},
    ),
    Inhabitant("a_painted_refusal", everywhere(fails(SAID_NO, "red"))),
    Inhabitant("a_painted_tool_error", everywhere(fails(SAID_NO, "red"))),
    Inhabitant("painted_last_words", {"stdio": ends(LOST, "exited with code 3")}),
)

ENDINGS = (
    Inhabitant(
        "death_in_the_middle_of_a_reply",
        {
            "stdio": ends(LOST, "exited with code 1"),
            "json": fails(LOST, "ended before the reply"),
            "events": fails(LOST, "ended before the reply"),
        },
    ),
    Inhabitant("a_closed_stdout", {"stdio": ends(LOST, "closed its stdout but still runs")}),
    Inhabitant("a_redirect_of_a_call_elsewhere", {"json": fails(LOST, "redirects to another server")}),
    Inhabitant("a_redirect_of_everything_elsewhere", {"json": ends(LOST, "redirects to another server")}),
)

EXPLOSIVE = {"text": "a" * 60 + "!"}
SLOW_BURNING = {"text": "a" * 23 + "!"}
"""For ten seconds, not for ever: a test that hangs tells less than one that fails."""

SCHEMAS = (
    Inhabitant("a_regex_that_blows_up", everywhere(fails(MISFIT, "text")), EXPLOSIVE),
    Inhabitant("a_regex_that_goes_back", everywhere(fails(MISFIT, "text")), SLOW_BURNING),
    Inhabitant("a_regex_of_counted_repeats", everywhere(fails(DENIED, "regular expressions")), EXPLOSIVE),
    Inhabitant("unions_doubled_thirty_times", everywhere(fails(DENIED, "alternatives multiply")), EXPLOSIVE),
    Inhabitant("a_reference_to_a_remote_schema", everywhere(fails(DENIED, "ever fetched")), EXPLOSIVE),
    Inhabitant("a_remote_reference_for_results", everywhere(fails(DENIED, "ever fetched"))),
)

QUESTIONS = (
    Inhabitant("questions_in_rounds_without_end", everywhere(fails(BROKEN, "in more than 8 rounds"))),
    Inhabitant("to_be_asked_again_without_end", everywhere(fails(TIMEOUT))),
    Inhabitant(
        "a_state_of_ten_megabytes",
        {
            "stdio": ends(BROKEN, "longer than"),
            "json": fails(BROKEN, "longer than"),
            "events": fails(BROKEN, "longer than"),
        },
    ),
    Inhabitant("a_state_of_a_megabyte", everywhere(fails(BROKEN, "requestState has 1,000,000 characters"))),
    Inhabitant("a_thousand_questions_at_once", everywhere(fails(BROKEN, "it has 1,000 questions"))),
    Inhabitant("a_question_nobody_offered", everywhere(fails(BROKEN, "'roots/list', which was never offered"))),
    Inhabitant("a_question_with_an_explosive_schema", everywhere(fails(BROKEN, "a schema cannot be used"))),
    Inhabitant("a_question_with_a_remote_schema", everywhere(fails(BROKEN, "ever fetched"))),
    Inhabitant("an_address_to_run", everywhere(fails(BROKEN, "no browser should open"))),
    Inhabitant("an_address_to_visit", everywhere(fails(BROKEN, "in more than 8 rounds"))),
)

ZOO = (*SIZES, *TIMES, *WORDS, *ENDINGS, *SCHEMAS, *QUESTIONS)
