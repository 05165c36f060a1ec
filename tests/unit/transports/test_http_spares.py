"""Connections that wait for their next request."""

import asyncio
from typing import Any, cast

import pytest

from bascule.transports import http_spares
from bascule.transports.http_spares import Spares
from support.waiting import until


class Protocol:
    def __init__(self) -> None:
        self.connected = True
        self.writing_paused = False
        self.should_close = False

    def is_connected(self) -> bool:
        return self.connected


class Connection:
    """One that takes down what becomes of it."""

    def __init__(self) -> None:
        self.protocol: Protocol | None = Protocol()
        self.became = ""

    def close(self) -> None:
        self.became = "closed"


def made(count: int) -> list[Any]:
    return [cast("Any", Connection()) for _ in range(count)]


async def test_the_one_that_waited_longest_goes_first():
    spares, connections = Spares(), made(3)
    for connection in connections:
        spares.put(connection)
    assert [spares.take() for _ in range(4)] == [*connections, None]
    assert [connection.became for connection in connections] == ["", "", ""]
    spares.close()


@pytest.mark.parametrize(
    ("attribute", "value"), [("connected", False), ("writing_paused", True), ("should_close", True)]
)
async def test_one_that_takes_no_request_any_more_is_closed(attribute: str, value: bool):
    spares, (broken, whole) = Spares(), made(2)
    spares.put(broken)
    spares.put(whole)
    setattr(broken.protocol, attribute, value)
    assert spares.take() is whole
    assert broken.became == "closed"
    spares.close()


async def test_one_that_cannot_be_used_again_is_not_kept():
    spares, (ending, ended) = Spares(), made(2)
    ending.protocol.should_close = True
    ended.protocol = None
    for connection in (ending, ended):
        spares.put(connection)
        assert connection.became == "closed"
    assert len(spares) == 0


async def test_each_is_kept_for_a_while_only(monkeypatch: pytest.MonkeyPatch):
    now = 1000.0
    monkeypatch.setattr(http_spares, "monotonic", lambda: now)
    spares, (first, second, third) = Spares(), made(3)
    spares.put(first)
    now += 1
    spares.put(second)
    now += http_spares.KEPT - 0.5
    assert spares.take() is second
    assert first.became == "closed"
    spares.put(third)
    spares.close()
    assert third.became == "closed"


async def test_nobody_has_to_ask_for_one_that_it_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_spares, "KEPT", 0.05)
    spares, connections = Spares(), made(4)
    for connection in connections:
        spares.put(connection)
        await asyncio.sleep(0.02)
    await until(lambda: not len(spares))
    assert [connection.became for connection in connections] == ["closed"] * 4
    # And again, for those that come later.
    (late,) = made(1)
    spares.put(late)
    await until(lambda: not len(spares))
    assert late.became == "closed"


async def test_what_is_given_back_after_the_end_is_closed_too():
    spares, (kept, late) = Spares(), made(2)
    spares.put(kept)
    spares.close()
    spares.put(late)
    assert (kept.became, late.became, len(spares)) == ("closed", "closed", 0)
