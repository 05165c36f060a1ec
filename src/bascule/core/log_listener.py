"""Listener for the log messages that servers send during one request (`notifications/message`), and their log
levels."""

from contextvars import ContextVar
from typing import Protocol

from bascule.core.json_types import JsonObject

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The protocol's levels of remarks, the most talkative first."""

_ORDER = {level: place for place, level in enumerate(LEVELS)}
_UNKNOWN = _ORDER["info"]
"""What a level counts for that is none of these: it is a server's word."""


class Ear(Protocol):
    """Somebody who waits for a request. Must not block."""

    @property
    def level(self) -> str:
        """The lowest level they want to hear of."""
        ...

    def at(self, server: str) -> None:
        """The request, or a part of it, is sent to this server now."""
        ...

    def is_at(self, server: str) -> bool:
        """Whether anything of the request was sent to this server."""
        ...

    def hear(self, server: str, params: JsonObject) -> None:
        """What this server remarks, without its secrets."""
        ...


EAR: ContextVar[Ear | None] = ContextVar("EAR", default=None)
"""Who hears what is said in the course of the request that is being served."""


def reaches(level: object, least: str) -> bool:
    """Whether a remark of this level is wanted by who wants those from `least` on. Nobody wants any without one."""
    return least in _ORDER and _ORDER.get(str(level), _UNKNOWN) >= _ORDER[least]


def most_talkative(*levels: str) -> str:
    """Of these levels the one that lets most through. Empty, if there is none among them."""
    known = [level for level in levels if level in _ORDER]
    return min(known, key=_ORDER.__getitem__, default="")
