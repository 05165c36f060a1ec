"""Texts behind their lengths."""

import os

import pytest

from bascule.sandbox.process.reaper_protocol import LONGEST, Letterbox, carried, given, letter


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_letters_come_out_as_they_went_in_however_they_are_cut(piece: int):
    texts = [b"{}", b"", b'{"start":' + b"x" * 300 + b"}"]
    stream = b"".join(map(letter, texts))
    box = Letterbox()
    pieces = [stream[at : at + piece] for at in range(0, len(stream), piece)]

    assert [text for data in pieces for text in box.feed(data)] == texts


def test_a_length_that_cannot_be_one_is_refused():
    with pytest.raises(ValueError, match="not a letter"):
        list(Letterbox().feed(LONGEST.to_bytes(4, "big")))


def test_whatever_a_process_can_be_given_can_be_carried():
    everything = bytes(range(1, 256)) + "ä€".encode()

    assert given(carried(everything)) == everything
    assert given(carried(os.fsencode("\udc80"))) == b"\x80"
