"""Isolated twin check: a twin stands in for its server only if it lists the same tools under the same names."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable

from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing
from bascule.catalog.twin_check import differences, other_words
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import BasculeError, ConnectFailed, TwinDiffers
from bascule.core.sensitivity import Lane
from bascule.runtime.servers.listings import Listings
from bascule.upstream.link import Link


def is_twin(link: Link, server: ServerConfig | None, *, boxed: bool) -> bool:
    """Whether another server than the configured one is behind this link, or another instance of it."""
    return link.key.lane is not Lane.OPEN and server is not None and (boxed or server.isolated is not None)


class Twinning:
    """Compares what twins list with what their servers do. An agent goes on seeing the servers' own listings."""

    def __init__(self, listings: Listings, list_original: Callable[[str], Awaitable[None]]) -> None:
        self._listings = listings
        self._list_original = list_original
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.warnings: dict[str, str] = {}
        """By server: what is odd about its twin and changes nothing."""

    async def check(self, link: Link, pages: Pages) -> bool:
        """Whether what the principal sees has changed. A twin that is another server is not used: raises
        `TwinDiffers`."""
        server = link.key.server
        original = self._listings.of(link.key.principal, server) or await self._original(server)
        twin = await self._listings.read_twin(link, pages, original)
        found = differences(original, twin)
        if found:
            link.retire("its twin is another server")
            raise TwinDiffers(
                f"the isolated twin of {server} is another server, so nothing is sent there",
                rule="twin_is_the_same",
                evidence="\n".join(found),
                fix=f"bring `url_isolated` or `command_isolated` of {server} to the same version as the server itself; "
                "if it has neither, it offers something else where it can reach nobody: give it a twin of its own",
            )
        words = other_words(original, twin)
        self.warnings.pop(server, None)
        if words:
            self.warnings[server] = f"its twin describes {', '.join(words[:5])} in other words"
        return self._listings.show(link, original)

    async def _original(self, server: str) -> ServerListing:
        """What the server itself listed last. If nobody has seen it yet, it is looked at now."""
        async with self._turns[server]:
            if self._listings.latest(server) is None:
                try:
                    await self._list_original(server)
                except BasculeError as error:
                    raise ConnectFailed(
                        f"the twin of {server} cannot be compared with the server itself: {error.message}",
                        where=server,
                        evidence=error.evidence,
                        cause="nobody has seen the server's own tools since this runtime started",
                        fix=error.fix,
                    ) from error
        listing = self._listings.latest(server)
        if listing is None:
            raise ConnectFailed(f"{server} was changed while its twin was compared with it", where=server)
        return listing
