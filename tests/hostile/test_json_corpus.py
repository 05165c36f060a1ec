"""The JSON parsing corpus that parsers are measured by, read as messages."""

import pytest

from bascule.core.errors import ProtocolViolation
from bascule.wire.jsonrpc import Message, read_message
from support.corpus import parsing_cases

CARRIED = {
    "as a result": b'{"jsonrpc":"2.0","id":1,"result":$}',
    "as parameters": b'{"jsonrpc":"2.0","method":"m","params":$}',
    "inside of a result": b'{"jsonrpc":"2.0","id":1,"result":{"content":[$]}}',
    "as a field we do not read": b'{"jsonrpc":"2.0","id":1,"result":{},"other":$}',
    "as the version": b'{"jsonrpc":$,"id":1,"result":{}}',
}

ALONE = [how for how in CARRIED if how != "inside of a result"]
"""Where a text that closes one bracket too many can open none of ours."""

UNPAIRED = (0xE5, 0xFF, 0x80, 0xC0)
"""Bytes that no UTF-8 text has alone. The corpus comes as text, in which what was one of them is U+FFFD."""


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[bytes]]:
    return {name: forms(text) for name, text in parsing_cases().items()}


def forms(text: str) -> list[bytes]:
    """A case as its files have it: as UTF-8, and with each byte that may have been lost."""
    data = text.encode("utf-8", "surrogatepass")
    lost = "\ufffd".encode()
    return [data, *(data.replace(lost, bytes([byte])) for byte in UNPAIRED if lost in data)]


def read(data: bytes) -> Message | None:
    """The message, or None where it is refused. Any other exception goes on."""
    try:
        return read_message(data)
    except ProtocolViolation:
        return None


def test_the_corpus_is_whole(corpus: dict[str, list[bytes]]):
    counts = {kind: sum(name.startswith(kind) for name in corpus) for kind in ("y_", "n_", "i_")}

    assert counts == {"y_": 95, "n_": 188, "i_": 35}


@pytest.mark.parametrize("how", CARRIED)
def test_what_must_be_accepted_is_accepted(corpus: dict[str, list[bytes]], how: str):
    refused = [
        name
        for name, (text, *_) in corpus.items()
        if name.startswith("y_") and read(CARRIED[how].replace(b"$", text)) is None
    ]
    assert refused == []


@pytest.mark.parametrize("how", ["bare", *ALONE])
def test_what_must_be_rejected_is_rejected(corpus: dict[str, list[bytes]], how: str):
    accepted = [
        (name, text[:60])
        for name, texts in corpus.items()
        for text in texts
        if name.startswith("n_") and read(CARRIED.get(how, b"$").replace(b"$", text)) is not None
    ]
    assert accepted == []


@pytest.mark.parametrize("how", ["bare", *CARRIED])
def test_what_may_be_either_ends_in_a_message_or_a_refusal(corpus: dict[str, list[bytes]], how: str):
    for texts in corpus.values():
        for text in texts:
            read(CARRIED.get(how, b"$").replace(b"$", text))


@pytest.mark.parametrize("byte", UNPAIRED)
@pytest.mark.parametrize("how", CARRIED)
def test_text_that_is_no_utf8_is_rejected(how: str, byte: int):
    text = b'"a' + bytes([byte]) + b'b"'

    assert read(CARRIED[how].replace(b"$", text)) is None


@pytest.mark.parametrize("how", CARRIED)
@pytest.mark.parametrize("text", [rb'"\ud800"', rb'"\udc00x"', rb'"\ud800A"', b'"\xed\xa0\x80"'])
def test_half_of_a_pair_is_rejected(how: str, text: bytes):
    assert read(CARRIED[how].replace(b"$", text)) is None


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"01", b"-01", b"+1", b".5", b"1.", b"0x1"])
@pytest.mark.parametrize("how", CARRIED)
def test_numbers_that_json_does_not_have_are_rejected(how: str, text: bytes):
    assert read(CARRIED[how].replace(b"$", text)) is None
