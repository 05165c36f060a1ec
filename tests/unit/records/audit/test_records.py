"""Records as they are written."""

import json

import msgspec

from bascule.records.audit.records import Anchored, Ended, Record, Sending


def as_json(record: Record) -> dict[str, object]:
    return json.loads(msgspec.json.encode(record))


def test_what_is_as_usual_is_left_out():
    assert as_json(Anchored(3, 1.5)) == {"kind": "anchored", "seq": 3, "at": 1.5}
    assert as_json(Ended(4, 1.5, "alice", "s-1", "files", "write", "open", "ok", 0.25, 3)) == {
        "kind": "ended",
        "seq": 4,
        "at": 1.5,
        "user": "alice",
        "session": "s-1",
        "server": "files",
        "tool": "write",
        "lane": "open",
        "outcome": "ok",
        "seconds": 0.25,
        "call": 3,
    }


def test_a_record_is_one_line_whatever_it_holds():
    record = Sending(1, 1.0, "a\nb", "s\r", "files", "x\u2028", "open", {"k": "\n"})

    assert len(msgspec.json.encode(record).splitlines()) == 1
