"""What was asked of the proxy, as it is read from Envoy's log."""

import json
from typing import Any

import pytest

from bascule.sandbox.egress.access_log import LONGEST, Access, AccessLines, log_format, read

BOXES = {7: "files-1", 8: "web-2"}


def line(**changed: Any) -> bytes:
    said = {
        "box": "7", "time": "1794825672.441", "kind": "DownstreamEnd", "method": "GET", "asked": "denied.test", "status": 403,
        "details": "rbac_access_denied_matched_policy[host]", "sent": 3, "received": 318, "address": None,
    }  # fmt: skip
    return json.dumps({**said, **changed}).encode()


def test_a_line_is_a_record():
    assert read(line(), BOXES) == Access(
        time=1794825672.441, box="files-1", phase="ended", method="GET", host="denied.test", port=80, status=403, reason="host",
        sent=3, received=318, address="",
    )  # fmt: skip


def test_what_is_read_is_what_envoy_is_told_to_write():
    assert log_format(7).keys() == json.loads(line()).keys()


@pytest.mark.parametrize(
    ("details", "status", "reason"),
    [
        ("via_upstream", 200, ""),
        ("via_upstream", 403, ""),
        ("via_upstream", 503, ""),
        ("rbac_access_denied_matched_policy[address]", 403, "address"),
        ("rbac_access_denied_matched_policy[port]", 403, "port"),
        ("rbac_access_denied_matched_policy[scheme]", 403, "scheme"),
        ("rbac_access_denied_matched_policy[none]", 403, "private"),
        ("dns_resolution_failure{address_denied}", 403, "private"),
        ("dns_resolution_failure{cares_norecords:Domain_name_not_found}", 502, "unresolved"),
        ("upgrade_failed", 403, "upgrade"),
        ("local_rate_limited", 429, "too many"),
        ("upstream_reset_before_response_started{connection_failure}", 503, "unreachable"),
        ("downstream_remote_disconnect", 0, "unreachable"),
        ("downstream_remote_disconnect", 200, ""),
        ("http1.codec_error", 400, "malformed"),
    ],
)
def test_why_the_proxy_answered_itself(details: str, status: int, reason: str):
    record = read(line(details=details, status=status), BOXES)

    assert record is not None
    assert record.reason == reason


@pytest.mark.parametrize(
    ("method", "asked", "host", "port"),
    [
        ("GET", "a.test", "a.test", 80),
        ("GET", "a.test:8080", "a.test", 8080),
        ("CONNECT", "a.test:443", "a.test", 443),
        ("CONNECT", "a.test", "a.test", None),
        ("GET", "[::1]", "[::1]", 80),
        ("GET", "[::1]:90", "[::1]", 90),
        ("GET", "a.test:x", "a.test", None),
        ("GET", "a.test:١٢", "a.test", None),
        ("GET", "a.test:123456789", "a.test", None),
        ("GET", None, "", 80),
    ],
)
def test_host_and_port_are_taken_apart(method: str, asked: str | None, host: str, port: int | None):
    record = read(line(method=method, asked=asked), BOXES)

    assert record is not None
    assert (record.host, record.port) == (host, port)


def test_a_tunnel_that_opens_is_a_record_before_it_ends():
    record = read(line(kind="DownstreamTunnelSuccessfullyEstablished", method="CONNECT", status=200), BOXES)

    assert record is not None
    assert record.phase == "opened"


def test_a_box_that_nobody_knows_has_no_name():
    record = read(line(box="9"), BOXES)

    assert record is not None
    assert not record.box


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"box": "x", "time": "1"}', b'{"box": 1}', b"\xff\xfe", b"null"])
def test_what_is_no_record_is_left_out(junk: bytes):
    assert read(junk, BOXES) is None


@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
def test_it_does_not_matter_in_which_pieces_it_comes(size: int):
    data = b"\n".join([line(), b"junk", line(box="8"), line(asked="later.test")]) + b"\n"
    lines = AccessLines()

    records = [each for start in range(0, len(data), size) for each in lines.feed(data[start : start + size], BOXES)]

    assert [(each.box, each.host) for each in records] == [
        ("files-1", "denied.test"), ("web-2", "denied.test"), ("files-1", "later.test"),
    ]  # fmt: skip


def test_a_line_without_an_end_is_not_kept():
    lines = AccessLines()

    assert not list(lines.feed(b"x" * (LONGEST + 1), BOXES))
    assert not list(lines.feed(b"x" * LONGEST, BOXES))
    assert [each.box for each in lines.feed(b"\n" + line() + b"\n", BOXES)] == ["files-1"]
