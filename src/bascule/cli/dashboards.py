"""How `bascule serve` and `bascule up` come to their dashboard: on the gateway, or at a port of its own."""

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import msgspec

from bascule.cli.opening import this_user
from bascule.config.dashboard import DashboardSettings
from bascule.config.state import state_folder
from bascule.core.errors import UsageError
from bascule.gateway.streams import Streams
from bascule.identity.house_rules import HouseRules
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime

if TYPE_CHECKING:
    from bascule.dashboard.app import Shown
    from bascule.dashboard.token import Token
    from bascule.gateway.app import Gateway
    from bascule.gateway.serving import Door

NEEDS = "jinja2"
"""All else that it needs comes with the core."""

MISSING = "no dashboard: its extra is not installed; pip install 'bascule[ui]'"

PATH = "/dashboard"

PORT = 8471
"""Where one is looked for that has a port of its own: beside the gateway. Where it is taken, it is another one, which
is told."""


def feed_for(settings: DashboardSettings, tell: Callable[[str], None]) -> Feed | None:
    """A sink for the runtime that is to be shown. None where there is no dashboard; it is told why."""
    if not settings.enabled:
        return None
    if find_spec(NEEDS) is None:
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


def mount(app: "Gateway", shown: tuple[Runtime, Feed], door: "Door", shows: str = "") -> Address:
    """Put it on a gateway."""
    from bascule.dashboard.app import Opening, dashboard  # noqa: PLC0415 -- most commands show nothing
    from bascule.dashboard.token import token_of  # noqa: PLC0415 -- the same
    from bascule.gateway.serving import rules_of  # noqa: PLC0415 -- the same

    token = token_of(shown[0].config.dashboard, state_folder(os.environ))
    named = urlsplit(door.known_as)
    opening = Opening(token, rules_of(door), secure=named.scheme == "https")
    app.beside = (PATH, dashboard(_shown(*shown, shows), opening, app.streams))
    return _address(f"{named.scheme}://{named.netloc}", token)


@asynccontextmanager
async def alone(runtime: Runtime, feed: Feed, port: int = PORT, shows: str = "") -> AsyncGenerator[Address]:
    """Serve it at a port of its own."""
    from bascule.dashboard.alone import HOST, Alone, listen_alone  # noqa: PLC0415 -- most commands show nothing
    from bascule.dashboard.app import Opening, dashboard  # noqa: PLC0415 -- the same
    from bascule.dashboard.token import token_of  # noqa: PLC0415 -- the same

    token, streams = token_of(runtime.config.dashboard, state_folder(os.environ)), Streams()
    app = dashboard(_shown(runtime, feed, shows), Opening(token, HouseRules(loopback_only=True)), streams)
    listening = listen_alone(port)
    at = listening.getsockname()[1]
    async with Alone(app, streams, listening):
        yield _address(f"http://{HOST}:{at}", token)


def _address(origin: str, token: "Token") -> Address:
    plain = f"{origin}{PATH}"
    return Address(plain, f"{plain}?token={quote(token.text.reveal(), safe='')}", token.place)


def _shown(runtime: Runtime, feed: Feed, shows: str = "") -> "Shown":
    from bascule.dashboard.app import Shown  # noqa: PLC0415 -- most commands show nothing
    from bascule.dashboard.deeds import deeds_of  # noqa: PLC0415 -- the same
    from bascule.dashboard.views import views_of  # noqa: PLC0415 -- the same

    return Shown(views_of(runtime, feed, shows), deeds_of(runtime), f"{_operator()} at the dashboard")


def _operator() -> str:
    """Who acts there: whoever has the token, which only this user can read."""
    try:
        return this_user()
    except UsageError:
        return "somebody"
