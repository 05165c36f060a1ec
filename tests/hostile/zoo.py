"""The zoo: every misbehaviour of a server that we know of, with what must become of a call to it.

An inhabitant's name is that of its way in `servers/beast_ways.py`, or in `beast_ws_ways.py` beside it. For each carrier on
which it lives it has an ending.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bascule.config import Timeouts
from bascule.core.outcome import FailureKind
from bascule.upstream.state import LinkState

Carrier = Literal["stdio", "ws", "sse", "json", "unix", "events"]
"""A child process; a WebSocket; the old HTTP with one event stream; HTTP that answers in JSON, on a port or on a socket
file; HTTP that answers in event streams."""

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
    return on(stream=ending, json=ending, events=ending)


def on(
    *,
    stream: Ending | None = None,
    json: Ending | None = None,
    events: Ending | None = None,
    ws: Ending | None = None,
    sse: Ending | None = None,
) -> Mapping[Carrier, Ending]:
    """An ending for each carrier. WebSockets and HTTP+SSE are streams unless they have their own; a socket file answers
    in JSON."""
    endings: Mapping[Carrier, Ending | None] = {
        "stdio": stream,
        "ws": ws or stream,
        "sse": sse or stream,
        "json": json,
        "unix": json,
        "events": events,
    }
    return {carrier: ending for carrier, ending in endings.items() if ending is not None}


LOST, TIMEOUT, BROKEN = FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.PROTOCOL_ERROR
SAID_NO, DENIED, MISFIT = FailureKind.TOOL_ERROR, FailureKind.DENIED, FailureKind.INVALID_ARGUMENTS
AWAY = FailureKind.UNAVAILABLE

SIZES = (
    Inhabitant(
        "a_line_of_100_mb",
        on(
            stream=ends(BROKEN, "longer than"),
            json=fails(BROKEN, "longer than"),
            events=fails(BROKEN, "longer than"),
        ),
    ),
    Inhabitant(
        "bytes_without_a_newline",
        on(
            stream=ends(BROKEN, "longer than"),
            json=fails(BROKEN, "longer than"),
            events=fails(BROKEN, "longer than"),
        ),
    ),
    Inhabitant(
        "json_100_000_deep",
        on(
            stream=fails(BROKEN, "nests deeper", counted="garbage"),
            json=fails(BROKEN, "nests deeper"),
            events=fails(BROKEN, "nests deeper"),
        ),
    ),
    Inhabitant("a_gzip_bomb", on(json=fails(BROKEN, "compressed"))),
    Inhabitant("a_page_of_100_000_tools", everywhere(ends(LOST, "objects and lists"))),
    Inhabitant("a_page_of_25_000_tools", everywhere(ends(LOST, "more than 20,000 tools"))),
    Inhabitant("small_objects_beyond_number", everywhere(fails(BROKEN, "objects and lists"))),
    Inhabitant("numbers_beyond_number", everywhere(fails(BROKEN, "values"))),
    Inhabitant("a_name_of_a_megabyte", everywhere(Ending(None, LinkState.DEGRADED))),
    Inhabitant("a_description_of_four_megabytes", everywhere(Ending(None))),
    Inhabitant("an_error_of_five_megabytes", everywhere(fails(SAID_NO, "no! no!"))),
    Inhabitant("a_tool_error_of_five_megabytes", everywhere(fails(SAID_NO, "no! no!"))),
    Inhabitant(
        "nothing_but_empty_lines",
        on(
            stream=fails(TIMEOUT),
            ws=ends(BROKEN, "broke the WebSocket protocol"),
            json=fails(BROKEN, "longer than"),
            events=fails(TIMEOUT),
        ),
    ),
    Inhabitant("a_hundred_thousand_headers", on(json=fails(BROKEN, "headers"))),
    Inhabitant("a_header_of_a_megabyte", on(json=fails(BROKEN))),
    Inhabitant("ids_of_a_megabyte", on(events=fails(TIMEOUT))),
    Inhabitant("endless_cursors", everywhere(ends(LOST, "more than 1,000 pages")), limits=replace(PATIENT, list=35)),
    Inhabitant("cursors_of_five_megabytes", everywhere(ends(LOST, "a cursor of 5,000,001 characters"))),
    Inhabitant("one_cursor_again_and_again", everywhere(ends(LOST, "same cursor twice"))),
)

TIMES = (
    Inhabitant(
        "hanging_from_the_first_word",
        # Over HTTP+SSE the stream itself may be what was too slow.
        {**everywhere(ends(LOST, "did not answer within")), "sse": ends(LOST, "within 0.4 s")},
        limits=replace(PATIENT, connect=0.4, probe=0.1),
    ),
    Inhabitant("hanging_at_the_listing", everywhere(ends(LOST, "timeouts.list")), limits=replace(PATIENT, list=0.4)),
    Inhabitant("hanging_after_the_question", everywhere(fails(TIMEOUT, "no reply to tools/call"))),
    Inhabitant("bytes_dripped_one_at_a_time", everywhere(fails(TIMEOUT, "no reply to tools/call"))),
    Inhabitant("stderr_without_end", {"stdio": fails(TIMEOUT)}),
    Inhabitant("a_progress_storm", on(stream=fails(TIMEOUT), events=fails(TIMEOUT))),
    Inhabitant("events_without_end", on(events=fails(TIMEOUT, "without the reply"), sse=fails(TIMEOUT))),
)

LISTINGS = (
    Inhabitant("tools_that_are_no_list", everywhere(ends(LOST))),
    Inhabitant("a_listing_that_is_no_object", everywhere(ends(LOST))),
    Inhabitant("a_cursor_that_is_no_text", everywhere(ends(LOST))),
    Inhabitant("neighbours_of_every_wrong_shape", everywhere(Ending(None, LinkState.DEGRADED))),
    Inhabitant("one_name_a_thousand_times", everywhere(Ending(None, LinkState.DEGRADED))),
    Inhabitant("painted_names", everywhere(Ending(None, LinkState.DEGRADED))),
)

REPLIES = (
    Inhabitant("a_result_of_null", everywhere(fails(BROKEN))),
    Inhabitant("a_result_of_text", everywhere(fails(BROKEN))),
    Inhabitant("neither_result_nor_error", everywhere(fails(BROKEN))),
    Inhabitant("an_error_of_text", everywhere(fails(SAID_NO))),
    Inhabitant("an_error_with_a_code_of_text", everywhere(fails(SAID_NO))),
    Inhabitant("content_that_is_no_list", everywhere(fails(BROKEN, "content is not a list"))),
    Inhabitant("content_of_every_wrong_shape", everywhere(Ending(None))),
    Inhabitant("a_kind_of_result_nobody_knows", everywhere(fails(BROKEN, "surprise"))),
    Inhabitant("a_batch", everywhere(fails(BROKEN))),
    Inhabitant("bytes_that_are_no_utf_8", everywhere(fails(BROKEN))),
    Inhabitant("half_a_character", everywhere(fails(BROKEN))),
    Inhabitant("a_number_too_large_for_any_machine", everywhere(fails(BROKEN))),
    Inhabitant(
        "an_id_that_is_true",
        on(
            stream=fails(TIMEOUT, counted="strays"),
            json=fails(BROKEN, "not the reply"),
            events=fails(LOST, "ended before the reply"),
        ),
    ),
    Inhabitant("replies_to_questions_not_asked_yet", on(stream=Ending(None, counted="strays"), events=Ending(None))),
    Inhabitant("a_reply_that_comes_too_late", everywhere(fails(TIMEOUT))),
    Inhabitant("log_messages_without_end", on(stream=fails(TIMEOUT), events=fails(TIMEOUT))),
    Inhabitant("a_new_listing_announced_without_end", on(stream=fails(TIMEOUT), events=fails(TIMEOUT))),
    Inhabitant("pings_without_end", on(stream=ends(BROKEN), sse=fails(TIMEOUT), events=fails(TIMEOUT))),
    Inhabitant("progress_of_every_wrong_shape", on(stream=Ending(None), events=Ending(None))),
)

STAGES = (
    Inhabitant("death_at_the_first_word", everywhere(ends(LOST))),
    Inhabitant("death_at_the_listing", everywhere(ends(LOST))),
    Inhabitant("death_at_the_question", on(stream=ends(LOST), json=fails(LOST), events=fails(LOST))),
    Inhabitant(
        "death_after_the_reply", on(stream=Ending(None, LinkState.FAILED), json=Ending(None), events=Ending(None))
    ),
    Inhabitant(
        "hanging_in_the_middle_of_the_listing",
        everywhere(ends(LOST, "timeouts.list")),
        limits=replace(PATIENT, list=0.4),
    ),
    Inhabitant("hanging_in_the_middle_of_a_reply", everywhere(fails(TIMEOUT))),
)

ANSWERS = (
    Inhabitant("an_internal_error_in_html", on(json=fails(SAID_NO, "HTTP 500"))),
    Inhabitant("a_page_in_place_of_a_reply", on(json=fails(BROKEN, "neither JSON"))),
    Inhabitant("no_content", on(json=fails(BROKEN))),
    Inhabitant("too_many_requests", on(json=fails(AWAY, "Retry-After: 86400"))),
    Inhabitant("a_demand_to_log_in", on(json=fails(AWAY, "HTTP 401"))),
    Inhabitant("a_redirect_in_a_circle", on(json=fails(LOST, "redirect"))),
    Inhabitant("a_redirect_to_a_file", on(json=fails(LOST, "redirect"))),
    Inhabitant("a_redirect_that_forgets_the_body", on(json=fails(LOST))),
)

WORDS = (
    Inhabitant(
        "junk_lines",
        on(
            stream=ends(BROKEN, "could not be read", counted="garbage"),
            json=fails(TIMEOUT, "began and did not end"),
            events=fails(BROKEN, "not a JSON-RPC message"),
        ),
    ),
    Inhabitant(
        "a_foreign_id_only",
        on(
            stream=fails(TIMEOUT, counted="strays"),
            json=fails(BROKEN, "not the reply", counted="strays"),
            events=fails(LOST, "ended before the reply", counted="strays"),
        ),
    ),
    Inhabitant(
        "two_replies",
        on(
            stream=Ending(None, counted="strays"),
            json=fails(BROKEN, "not a JSON-RPC message"),
            events=Ending(None),
        ),
    ),
    Inhabitant(
        "not_a_number",
        on(
            stream=fails(BROKEN, "not a JSON-RPC message", counted="garbage"),
            json=fails(BROKEN, "not a JSON-RPC message"),
            events=fails(BROKEN, "not a JSON-RPC message"),
        ),
    ),
    Inhabitant(
        "requests_nobody_offered",
        on(
            stream=ends(BROKEN, "does not read the answers"),
            sse=fails(TIMEOUT, counted="notices_dropped"),
            events=fails(TIMEOUT, counted="notices_dropped"),
        ),
    ),
    Inhabitant("a_painted_refusal", everywhere(fails(SAID_NO, "red"))),
    Inhabitant("a_painted_tool_error", everywhere(fails(SAID_NO, "red"))),
    Inhabitant("painted_last_words", {"stdio": ends(LOST, "exited with code 3")}),
)

ENDINGS = (
    Inhabitant(
        "death_in_the_middle_of_a_reply",
        on(
            stream=ends(LOST, "exited with code 1"),
            ws=ends(LOST, "without a closing frame"),
            sse=ends(LOST, "event stream"),
            json=fails(LOST, "ended before the reply"),
            events=fails(LOST, "ended before the reply"),
        ),
    ),
    Inhabitant("a_closed_stdout", {"stdio": ends(LOST, "closed its stdout but still runs")}),
    Inhabitant("a_redirect_of_a_call_elsewhere", on(json=fails(LOST, "redirects to another server"))),
    Inhabitant("a_redirect_of_everything_elsewhere", on(json=ends(LOST, "redirects to another server"))),
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
    Inhabitant("a_reference_to_a_file", everywhere(fails(DENIED, "ever fetched")), EXPLOSIVE),
    Inhabitant("a_reference_hidden_in_an_id", everywhere(fails(DENIED)), EXPLOSIVE),
    Inhabitant("a_metaschema_from_elsewhere", everywhere(Ending(None)), EXPLOSIVE),
    Inhabitant("a_schema_300_deep", everywhere(ends(LOST, "nests deeper")), EXPLOSIVE),
    Inhabitant("a_schema_80_deep", everywhere(Ending(None)), EXPLOSIVE),
    Inhabitant("a_reference_to_itself", everywhere(fails(DENIED)), EXPLOSIVE),
    Inhabitant("references_in_a_circle", everywhere(fails(DENIED)), EXPLOSIVE),
    Inhabitant("a_hundred_thousand_choices", everywhere(fails(DENIED, "cannot be used")), EXPLOSIVE),
    Inhabitant("a_type_that_does_not_exist", everywhere(fails(DENIED, "cannot be used")), EXPLOSIVE),
)

STREAMS = (
    Inhabitant("an_endpoint_elsewhere", on(sse=ends(LOST, "to another server"))),
    Inhabitant("an_endpoint_that_never_comes", on(sse=ends(LOST, "no endpoint")), limits=replace(PATIENT, connect=0.4)),
    Inhabitant("an_endpoint_without_end", on(sse=ends(LOST, "longer than"))),
    Inhabitant("a_web_page_for_a_stream", on(sse=ends(LOST, "text/html"))),
    Inhabitant("a_second_endpoint", on(sse=ends(BROKEN, "second endpoint"))),
    Inhabitant("a_cut_stream", on(sse=ends(LOST, "event stream"))),
)

WEBSOCKETS = (
    Inhabitant("an_opening_answered_with_a_page", on(ws=ends(LOST, "HTTP 200"))),
    Inhabitant("an_opening_redirected_elsewhere", on(ws=ends(LOST, "redirects"))),
    Inhabitant(
        "silence_at_the_opening", on(ws=ends(LOST, "opened no WebSocket within")), limits=replace(PATIENT, connect=0.4)
    ),
    Inhabitant("a_frame_that_says_it_is_a_gigabyte", on(ws=ends(BROKEN, "longer than"))),
    Inhabitant("fragments_without_end", on(ws=fails(TIMEOUT))),
    Inhabitant("a_flood_of_pings", on(ws=fails(TIMEOUT))),
    Inhabitant("compression_unasked", on(ws=ends(BROKEN, "reserved bits"))),
    Inhabitant("a_masked_frame", on(ws=Ending(None))),
    Inhabitant("a_closing_frame_and_no_reply", on(ws=ends(LOST, "go away"))),
    Inhabitant("a_frame_of_no_known_kind", on(ws=ends(BROKEN, "broke the WebSocket protocol"))),
)

QUESTIONS = (
    Inhabitant("questions_in_rounds_without_end", everywhere(fails(BROKEN, "in more than 8 rounds"))),
    Inhabitant("to_be_asked_again_without_end", everywhere(fails(TIMEOUT))),
    Inhabitant(
        "a_state_of_ten_megabytes",
        on(stream=ends(BROKEN, "longer than"), json=fails(BROKEN, "longer than"), events=fails(BROKEN, "longer than")),
    ),
    Inhabitant("a_state_of_a_megabyte", everywhere(fails(BROKEN, "requestState has 1,000,000 characters"))),
    Inhabitant("a_thousand_questions_at_once", everywhere(fails(BROKEN, "it has 1,000 questions"))),
    Inhabitant("a_question_nobody_offered", everywhere(fails(BROKEN, "'roots/list', which was never offered"))),
    Inhabitant("a_question_with_an_explosive_schema", everywhere(fails(BROKEN, "a schema cannot be used"))),
    Inhabitant("a_question_with_a_remote_schema", everywhere(fails(BROKEN, "ever fetched"))),
    Inhabitant("an_address_to_run", everywhere(fails(BROKEN, "no browser should open"))),
    Inhabitant("an_address_to_visit", everywhere(fails(BROKEN, "in more than 8 rounds"))),
)

ZOO = (
    *SIZES,
    *TIMES,
    *LISTINGS,
    *REPLIES,
    *STAGES,
    *ANSWERS,
    *WORDS,
    *ENDINGS,
    *SCHEMAS,
    *STREAMS,
    *WEBSOCKETS,
    *QUESTIONS,
)
