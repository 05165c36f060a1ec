"""Log messages of servers (`notifications/message`), passed to Python's logging with a limit per minute."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bascule.core.counters import Window
from bascule.core.json_types import JsonObject, as_text, is_object
from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask

LOGGER = "bascule.server"
"""Each server has a logger below this one, by its name in the config."""

MOST = 200
"""Remarks of one server in a minute that are logged. One that never stops must not fill our disk."""

LONGEST = 1000
"""Characters of one remark."""

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}
"""The protocol's levels as Python has them."""


class Remarks:
    """The remarks of all servers of one runtime."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: dict[str, Window] = {}
        self._silenced: set[str] = set()

    def hear(self, server: str, principal: Principal, mask: Mask, params: JsonObject) -> None:
        """Log one, at its level, without the server's secrets. It is a server's word: it never counts for more."""
        logger = _logger_of(server)
        level = LEVELS.get(str(params.get("level")), logging.INFO)
        if not logger.isEnabledFor(level) or not self._has_room(server, logger):
            return
        who = {"server": server, "user_id": principal.user_id, "session_id": principal.session_id}
        logger.log(level, "%s", _shown(params, mask), extra=who)

    def _has_room(self, server: str, logger: logging.Logger) -> bool:
        now = self._clock()
        said = self._said.setdefault(server, Window())
        if said.within(now) >= MOST:
            if server not in self._silenced:
                self._silenced.add(server)
                logger.warning("%s says too much: more than %d remarks in a minute are not logged", server, MOST)
            return False
        self._silenced.discard(server)
        said.add(1, now)
        return True


def wanted_level(server: str) -> str:
    """The lowest level at which remarks of a server are logged: it need not send others."""
    lowest = _logger_of(server).getEffectiveLevel()
    return next((word for word, level in LEVELS.items() if level >= lowest and word != "notice"), "emergency")


def _logger_of(server: str) -> logging.Logger:
    return logging.getLogger(f"{LOGGER}.{server}")


def _words_of(data: Any) -> str:
    """A text as it is. Of what is structured, its words first: libraries for servers send them beside what they add."""
    if isinstance(data, str):
        return data
    if is_object(data) and (words := as_text(data.get("msg")) or as_text(data.get("message"))):
        more = {name: value for name, value in data.items() if name not in {"msg", "message"} and value is not None}
        return f"{words} {_json(more)}" if more else words
    return _json(data)


def _json(data: Any) -> str:
    return msgspec.json.encode(data).decode()


def _shown(params: JsonObject, mask: Mask) -> str:
    # Before anything is cut: half a secret is not recognised, and may be enough.
    words = _words_of(mask.value(params.get("data")))
    name = mask.text(as_text(params.get("logger")) or "")
    text = f"{name[:100]}: {words[:LONGEST]}" if name else words[:LONGEST]
    # A line break could pass for a line of our own.
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
