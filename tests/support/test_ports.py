import socket
from contextlib import ExitStack

import pytest

from support import ports as subject


def test_all_of_a_row_can_be_had_and_none_that_the_kernel_gives_out():
    port = subject.free_port(3)

    with ExitStack() as held:
        for each in range(port, port + 3):
            held.enter_context(socket.create_server(("127.0.0.1", each)))
    with socket.create_server(("127.0.0.1", 0)) as given:
        assert port + 2 < subject.LAST < given.getsockname()[1]


def test_one_that_is_taken_is_not_given(monkeypatch: pytest.MonkeyPatch):
    port = subject.free_port(2)
    monkeypatch.setattr(subject, "FIRST", port)
    monkeypatch.setattr(subject, "LAST", port + 2)  # leaves one choice

    assert subject.free_port() == port
    with socket.create_server(("127.0.0.1", port)), pytest.raises(AssertionError, match="no 1 free ports"):
        subject.free_port()
