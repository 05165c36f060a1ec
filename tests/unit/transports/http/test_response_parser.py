import asyncio
import gzip

import pytest

from bascule.core.errors import LoginNeeded, PeerError, PeerRefused, ProtocolViolation, ReplyTimeout
from support.http_links import LONG, ask, http_link
from support.http_servers import Answer, Asked, error_body, http_reply, raw_server, result_body
from support.waiting import fail_after

CAP = 10_000


def always(reply: bytes) -> Answer:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    return answer


async def failure(reply: bytes) -> PeerError:
    """What a link makes of this answer to its first request, whose id is 1."""
    async with fail_after(LONG), raw_server(always(reply)) as server, http_link(server.url, max_message=CAP) as link:
        with pytest.raises(PeerError) as failed:
            await link.send(ask(phase="list"))
        return failed.value


async def refusal(reply: bytes) -> PeerRefused:
    error = await failure(reply)
    assert isinstance(error, PeerRefused)
    return error


async def violation(reply: bytes) -> ProtocolViolation:
    error = await failure(reply)
    assert isinstance(error, ProtocolViolation)
    assert error.where
    return error


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
async def test_a_json_reply_is_the_result(kind: str):
    reply = http_reply(result_body(1, {"x": 1}), kind=kind)
    async with fail_after(LONG), raw_server(always(reply)) as server, http_link(server.url) as link:
        assert await link.send(ask()) == {"x": 1}


async def test_a_reply_may_name_the_id_as_text():
    reply = http_reply(result_body("1", {"x": 1}))
    async with fail_after(LONG), raw_server(always(reply)) as server, http_link(server.url) as link:
        assert await link.send(ask()) == {"x": 1}


async def test_a_reply_in_many_chunks_is_read_whole():
    async def drip(asked: Asked, writer: asyncio.StreamWriter) -> None:
        body = result_body(asked.id, {"x": "y" * 2000})
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(body), 7):
            writer.write(b"%x\r\n%b\r\n" % (len(body[at : at + 7]), body[at : at + 7]))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async with fail_after(LONG), raw_server(drip) as server, http_link(server.url) as link:
        assert len((await link.send(ask()))["x"]) == 2000


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n", b" "),
        (b"HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n", b" "),
    ],
    ids=["headers", "continue", "body", "error body"],
)
async def test_nothing_that_trickles_in_extends_the_time(first: bytes, drip: bytes):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        for _ in range(100):
            writer.write(drip)
            await writer.drain()
            await asyncio.sleep(0)
        await asyncio.Event().wait()

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url) as link:
        with pytest.raises(ReplyTimeout):
            await link.send(ask(timeout=0.05))


async def test_a_reply_of_exactly_the_longest_size_is_read():
    frame = len(result_body(1, {"x": ""}))
    reply = http_reply(result_body(1, {"x": "y" * (CAP - frame)}))
    async with fail_after(LONG), raw_server(always(reply)) as server, http_link(server.url, max_message=CAP) as link:
        assert await link.send(ask())


async def test_a_reply_that_says_it_is_too_long_is_refused_before_it_comes():
    error = await violation(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10001\r\n\r\n")

    assert error.evidence == "10001 bytes"
    assert "messages.max" in error.fix


@pytest.mark.parametrize("end", [b"", b"0\r\n\r\n"], ids=["endless", "ended"])
async def test_a_reply_that_does_not_say_so_is_refused_when_it_is(end: bytes):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"400\r\n%b\r\n" % (b" " * 1024) * 20

    assert "longer than 10000 bytes" in (await violation(head + chunks + end)).message


async def test_an_error_page_without_end_is_read_at_its_start_only():
    head = b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nContent-Length: 99999999\r\n\r\n"
    error = await refusal(head + b"x" * 5000)

    assert (error.status, error.evidence[:3]) == (500, "xxx")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"<html>", b"\xff\xfe", b"[" * 5000, b'{"id": 1}'], ids=repr
)
async def test_a_body_that_is_no_reply_violates_the_protocol(body: bytes):
    await violation(http_reply(body))


@pytest.mark.parametrize(
    "body", [result_body(2, {}), result_body(None, {}), b'{"method": "x"}', b'{"method": "x", "id": 1}']
)
async def test_a_body_that_answers_something_else_is_a_stray(body: bytes):
    async with fail_after(LONG), raw_server(always(http_reply(body))) as server, http_link(server.url) as link:
        with pytest.raises(ProtocolViolation, match="not the reply to its request"):
            await link.send(ask())

        assert link.counters.strays == 1


@pytest.mark.parametrize(("kind", "told"), [("text/html", "text/html"), ("", "no Content-Type")])
async def test_a_body_of_another_kind_violates_the_protocol(kind: str, told: str):
    assert told in (await violation(http_reply(b"<html>", kind=kind))).evidence


async def test_accepting_a_request_without_answering_it_violates_the_protocol():
    assert "HTTP 202" in (await violation(http_reply(status="202 Accepted", kind=""))).evidence


async def test_a_compressed_reply_is_refused_unread():
    bomb = gzip.compress(b"x" * 10_000_000)
    error = await violation(http_reply(bomb[:5000], Content_Encoding="gzip"))

    assert "compressed" in error.message
    assert error.evidence == "Content-Encoding: gzip"


async def test_a_reply_that_says_it_is_not_compressed_is_read():
    reply = http_reply(result_body(1, {"x": 1}), Content_Encoding="identity")
    async with fail_after(LONG), raw_server(always(reply)) as server, http_link(server.url) as link:
        assert await link.send(ask()) == {"x": 1}


async def test_an_error_keeps_code_data_and_phase():
    error = await refusal(http_reply(error_body(1, -32602, "bad cursor", {"at": 3})))

    assert (error.rpc_code, error.message, error.data, error.phase) == (-32602, "bad cursor", {"at": 3}, "list")
    assert error.status == 200


@pytest.mark.parametrize("request_id", [1, None, "server-error"])
async def test_an_error_with_a_status_keeps_both_whatever_its_id(request_id: object):
    body = error_body(request_id, -32022, "unsupported version", {"supported": ["2025-11-25"]})
    error = await refusal(http_reply(body, "400 Bad Request"))

    assert (error.rpc_code, error.status, error.data) == (-32022, 400, {"supported": ["2025-11-25"]})
    assert error.readable


async def test_an_error_without_an_id_is_ours_even_with_status_200():
    assert (await refusal(http_reply(error_body(None, -32700, "parse error")))).rpc_code == -32700


async def test_headers_that_say_what_to_do_next_survive():
    error = await refusal(http_reply(b"slow down", "429 Too Many Requests", "text/plain", Retry_After="7", X_Other="y"))

    assert (error.status, error.rpc_code, error.headers) == (429, 0, {"Retry-After": "7"})
    assert error.evidence == "slow down"
    assert "Retry-After" in error.fix


@pytest.mark.parametrize(
    "status", ["400 Bad Request", "404 Not Found", "405 Nope", "418 Teapot", "500 Oops", "503 Later"]
)
async def test_a_bare_status_is_told_with_the_start_of_its_body(status: str):
    error = await refusal(http_reply(b"<h1>\x1b[31mno\x07" + b"x" * 5000, status, "text/html"))

    assert (error.status, error.rpc_code) == (int(status[:3]), 0)
    assert error.evidence.startswith(r"<h1>\x1b[31mno\x07xxx")
    assert len(error.evidence) < 200
    assert status in error.message
    assert not error.readable


@pytest.mark.parametrize("body", [b'{"detail": "no"}', b"{", b"x" * (CAP + 1), b'{"error": "no"}', b'{"error": null}'])
async def test_a_json_body_that_is_no_error_of_the_protocol_counts_as_a_bare_status(body: bytes):
    error = await refusal(http_reply(body, "500 Oops"))

    assert (error.status, error.rpc_code) == (500, 0)


async def test_an_error_body_that_breaks_off_leaves_the_status():
    async def cut(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        writer.close()

    async with fail_after(LONG), raw_server(cut) as server, http_link(server.url) as link:
        with pytest.raises(PeerRefused) as refused:
            await link.send(ask())

        assert refused.value.status == 500


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_server_that_wants_a_login_says_so_and_nothing_about_the_era(status: str):
    challenge = 'Bearer realm="x", resource_metadata="https://h.test/.well-known"'
    error = await failure(http_reply(error_body(None, -32022, "no"), status, WWW_Authenticate=challenge))

    assert isinstance(error, LoginNeeded)
    assert error.evidence == f"HTTP {status[:3]}, WWW-Authenticate: {challenge}"
    assert not error.sent


async def test_the_last_words_outside_of_the_protocol_are_kept():
    reply = http_reply(b"the database is down", "502 Bad Gateway", "text/plain")
    async with fail_after(LONG), raw_server(always(reply)) as server, http_link(server.url) as link:
        assert link.evidence() == ""
        with pytest.raises(PeerRefused):
            await link.send(ask())

        assert link.evidence() == "HTTP 502: the database is down"


async def test_a_reply_like_the_last_is_no_longer_either():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        size = asked.message["params"]["size"]
        writer.write(http_reply(result_body(asked.message["id"], {"text": "x" * size})))

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url, max_message=CAP) as link:
        for size in (10, 20, CAP - 100):
            assert await link.send(ask("any", {"size": size})) == {"text": "x" * size}
        with pytest.raises(ProtocolViolation, match=f"longer than {CAP} bytes"):
            await link.send(ask("any", {"size": CAP}))
        assert await link.send(ask("any", {"size": 10})) == {"text": "x" * 10}


async def test_a_session_is_kept_also_from_a_reply_whose_head_is_known():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        request_id = asked.message["id"] if asked.method == "POST" else None
        writer.write(http_reply(result_body(request_id, {}), Mcp_Session_Id="s-1"))

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url) as link:
        for method in ("any", "any", "initialize", "any"):
            await link.send(ask(method, {}))

        assert [asked.headers.get("mcp-session-id") for asked in server.asked[:4]] == [None, None, None, "s-1"]
