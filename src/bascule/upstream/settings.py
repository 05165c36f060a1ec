"""Settings of a server's links (timeouts, era, client info), and the facts that a link learns about its server."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Era = Literal["auto", "old", "new"]
Lifetime = Literal["call", "session", "shared"]


class Terms(msgspec.Struct, frozen=True):
    """Settings of one server's links. Times are seconds. The defaults are those of the config model."""

    era: Era
    connect: float
    reconnect: float
    probe: float
    close: float
    interval: float
    """Of the heartbeat, while a link is silent."""
    stale_after: float
    attempts: int
    """How often a link that ended is opened again."""
    backoff: float
    """Before the first of those attempts; twice as long before each further one."""
    lifetime: Lifetime
    client_info: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"name": "bascule", "version": "unknown"})
    """Who we say we are: a name and a version."""
    capabilities: Mapping[str, Any] = {}
    """What the server may ask for the sake of a request that says nothing else."""
    offered: Mapping[str, Any] = {}
    """What a server of the old era may ask as long as the link lasts."""
    log_level: str = ""
    """The lowest level at which the server is asked to remark something. Empty: not at all."""


class Learned(msgspec.Struct, frozen=True):
    """What linking to a server has shown about it, and saves questions the next time."""

    era: Era = "auto"
    older_way: bool = False
    """Whether it is reached only by the way that was usual before (see `LinkPlan.older`)."""


class Agreement(msgspec.Struct, frozen=True):
    """What was agreed with a server when the link opened."""

    version: str
    capabilities: Mapping[str, Any]
    server_info: Mapping[str, Any]
    instructions: str
