"""Which boxes are given the way to the proxy, and whose each is."""

from collections.abc import Callable

import pytest

from bascule.config.model.egress import Egress
from bascule.config.model.sandbox import Sandbox
from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.egress import provision
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.egress.provision import ProxyProvision
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import PROXY_FOLDER
from bascule.sandbox.spec.launch_request import Order
from support.box_engines import NotingEngine

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-2")
ENGINE = NotingEngine()


def an_order(principal: Principal = ALICE, lane: Lane = Lane.PROXIED, settings: Sandbox | None = None) -> Order:
    return Order("web", lane, principal, Command(("web", "--port", "1"), {"A": "1"}), settings or Sandbox())


def an_access(box: str) -> Access:
    return Access(1.0, box, "ended", "CONNECT", "api.example.org", 443, 200, "", 10, 20, "198.51.100.7:443")


class Proxy:
    """Gives each box a folder, and tells what it is told to."""

    def __init__(self, tell: Callable[[Access], None]) -> None:
        self.tell = tell
        self.boxes: list[str] = []
        self.trouble: SandboxError | None = None
        self.egress = Egress()
        self.closed = False

    async def socket_for(self, box: str) -> str:
        if self.trouble is not None:
            raise self.trouble
        self.boxes.append(box)
        return f"/run/proxy/{box}/egress.sock"

    async def release(self, box: str) -> None:
        self.boxes.remove(box)

    async def change(self, egress: Egress) -> None:
        self.egress = egress

    async def close(self) -> None:
        self.closed = True


class Scene:
    """A provision and its proxy."""

    def __init__(self) -> None:
        made: list[Proxy] = []

        def proxy(tell: Callable[[Access], None]) -> Proxy:
            made.append(Proxy(tell))
            return made[0]

        self.provision = ProxyProvision(Egress(("api.example.org",)), proxy)
        self.proxy = made[0]

    def told(self) -> list[tuple[str, str, str]]:
        """The server, the user and the host of each event that waits to be taken."""
        asked = self.provision.asked
        events = [asked.get_nowait() for _ in range(asked.qsize())]
        return [(event.server, event.principal.user_id, event.host) for event in events]


@pytest.mark.parametrize("lane", [Lane.OPEN, Lane.SEALED])
async def test_only_proxied_boxes_are_given_the_way_to_the_proxy(lane: Lane):
    scene, order = Scene(), an_order(lane=lane)
    assert await scene.provision.before(ENGINE, order) is order
    await scene.provision.after(order)
    assert scene.proxy.boxes == []


async def test_each_box_has_a_way_of_its_own_and_is_known_by_it():
    scene = Scene()
    alices, bobs = [await scene.provision.before(ENGINE, an_order(who)) for who in (ALICE, BOB)]
    assert alices.sockets[PROXY_FOLDER] != bobs.sockets[PROXY_FOLDER]

    for box in scene.proxy.boxes:
        scene.proxy.tell(an_access(box))
    assert scene.told() == [("web", "alice", "api.example.org"), ("web", "bob", "api.example.org")]


async def test_an_access_is_an_event_with_all_that_the_proxy_logs_of_it():
    scene = Scene()
    await scene.provision.before(ENGINE, an_order())
    (box,) = scene.proxy.boxes
    scene.proxy.tell(Access(1.0, box, "opened", "CONNECT", "evil.test", 443, 403, "host", 1, 2, ""))

    event = scene.provision.asked.get_nowait()
    assert (event.server, event.principal, event.host, event.port) == ("web", ALICE, "evil.test", 443)
    assert (event.refused, event.status, event.sent, event.received, event.ended) == ("host", 403, 1, 2, False)


async def test_what_the_proxy_tells_of_a_box_that_is_gone_is_still_known_to_be_its():
    scene = Scene()
    given = await scene.provision.before(ENGINE, an_order())
    (box,) = scene.proxy.boxes
    await scene.provision.after(given)
    assert scene.proxy.boxes == []

    scene.proxy.tell(an_access(box))
    scene.proxy.tell(an_access("nobodys"))
    assert scene.told() == [("web", "alice", "api.example.org")]


async def test_boxes_that_are_gone_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(provision, "REMEMBERED", 3)
    scene = Scene()
    kept = await scene.provision.before(ENGINE, an_order())
    for _ in range(20):
        await scene.provision.after(await scene.provision.before(ENGINE, an_order(BOB)))
    assert len(scene.provision._whose) <= 5

    scene.proxy.tell(an_access(scene.proxy.boxes[0]))
    assert scene.told() == [("web", "alice", "api.example.org")]
    await scene.provision.after(kept)


async def test_a_proxied_box_whose_proxy_cannot_be_had_is_not_made():
    scene = Scene()
    scene.proxy.trouble = SandboxError("no proxy")
    with pytest.raises(SandboxError, match="no proxy"):
        await scene.provision.before(ENGINE, an_order())


async def test_where_no_host_is_listed_there_is_no_way_until_one_is():
    scene, order = Scene(), an_order()
    await scene.provision.change(Egress())
    assert await scene.provision.before(ENGINE, order) is order

    await scene.provision.change(Egress(("other.example.org",)))
    assert scene.proxy.egress.allow == ("other.example.org",)
    assert PROXY_FOLDER in (await scene.provision.before(ENGINE, order)).sockets
    await scene.provision.close()
    assert scene.proxy.closed
