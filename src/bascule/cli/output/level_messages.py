"""Messages about sensitivity levels: the level that a call has raised, and the ways to go on after a denial."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from bascule.cli.json_output.answers import Level
from bascule.core.errors import OutcomeWithheld, Refused, TwinDiffers
from bascule.core.events import LevelChanged
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane, lane_for

if TYPE_CHECKING:
    from bascule.runtime.session import AgentSession

T = TypeVar("T")

ABOUT_LEVELS = frozenset({Refused.code, TwinDiffers.code, OutcomeWithheld.code})
"""Codes of refusals that may be another agent session's to escape. A limit is not among them."""


_WORDS: Mapping[DataSensitivity, Level] = {
    DataSensitivity.PUBLIC: "public",
    DataSensitivity.INTERNAL: "internal",
    DataSensitivity.CONFIDENTIAL: "confidential",
    DataSensitivity.SECRET: "secret",
}


def level_word(level: DataSensitivity) -> Level:
    """As programs are told it, and as a config writes it."""
    return _WORDS[level]


def raised(change: LevelChanged) -> str:
    """What has just happened to the level of the agent session that a command works in."""
    from bascule.runtime.levels.raising import in_words  # noqa: PLC0415 -- most commands raise no level

    head = f"{change.principal} is now {change.after.name}, was {change.before.name} ({in_words(change.cause)})"
    closed = f"; closed: {', '.join(change.closed)}" if change.closed else ""
    twins = f"; from now on: {served(change.twins)}" if change.twins else ""
    return f"{head}; its lane is {lane_for(change.after)}{closed}{twins}"


def served(twins: Mapping[str, str]) -> str:
    """By what each server's tools are served."""
    return ", ".join(f"{server} {by}" for server, by in sorted(twins.items()))


def how_to_go_on(session: "AgentSession") -> str:
    """What a person can do whose agent session is in the way; nothing, if it is not."""
    if session.lane is Lane.OPEN and not session.ended:
        return ""
    became = "was ended" if session.ended else f"is {session.sensitivity.name}"
    return (
        f"{session.principal} {became}, and `bascule sessions show {named(session.principal)}` tells why; "
        "--session ID goes on in another agent session"
    )


def advised(outcome: T | ToolFailure, session: "AgentSession") -> T | ToolFailure:
    """A refusal that also says how to go on at the command line. Anything else as it is."""
    if not isinstance(outcome, ToolFailure) or outcome.kind is not FailureKind.DENIED:
        return outcome
    advice = how_to_go_on(session)
    if outcome.code not in ABOUT_LEVELS or not advice:
        return outcome
    return msgspec.structs.replace(outcome, fix="; ".join(filter(None, (outcome.fix, advice))))


def named(principal: Principal) -> str:
    """An agent session as the command line names it."""
    return f"--user {shlex.quote(principal.user_id)} --session {shlex.quote(principal.session_id)}"
