"""Tables by principal and server: their key, the runtime's own principals, and removal of entries."""

from collections.abc import Iterable
from typing import Any

from bascule.core.principal import Nobody, Principal

Whose = tuple[Principal, str]

ORIGINAL = Nobody("bascule", "original")
"""On whose behalf a server is looked at whose twin serves an agent session that never saw the server itself."""

STARTING = Nobody("bascule", "start")
"""On whose behalf a `required` server is tried when the runtime starts. Its links close before anyone is served."""


def drop_principal(tables: Iterable[dict[Whose, Any]], principal: Principal, servers: Iterable[str]) -> None:
    """Keep nothing that is known for one principal of these servers. There may be thousands of principals."""
    for server in servers:
        for known in tables:
            known.pop((principal, server), None)


def drop_server(tables: Iterable[dict[Whose, Any]], server: str) -> None:
    """Keep nothing that is known of one server."""
    for known in tables:
        for whose in [whose for whose in known if whose[1] == server]:
            del known[whose]
