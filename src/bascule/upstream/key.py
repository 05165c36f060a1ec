"""Key of a link: server, lane and principal. Another lane or another principal is another link, always."""

import msgspec

from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import Lane

SHARED = Nobody("bascule", "shared")
"""On whose behalf a link is opened that everyone uses."""


class LinkKey(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """Which server, by which lane, on whose behalf."""

    server: str
    lane: Lane
    principal: Principal
