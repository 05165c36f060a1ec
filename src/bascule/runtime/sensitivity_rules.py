"""Sensitivity of a request: the level that it raises to before it is sent, and the level learned from its outcome."""

from fnmatch import fnmatchcase
from typing import TypeGuard

from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import BasculeError, PeerError, PeerRefused
from bascule.core.json_types import JsonObject, is_object
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.call_state import Trail
from bascule.sensitivity.private_data import labelled_level

RULE, LABEL, UNREAD = "raises rule", "label", "no readable outcome"
"""What raises a level, in the words of a receipt."""

TURNED_AWAY = frozenset({429, 503})
"""HTTP statuses of those who are too busy to look at a request."""


def ruled_level(server: ServerConfig, tool: str) -> DataSensitivity:
    """What the operator says a call raises to. Of several rules that fit, the highest."""
    fitting = (level for pattern, level in server.raises.items() if fnmatchcase(tool, pattern))
    return max(fitting, default=DataSensitivity.PUBLIC)


def unread_level(server: ServerConfig, tool: str | None) -> DataSensitivity | None:
    """What a call raises to that ends without anything readable. None if whatever it brought raises nothing. Where it
    is about no tool, no rule speaks of it, whatever it is called."""
    ruled = ruled_level(server, tool) if tool is not None else DataSensitivity.PUBLIC
    if ruled is not DataSensitivity.PUBLIC:
        return ruled
    return DataSensitivity.SECRET if "labels" in server.trust else None


def learned(server: ServerConfig, raw: JsonObject, trail: Trail) -> DataSensitivity | None:
    """What a reply says of itself, if its server is believed. If not, that is only a finding: one that lies could
    otherwise lock an agent session."""
    claimed = labelled_level(raw)
    if claimed is None or "labels" in server.trust:
        return claimed
    finding = f"{trail.server} labels its result {claimed.name}, and is not trusted for labels"
    trail.findings = (*trail.findings, finding)
    return None


def learned_from(server: ServerConfig | None, error: BasculeError, trail: Trail) -> tuple[DataSensitivity | None, str]:
    """What a failure tells of how private the request was, and by what. An answer that refuses is an answer: its labels
    count. Of one that never came, or could not be read, the worst is assumed, unless the request surely never left, or
    nobody looked at it."""
    if is_answer(error):
        return (learned(server, error.data, trail) if server is not None and is_object(error.data) else None), LABEL
    return (None if never_looked_at(error) else trail.unread), UNREAD


def is_answer(error: BasculeError) -> TypeGuard[PeerRefused]:
    """Whether a server has answered what it was asked, if only to refuse."""
    return isinstance(error, PeerRefused) and error.readable


def never_looked_at(error: BasculeError) -> bool:
    """Whether a request surely never left, or nobody had the time for it."""
    turned_away = isinstance(error, PeerRefused) and error.status in TURNED_AWAY
    return turned_away or (isinstance(error, PeerError) and not error.sent)


def cause_of(by: str, trail: Trail) -> Cause:
    return Cause(by, trail.server, trail.tool)
