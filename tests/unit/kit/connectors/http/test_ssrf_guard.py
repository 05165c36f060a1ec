import socket
import threading
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, UsageError
from bascule.kit.connectors.http.ssrf_guard import is_public, resolved


def test_the_address_of_ipv4_inside_of_one_of_ipv6_counts():
    assert is_public("::ffff:8.8.8.8")
    assert not is_public("::ffff:10.0.0.1")
    assert is_public("64:ff9b::808:808")
    assert not is_public("64:ff9b::a00:1")


def test_loopback_is_refused_unless_it_is_allowed():
    with pytest.raises(UsageError, match="not on the internet"):
        resolved("127.0.0.1", 80, 5, allow_private=False)
    assert resolved("127.0.0.1", 80, 5, allow_private=True) == ("127.0.0.1",)


def test_a_name_that_nobody_knows_is_told_as_that():
    with pytest.raises(ConnectFailed, match="was not found"):
        resolved("nothing.invalid", 80, 5, allow_private=False)


def test_a_look_up_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    hung = threading.Event()

    def hang(*_: Any, **__: Any) -> list[Any]:
        hung.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with pytest.raises(ConnectFailed, match="was not found"):
        resolved("slow.test", 80, 0.01, allow_private=False)
    hung.set()
