import socket

import pytest

from bascule.core.errors import ConfigError
from bascule.gateway.http.server import listen_at


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_it_listens_at_once(host: str):
    listening = listen_at(host, 0, named="here", fix="none")
    with listening, socket.create_connection(listening.getsockname()[:2], timeout=10) as client:
        assert client.getpeername()[:2] == listening.getsockname()[:2]


def test_an_address_that_is_taken_is_named_with_what_to_do():
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(ConfigError, match="cannot listen at this: Address already in use") as caught:
        listen_at("127.0.0.1", taken.getsockname()[1], named="this", fix="choose another")
    assert caught.value.fix == "choose another"
