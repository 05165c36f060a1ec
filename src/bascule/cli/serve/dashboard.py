"""Dashboard of `bascule serve` and `bascule up`: mounted on the gateway, or served at a loopback port of its own."""

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import msgspec

from bascule.cli.session import this_user
from bascule.core.errors import UsageError

if TYPE_CHECKING:
    from bascule.config.model.gateway import DashboardSettings
    from bascule.dashboard.app import Shown
    from bascule.dashboard.auth.token import Token
    from bascule.gateway.app import Gateway
    from bascule.gateway.cluster.peers import Neighbours
    from bascule.gateway.serve import Door
    from bascule.records.feed.feed import Feed
    from bascule.runtime.runtime import Runtime

NEEDS = ("jinja2", "httptools")
"""All else that it needs comes with the core."""

MISSING = "no dashboard: its extra is not installed; pip install 'bascule[ui]'"

PATH = "/dashboard"

PORT = 8471
"""Where one is looked for that has a port of its own: beside the gateway. Where it is taken, it is another one, which
is told."""


def installed() -> bool:
    """Whether all is there that it needs."""
    return all(find_spec(name) is not None for name in NEEDS)


def feed_for(settings: "DashboardSettings", tell: Callable[[str], None]) -> "Feed | None":
    """A sink for the runtime that is to be shown. None where there is no dashboard; it is told why."""
    from bascule.records.feed.feed import Feed  # noqa: PLC0415 -- not for the options of `up`

    if not settings.enabled:
        return None
    if not installed():
        tell(MISSING)
        return None
    return Feed(time.time)


class Address(msgspec.Struct, frozen=True):
    """Where it is."""

    plain: str
    opening: str
    """The same with the token."""
    place: str
    """Where its owner finds the token."""

    def told(self, *, openly: bool) -> str:
        """For a person. What goes into logs has no token: logs are read by more people than a terminal is."""
        return f"dashboard: {self.opening}" if openly else f"dashboard: {self.plain} (its token is {self.place})"


def mount(
    app: "Gateway", shown: "tuple[Runtime, Feed]", door: "Door", beside: "tuple[Neighbours, str] | None" = None
) -> Address:
    """Put it on a gateway. Where that is one of several, it shows what all of them serve: `beside` says who the others
    are, and what people call this one."""
    from bascule.dashboard.app import Opening, dashboard  # noqa: PLC0415 -- most commands show nothing
    from bascule.gateway.serve import rules_of  # noqa: PLC0415 -- the same

    token, address = _at_the_door(shown[0].config.dashboard, door)
    opening = Opening(token, rules_of(door), secure=address.plain.startswith("https:"))
    app.beside = (PATH, dashboard(_shown(*shown, beside), opening, app.streams))
    return address


def address_at(settings: "DashboardSettings", door: "Door") -> Address | None:
    """Where the workers of a gateway have theirs. None where they have none."""
    return _at_the_door(settings, door)[1] if settings.enabled and installed() else None


def _at_the_door(settings: "DashboardSettings", door: "Door") -> "tuple[Token, Address]":
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- not for the options of `up`
    from bascule.dashboard.auth.token import token_of  # noqa: PLC0415 -- most commands show nothing

    token, named = token_of(settings, state_folder(os.environ)), urlsplit(door.known_as)
    return token, _address(f"{named.scheme}://{named.netloc}", token)


@asynccontextmanager
async def alone(runtime: "Runtime", feed: "Feed", port: int = PORT) -> AsyncGenerator[Address]:
    """Serve it at a port of its own."""
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- not for the options of `up`
    from bascule.dashboard.app import Opening, dashboard  # noqa: PLC0415 -- the same
    from bascule.dashboard.auth.token import token_of  # noqa: PLC0415 -- the same
    from bascule.dashboard.standalone import HOST, Alone, listen_alone  # noqa: PLC0415 -- most commands show nothing
    from bascule.gateway.mcp.listen import Streams  # noqa: PLC0415 -- the same
    from bascule.identity.host_origin_check import HouseRules  # noqa: PLC0415 -- the same

    token, streams = token_of(runtime.config.dashboard, state_folder(os.environ)), Streams()
    app = dashboard(_shown(runtime, feed), Opening(token, HouseRules(loopback_only=True)), streams)
    listening = listen_alone(port)
    at = listening.getsockname()[1]
    async with Alone(app, streams, listening):
        yield _address(f"http://{HOST}:{at}", token)


def _address(origin: str, token: "Token") -> Address:
    plain = f"{origin}{PATH}"
    return Address(plain, f"{plain}?token={quote(token.text.reveal(), safe='')}", token.place)


def _shown(runtime: "Runtime", feed: "Feed", beside: "tuple[Neighbours, str] | None" = None) -> "Shown":
    from bascule.dashboard.app import Shown  # noqa: PLC0415 -- most commands show nothing
    from bascule.dashboard.views.interface import deeds_of, views_of  # noqa: PLC0415 -- the same

    by = f"{_operator()} at the dashboard"
    if beside is None:
        return Shown(views_of(runtime, feed), deeds_of(runtime), by)
    from bascule.dashboard.cluster.peers import Answers, Others  # noqa: PLC0415 -- the same
    from bascule.dashboard.cluster.views import AllDeeds, AllViews  # noqa: PLC0415 -- the same

    neighbours, worker = beside
    views, deeds, others = views_of(runtime, feed, worker), deeds_of(runtime), Others(neighbours)
    neighbours.answer = Answers(views, deeds, runtime.oversight.look_again)
    return Shown(AllViews(views, others), AllDeeds(deeds, others), by)


def _operator() -> str:
    """Who acts there: whoever has the token, which only this user can read."""
    try:
        return this_user()
    except UsageError:
        return "somebody"
