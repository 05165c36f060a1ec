"""The chain: each MAC over the record and the MAC before it."""

import json
from hashlib import blake2b

import pytest

from bascule.store.audit.chain import Chain, Head, Macs, head_of, split

KEY, WRITER = bytes(range(32)), "0123456789abcdef-0001"
BODIES = [b'{"kind":"x","seq":1,"at":1.5}', b'{"kind":"y","seq":2,"at":2.5,"more":{"a":1}}']


def lines() -> list[bytes]:
    return Chain(Macs(KEY, WRITER)).add(b"".join(body + b"\n" for body in BODIES)).splitlines()


def test_the_macs_are_those_that_anybody_computes_who_has_the_key():
    def mac(data: bytes) -> bytes:
        return blake2b(data, key=KEY, digest_size=32).digest()

    before = mac(b"bascule audit chain\n" + WRITER.encode())
    for line, body in zip(lines(), BODIES, strict=True):
        before = mac(before + body)
        assert json.loads(line)["mac"] == before.hex()
        assert split(line) == (body, before)


def test_a_line_is_the_record_with_its_mac_at_the_end():
    assert json.loads(lines()[1]) == {**json.loads(BODIES[1]), "mac": lines()[1][-66:-2].decode()}


def test_records_added_one_by_one_make_the_same_chain():
    chain = Chain(Macs(KEY, WRITER))
    one_by_one = b"".join(chain.add(body + b"\n") for body in BODIES)

    assert one_by_one.splitlines() == lines()
    assert chain.sequence == 2


def test_a_chain_is_continued_from_its_last_mac():
    macs = Macs(KEY, WRITER)
    first, second = lines()
    parts = split(first)
    assert parts is not None

    assert Chain(macs, 1, parts[1]).add(BODIES[1] + b"\n").splitlines() == [second]


def test_the_chains_of_two_writers_differ_from_the_first_record_on():
    other = Chain(Macs(KEY, "0123456789abcdef-0002")).add(BODIES[0] + b"\n")

    assert other.splitlines()[0] != lines()[0]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"a":1}',
        lines()[0][:-1],
        lines()[0] + b" ",
        lines()[0].replace(b',"mac"', b',"MAC"'),
        lines()[0][:-3] + b'g"}',
        lines()[0][:-66] + lines()[0][-66:-2].upper() + b'"}',
    ],
)
def test_what_is_not_built_like_a_line_is_none(line: bytes):
    assert split(line) is None


def test_every_record_begins_with_its_number_its_time_and_its_kind():
    assert head_of(BODIES[1]) == Head(2, 2.5, "y")
    assert head_of(b'{"seq":1}') is None
    assert head_of(b"\xff") is None
    assert head_of(b'{"kind":"\xff","seq":1,"at":1.0}') is None
