"""The frames that a WebSocket client writes, read back by an implementation that nobody here wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from bascule.wire.websocket_frames import CLOSE, NORMAL_CLOSURE, PONG, TEXT, client_frame


def read_back(data: bytes) -> Frame:
    reader = StreamReader()
    reader.feed_data(data)
    parsing = Frame.parse(reader.read_exact, mask=True)
    with pytest.raises(StopIteration) as parsed:
        next(parsing)
    assert bytes(reader.buffer) == b""
    return parsed.value.value


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_what_is_framed_is_read_back(payload: bytes, mask: bytes):
    frame = read_back(client_frame(TEXT, payload, mask))

    assert (frame.opcode, frame.fin, bytes(frame.data)) == (Opcode.TEXT, True, payload)
    assert (frame.rsv1, frame.rsv2, frame.rsv3) == (False, False, False)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 1_000_003])
def test_every_form_of_the_length_is_right(size: int):
    payload = bytes(index % 251 for index in range(size))

    assert bytes(read_back(client_frame(TEXT, payload, b"\x01\x82\x03\xff")).data) == payload


def test_control_frames_are_what_they_say():
    assert read_back(client_frame(PONG, b"abc", b"mask")).opcode is Opcode.PONG
    closing = read_back(client_frame(CLOSE, NORMAL_CLOSURE, b"mask"))
    assert (closing.opcode, bytes(closing.data)) == (Opcode.CLOSE, b"\x03\xe8")


def test_the_mask_hides_the_payload():
    assert b"GET / HTTP/1.1" not in client_frame(TEXT, b"GET / HTTP/1.1", b"\x01\x02\x03\x04")
