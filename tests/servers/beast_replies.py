"""Ways to misbehave in the reply to a call."""

import itertools
import os
import time

from beast_ways import END, Ask, Piece, Raw, at, stay
from light import Iterator, dumps


@at("tools/call")
def small_objects_beyond_number(ask: Ask) -> Iterator[Piece]:
    """Within the cap, and twenty times as large once it is read."""
    yield from dense(ask, b"{},")


@at("tools/call")
def numbers_beyond_number(ask: Ask) -> Iterator[Piece]:
    yield from dense(ask, b"1000,")


def dense(ask: Ask, unit: bytes) -> Iterator[Piece]:
    before, _, after = dumps(ask.reply({"content": [], "x": ["HERE"]})).encode().partition(b'"HERE"')
    yield before + unit * (8_000_000 // len(unit)) + b"0" + after
    yield END


@at("tools/call")
def a_result_of_null(ask: Ask) -> Iterator[Piece]:
    yield {"jsonrpc": "2.0", "id": ask.id, "result": None}


@at("tools/call")
def a_result_of_text(ask: Ask) -> Iterator[Piece]:
    yield {"jsonrpc": "2.0", "id": ask.id, "result": "done"}


@at("tools/call")
def neither_result_nor_error(ask: Ask) -> Iterator[Piece]:
    yield {"jsonrpc": "2.0", "id": ask.id}


@at("tools/call")
def an_error_of_text(ask: Ask) -> Iterator[Piece]:
    yield {"jsonrpc": "2.0", "id": ask.id, "error": "no"}


@at("tools/call")
def an_error_with_a_code_of_text(ask: Ask) -> Iterator[Piece]:
    yield {"jsonrpc": "2.0", "id": ask.id, "error": {"code": "E_NO", "message": ["not", "today"]}}


@at("tools/call")
def an_error_of_five_megabytes(ask: Ask) -> Iterator[Piece]:
    yield ask.error("no! " * 1_250_000)


@at("tools/call")
def a_tool_error_of_five_megabytes(ask: Ask) -> Iterator[Piece]:
    yield ask.reply({"content": [{"type": "text", "text": "no! " * 1_250_000}], "isError": True})


@at("tools/call")
def content_that_is_no_list(ask: Ask) -> Iterator[Piece]:
    yield ask.reply({"content": "done"})


@at("tools/call")
def content_of_every_wrong_shape(ask: Ask) -> Iterator[Piece]:
    wrong = [1, None, {}, {"type": "text"}, {"type": "image", "data": 5}, {"type": "nothing known", "x": []}]
    yield ask.reply({"content": [*wrong, {"type": "text", "text": "done"}]})


@at("tools/call")
def a_kind_of_result_nobody_knows(ask: Ask) -> Iterator[Piece]:
    yield ask.reply({"content": [], "resultType": "surprise"})


@at("tools/call")
def a_batch(ask: Ask) -> Iterator[Piece]:
    yield dumps([ask.text("one of many")]).encode()
    yield END


@at("tools/call")
def bytes_that_are_no_utf_8(ask: Ask) -> Iterator[Piece]:
    yield dumps(ask.text("HERE")).encode().replace(b"HERE", b"\xff\xfe\x80")
    yield END


@at("tools/call")
def half_a_character(ask: Ask) -> Iterator[Piece]:
    yield dumps(ask.text("HERE")).encode().replace(b"HERE", rb"\ud83d")
    yield END


@at("tools/call")
def a_number_too_large_for_any_machine(ask: Ask) -> Iterator[Piece]:
    yield dumps(ask.reply({"content": [], "x": "HERE"})).encode().replace(b'"HERE"', b"1" * 1_000_000)
    yield END


@at("tools/call")
def an_id_that_is_true(ask: Ask) -> Iterator[Piece]:
    yield {**ask.text("yours?"), "id": True}


@at("tools/call")
def replies_to_questions_not_asked_yet(ask: Ask) -> Iterator[Piece]:
    for number in range(ask.id + 1, ask.id + 1000):
        yield {**ask.text("guessed"), "id": number}
    yield ask.text("done")


@at("tools/call")
def a_reply_that_comes_too_late(ask: Ask) -> Iterator[Piece]:
    time.sleep(0.8)
    yield ask.text("better late")


@at("tools/call")
def log_messages_without_end(ask: Ask) -> Iterator[Piece]:
    for number in itertools.count():
        told = {"level": "error", "data": f"trouble {number} " * 20}
        yield {"jsonrpc": "2.0", "method": "notifications/message", "params": told}


@at("tools/call")
def a_new_listing_announced_without_end(ask: Ask) -> Iterator[Piece]:
    while True:
        yield {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


@at("tools/call")
def pings_without_end(ask: Ask) -> Iterator[Piece]:
    for number in itertools.count():
        yield {"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"}


@at("tools/call")
def progress_of_every_wrong_shape(ask: Ask) -> Iterator[Piece]:
    token = ask.params["_meta"]["progressToken"]
    for wrong in (
        {},
        {"progress": "half"},
        {"progress": None},
        {"progress": -1},
        {"progress": 1, "total": "all", "message": 5},
    ):
        yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, **wrong}}
    yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": ["not", "an", "object"]}
    yield ask.text("done")


@at("tools/call")
def nothing_but_empty_lines(ask: Ask) -> Iterator[Piece]:
    while True:
        yield Raw(b"\n" * 65536)


# Death and silence, at every stage.


@at("server/discover", "initialize")
def death_at_the_first_word(ask: Ask) -> Iterator[Piece]:
    os._exit(7)
    yield END


@at("tools/list")
def death_at_the_listing(ask: Ask) -> Iterator[Piece]:
    os._exit(7)
    yield END


@at("tools/call")
def death_at_the_question(ask: Ask) -> Iterator[Piece]:
    os._exit(7)
    yield END


@at("tools/call")
def death_after_the_reply(ask: Ask) -> Iterator[Piece]:
    import threading

    yield ask.text("my last words")
    threading.Timer(0.05, os._exit, (7,)).start()


@at("tools/list")
def hanging_in_the_middle_of_the_listing(ask: Ask) -> Iterator[Piece]:
    yield dumps(ask.page()).encode()[:30]
    stay()


@at("tools/call")
def hanging_in_the_middle_of_a_reply(ask: Ask) -> Iterator[Piece]:
    yield dumps(ask.text("as I was")).encode()[:40]
    stay()
