"""A proxy on a small internet, for a whole run of tests, in a thread of its own: it is asked from the tests' thread."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from bascule.config.model.egress import Egress
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.egress.proxy import EgressProxy
from support.asking import calling, get
from support.children import lasting
from support.internet import ALLOWED, ALLOWED_SIX, WILD, Internet, internet

ALLOW = ("allowed.test", "six.allowed.test", "*.wild.test")

GOOD = frozenset((address, port) for address in (ALLOWED, ALLOWED_SIX, WILD) for port in (80, 443))
"""All that may ever be reached."""

PATIENCE = 30.0

AnyValue = TypeVar("AnyValue")


class WayOut:
    """`path` is the socket of the box that is tried, `records` are all that was heard."""

    def __init__(self, net: Internet, folder: Path) -> None:
        self.net = net
        self.folder = folder
        self.records: list[Access] = []
        self.path = ""
        self._numbers = count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.proxy = EgressProxy(Egress(allow=ALLOW), str(folder), self.records.append, net.surroundings(str(folder)))

    def run(self, doing: Coroutine[Any, Any, AnyValue]) -> AnyValue:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(PATIENCE)

    def socket_for(self, box: str) -> str:
        return self.run(self.proxy.socket_for(box))

    def release(self, box: str) -> None:
        self.run(self.proxy.release(box))

    def close(self) -> None:
        try:
            self.run(self.proxy.close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            self._loop.close()

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.005)

    def heard(self, since: int = 0, **wanted: Any) -> list[Access]:
        """Records with these values, once there is one."""
        self.until(lambda: bool(self._heard(since, wanted)))
        return self._heard(since, wanted)

    def _heard(self, since: int, wanted: dict[str, Any]) -> list[Access]:
        return [each for each in self.records[since:] if all(getattr(each, name) == wanted[name] for name in wanted)]

    @contextmanager
    def reaching(self, *addresses: str) -> Generator[list[dict[str, Any]]]:
        """Nobody is reached in the block but these. It is given what they were asked, once that is over."""
        connected, asked = len(self._connected()), len(self.net.asked())
        told: list[dict[str, Any]] = []
        yield told
        self.settled()
        reached = {address for address, _ in self._connected()[connected:]}
        told += [each for each in self.net.asked()[asked:] if "/settled" not in each["head"][0]]
        assert {each["at"] for each in told} <= set(addresses), told
        # Connections are kept for the next who asks the same address.
        assert reached - {ALLOWED} <= set(addresses), f"somebody else was reached: {reached}"

    def settled(self) -> None:
        """What was sent before this is told by now, and so are the connections, at both ports."""
        mark = f"/settled-{next(self._numbers)}-"
        answer = get(self.path, f"http://allowed.test{mark}80")
        assert answer is not None
        assert answer.status == 200
        with calling(self.path) as tunnel:
            for asked in (("CONNECT allowed.test:443", "allowed.test:443"), (f"GET {mark}443", "allowed.test")):
                tunnel.say(f"{asked[0]} HTTP/1.1", f"Host: {asked[1]}")
                answer = tunnel.answer()
                assert answer is not None
                assert answer.status == 200
        self.until(lambda: sum(mark in each["head"][0] for each in self.net.asked()) == 2)

    def _connected(self) -> list[tuple[str, int]]:
        events = (*self.net.far.told("connected"), *self.net.near.told("connected"))
        return [(event["connected"], event["port"]) for event in events]


@contextmanager
def way_out() -> Generator[WayOut]:
    with internet() as net, TemporaryDirectory(prefix="way-out") as name:
        folder = Path(name, "egress")
        made = WayOut(net, folder)
        try:
            made.path = made.socket_for("tried")
            # It is started anew whenever the machine has other addresses, as by containers of other tests.
            with lasting(lambda: made.proxy.pid):
                yield made
            made.settled()
            assert net.reached() <= GOOD, f"in the end somebody else was reached: {net.reached() - GOOD}"
        finally:
            made.close()
