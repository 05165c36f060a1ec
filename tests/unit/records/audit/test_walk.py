"""A walk along a chain: what was done to it, and where."""

import pytest

from bascule.records.audit.walk import MOST_TOLD, Walk
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.chain import Chain, Macs

MACS = Macs(b"k" * 32, "w-0001")
ANCHORED = (4, 8, 12)
"""The records that tell of an anchor."""


def chained(count: int = 12, macs: Macs = MACS) -> list[bytes]:
    kinds = ("anchored" if number in ANCHORED else "x" for number in range(1, count + 1))
    bodies = (f'{{"kind":"{kind}","seq":{n},"at":{n}.5,"t":"abc"}}\n' for n, kind in enumerate(kinds, start=1))
    return Chain(macs).add("".join(bodies).encode()).splitlines()


LINES = chained()


def walked(lines: list[bytes], *anchors: Anchor) -> Walk:
    wanted: dict[int, list[Anchor]] = {}
    for anchor in anchors:
        wanted.setdefault(anchor.sequence, []).append(anchor)
    walk = Walk(MACS, "w-0001", wanted)
    for number, line in enumerate(lines, start=1):
        walk.step("0001.log", number, line)
    walk.end()
    return walk


def found(walk: Walk) -> list[tuple[str, int, int]]:
    """What was done, in which line, to which record."""
    return [(damage.what, damage.line, damage.sequence) for damage in walk.damage]


def anchor(number: int) -> Anchor:
    return Anchor("w-0001", number, LINES[number - 1][-66:-2].decode(), 1.0)


def test_a_chain_that_is_as_it_was_written_is_in_order():
    walk = walked(LINES, anchor(8))

    assert (walk.damages, walk.first_bad, walk.records) == (0, None, 12)
    assert walk.head == Anchor("w-0001", 12, LINES[11][-66:-2].decode(), 12.5)
    assert walk.held == [anchor(8)]
    assert walk.proven is not None
    assert walk.proven.sequence == 12


def test_an_empty_chain_is_in_order():
    zero = Anchor("w-0001", 0, MACS.first.hex(), 1.0)
    walk = walked([], zero, Anchor("w-0001", 0, "00", 1.0))

    assert (walk.damages, walk.head, walk.held) == (0, None, [zero])


EDITS = {
    "a field": ([*LINES[:5], LINES[5].replace(b"abc", b"abd"), *LINES[6:]], [("altered", 6, 6)]),
    "a field of the first": ([LINES[0].replace(b"abc", b"abd"), *LINES[1:]], [("altered", 1, 1)]),
    "a field of the last": ([*LINES[:11], LINES[11].replace(b"abc", b"abd")], [("altered", 12, 12)]),
    "a number": ([*LINES[:5], LINES[5].replace(b'"seq":6', b'"seq":9'), *LINES[6:]], [("altered", 6, 6)]),
    "a lower number": ([*LINES[:5], LINES[5].replace(b'"seq":6', b'"seq":2'), *LINES[6:]], [("altered", 6, 6)]),
    "a MAC": ([*LINES[:5], LINES[5][:-66] + b"0" * 64 + b'"}', *LINES[6:]], [("altered", 6, 6)]),
    "the words around a MAC": ([*LINES[:5], LINES[5].replace(b"mac", b"mab"), *LINES[6:]], [("altered", 6, 6)]),
    "the shape of a record": ([*LINES[:5], LINES[5].replace(b'"seq"', b'"sex"'), *LINES[6:]], [("altered", 6, 6)]),
    "the end of a line": ([*LINES[:5], LINES[5] + b"x" + LINES[6], *LINES[7:]], [("altered", 6, 6)]),
    "an empty line": ([*LINES[:5], b"", *LINES[5:]], [("altered", 6, 6)]),
    "a line cut in two": (
        [*LINES[:5], LINES[5][:20], LINES[5][20:], *LINES[6:]],
        [("altered", 6, 6), ("altered", 7, 7)],
    ),
    "two in another order": ([*LINES[:5], LINES[6], LINES[5], *LINES[7:]], [("reordered", 6, 6)]),
    "the first two in another order": ([LINES[1], LINES[0], *LINES[2:]], [("reordered", 1, 1)]),
    "one moved back": (
        [*LINES[:3], *LINES[4:8], LINES[3], *LINES[8:]],
        [("removed", 4, 4), ("reordered", 8, 9)],
    ),
    "one removed": ([*LINES[:5], *LINES[6:]], [("removed", 6, 6)]),
    "the first removed": (LINES[1:], [("removed", 1, 1)]),
    "some removed": ([*LINES[:5], *LINES[9:]], [("removed", 6, 6)]),
    "all but the last removed": (LINES[11:], [("removed", 1, 1)]),
    "one twice": ([*LINES[:6], *LINES[5:]], [("duplicated", 7, 7)]),
    "one twice far away": ([*LINES[:9], LINES[2], *LINES[9:]], [("duplicated", 10, 10)]),
    "some twice": ([*LINES[:8], *LINES[2:5], *LINES[8:]], [("duplicated", 9, 9)]),
    "the last twice": ([*LINES, LINES[11]], [("duplicated", 13, 13)]),
    "one put in": ([*LINES[:5], LINES[5].replace(b"abc", b"abd"), *LINES[5:]], [("inserted", 6, 6)]),
    "two places": (
        [LINES[0], LINES[1].replace(b"abc", b"abd"), *LINES[2:9], *LINES[10:]],
        [("altered", 2, 2), ("removed", 10, 10)],
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_was_done_is_found_and_called_what_it_is(edit: str):
    lines, expected = EDITS[edit]

    assert found(walked(lines)) == expected


@pytest.mark.parametrize("edit", EDITS)
def test_the_last_anchor_before_it_holds(edit: str):
    lines, expected = EDITS[edit]
    walk = walked(lines)
    before = [number for number in ANCHORED if number < expected[0][2]]

    assert walk.first_bad == expected[0][2]
    assert (walk.proven.sequence if walk.proven is not None else None) == (before[-1] if before else None)


def test_a_chain_made_with_another_key_is_altered_from_the_first_record_on():
    walk = walked(chained(40, Macs(b"o" * 32, "w-0001")))

    assert (walk.damages, len(walk.damage), walk.first_bad) == (40, MOST_TOLD, 1)


def test_an_anchor_that_names_another_record_is_told():
    other = Anchor("w-0001", 6, "00" * 32, 1.0)
    walk = walked(LINES, other)

    assert (found(walk), walk.held) == ([("replaced", 6, 6)], [])
