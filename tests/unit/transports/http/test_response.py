"""What a response does with its connection. How it is made is in test_http_direct.py."""

from types import SimpleNamespace
from typing import Any, cast

from multidict import CIMultiDict, CIMultiDictProxy

from bascule.transports.http.response import DirectResponse


class Connection:
    """One that takes down what becomes of it."""

    def __init__(self) -> None:
        self.became: list[str] = []
        self.protocol = None

    def close(self) -> None:
        self.became.append("closed")

    def release(self) -> None:
        self.became.append("released")


def response_on(connection: Connection) -> tuple[DirectResponse, list[Any]]:
    """With what it wants to be told of the end of its body."""
    ends: list[Any] = []
    content = SimpleNamespace(on_eof=ends.append)
    headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"}))
    asked = cast("Any", connection), {"A": "b"}
    made = DirectResponse(200, "OK", headers, cast("Any", content), asked, lambda given: given.release())
    return made, ends


def test_the_end_of_its_body_gives_its_connection_back():
    connection = Connection()
    response, (end,) = response_on(connection)
    assert not response.closed
    end()
    response.close()
    response.release()
    assert connection.became == ["released"]
    assert response.closed


def test_closing_it_gives_its_connection_up():
    connection = Connection()
    response, (end,) = response_on(connection)
    response.close()
    end()
    assert connection.became == ["closed"]
    assert (response.status, response.headers["content-type"], response.sent) == (200, "application/json", {"A": "b"})
