"""JSON shapes of agent sessions and their receipts, of the audit log and of server logs."""

from typing import Any, Literal, TypedDict

from bascule.cli.json_output.answers import Level
from bascule.core.receipt import Change
from bascule.core.sensitivity import Lane
from bascule.records.audit.damage import What


class SessionShape(TypedDict):
    """How an agent session stands."""

    user: str
    session: str
    level: Level
    lane: Lane
    since: float | None
    """Seconds since the epoch."""
    datasets: dict[str, Level]
    ended: bool
    doubt: str
    """Why it counts as SECRET although nobody raised it to that."""


class ListedSessionShape(SessionShape):
    """An agent session, with how many receipts there are."""

    receipts: int | None


class SessionsShape(TypedDict):
    """Every agent session that is known."""

    sessions: list[ListedSessionShape]


class CauseShape(TypedDict):
    """Why a level was changed."""

    by: str
    server: str
    tool: str
    dataset: str
    reason: str


_Before = TypedDict("_Before", {"from": Level})
"""The level before."""


class ReceiptShape(_Before):
    """One change of a level."""

    number: int
    at: float
    change: Change
    to: Level
    cause: CauseShape
    closed: list[str]
    """The links that were closed for it."""
    twins: dict[str, str]
    """What serves each server's tools from then on: `declared`, `probed`, `vouched` or `refused`."""
    fence: str
    """Who has made sure that nothing more is written."""


class ShownSessionShape(SessionShape):
    """An agent session, and what has changed its level."""

    receipts: list[ReceiptShape]


class DeedShape(SessionShape):
    """What an operator did, and how the agent session stands after it."""

    ok: Literal[True]
    receipt: ReceiptShape | None
    """None, where there was nothing to change."""
    fence: str


class RecordsShape(TypedDict):
    """What was done, in order of time."""

    records: list[dict[str, Any]]
    """Each with `at`, `writer`, `seq` and `kind`, and what is told of its kind: see below."""
    unreadable: int
    """Lines of the log that are no records."""


class ExportShape(TypedDict):
    """A copy of the log that was written."""

    file: str
    records: int
    """How many."""
    unreadable: int


class AnchorShape(TypedDict):
    """How far a chain had come."""

    sequence: int
    mac: str
    at: float
    anchor: str
    """As `--anchor` takes it."""


class DamageShape(TypedDict):
    """One place where the log is not what was written."""

    what: What
    told: str
    file: str | None
    line: int | None
    sequence: int | None


class WriterShape(TypedDict):
    """One chain of the log."""

    writer: str
    ok: bool
    files: list[str]
    records: int
    head: AnchorShape | None
    """The last record there is."""
    proven: AnchorShape | None
    """Up to where nothing is missing or altered."""
    proven_by: Literal["store", "log", "given"] | None
    """Where the anchor was found that proves it."""
    after: int
    """Records after that."""
    unfinished: int
    """Bytes of a last record that was never whole."""
    damage: list[DamageShape]
    damages: int
    """How many there are; of many, only the first are told."""


class VerifyShape(TypedDict):
    """Whether the log is what was written."""

    ok: bool
    writers: list[WriterShape]
    damage: list[DamageShape]
    """What belongs to no chain that is there."""
    elsewhere: int
    """Anchors of other state folders."""


class LogLineShape(TypedDict):
    """One line of a server's log."""

    at: float
    server: str
    kind: Literal["stderr", "link", "note"]
    user: str
    session: str
    pid: int | None
    """The process that said it."""
    state: str | None
    """What the link became."""
    text: str
