"""Record types of the audit log. They hold no argument values, no texts of servers, and no secrets, unless
configured."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Record(msgspec.Struct, omit_defaults=True, tag_field="kind", gc=False):
    """What every record begins with: its kind, its number in the chain, and when it was made."""

    seq: int
    at: float
    """Seconds since the epoch."""


class Began(Record, tag="began"):
    """The first record of a chain."""

    pid: int
    passed: tuple[str, ...] = ()
    """Chains that were free and are not continued, because what they end with cannot be believed."""


class Resumed(Record, tag="resumed"):
    """A chain is continued by another runtime."""

    pid: int
    cut: int = 0
    """Bytes of a last record that was never whole. Whoever wrote it was killed in the middle of that."""
    passed: tuple[str, ...] = ()


class Anchored(Record, tag="anchored"):
    """An anchor of this very record is kept in the store, unless that failed."""

    closing: bool = False
    """Whether the runtime ended in good order here."""


class Sending(Record, tag="sending"):
    """A request is about to be sent, or, with `asked`, would have been."""

    user: str
    session: str
    server: str
    tool: str
    """The server's own name for it; for what is no name, an alias."""
    lane: str
    arguments: Mapping[str, Any]
    """Each by its shape; whole, if the operator wants that."""
    method: str = ""
    """If it is another request than a tool call."""


class Asked(Sending, tag="asked"):
    """The arguments, whole, of a request that was not sent."""


class Ended(Record, tag="ended"):
    """A request ended, whichever way."""

    user: str
    session: str
    server: str
    tool: str
    lane: str
    outcome: str
    """`ok`, or the kind of failure."""
    seconds: float
    call: int = 0
    """The number of the record that was written before it was sent. Its arguments stand there."""
    arguments: Mapping[str, str] = {}
    method: str = ""
    code: str = ""
    rule: str = ""
    """The rule that refused it."""
    tool_code: str | int | float | None = None
    status: int | None = None
    findings: int = 0
    remote: str = ""
    """`unknown`, if it failed and may have done something at its server."""
    local: str = ""
    """What became of what it had changed on our side, if it failed and had."""
    source: str = ""
    """`native`, if code of the program itself answered it."""


class UndoneRecord(Record, tag="undone"):
    """What a failed call had changed on our side was undone later, once its link had ended."""

    user: str
    session: str
    server: str
    tool: str
    """The name under which agents see it."""
    local: str


class LevelRecord(Record, tag="level"):
    """The level of an agent session was changed."""

    user: str
    session: str
    change: str
    before: str
    after: str
    by: str
    server: str = ""
    tool: str = ""
    dataset: str = ""
    """Its alias."""
    receipt: int = 0


class MarkedRecord(Record, tag="marked"):
    """Workspaces that are older than level marks got theirs."""

    count: int


class DeedRecord(Record, tag="deed"):
    """An operator is about to lower a level, or to end an agent session."""

    user: str
    session: str
    change: str
    to: str
    by: str


class AnswerRecord(Record, tag="answer"):
    """What became of a call that waited for a person."""

    user: str
    session: str
    server: str
    tool: str
    """The name under which agents see it."""
    answer: str
    by: str = ""


class ApprovedRecord(Record, tag="approved"):
    """An operator has approved tools as they are now."""

    server: str
    tools: tuple[str, ...]
    by: str


class QuarantineRecord(Record, tag="quarantine"):
    """Tools are not as they were approved, or are again."""

    server: str
    tools: tuple[str, ...]
    released: tuple[str, ...] = ()


class CatalogRecord(Record, tag="catalog"):
    """A server's listing became another one. How many of each."""

    server: str
    listed: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    findings: int = 0


class LinkRecord(Record, tag="link"):
    """A link came up, or ended."""

    server: str
    lane: str
    user: str
    session: str
    state: str
    code: str = ""
    """What kind of failure ended it."""


class RefreshRecord(Record, tag="refresh"):
    """A server's tools could not be listed anew."""

    server: str
    lane: str
    user: str
    session: str


class QuestionRecord(Record, tag="question"):
    """A server asked something in the middle of a request."""

    method: str
    server: str
    user: str
    session: str
    lane: str
    answer: str
    findings: int = 0
    """Parts of it that were removed before it was delivered."""


class HostRecord(Record, tag="host"):
    """A server in a proxied box asked the egress proxy for a host."""

    server: str
    user: str
    session: str
    host: str
    """Of one that was refused, an alias: it is the server's own word."""
    port: int | None = None
    refused: str = ""
    status: int = 0
    sent: int = 0
    received: int = 0
    ended: bool = False


class ConfigRecord(Record, tag="config"):
    """The config's file was edited."""

    applied: bool
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    retuned: tuple[str, ...] = ()
    code: str = ""
    """Why it cannot be used."""


class LeftOut(Record, tag="left_out"):
    """So many records could not be kept while nothing could be written. None of them is of a request that was sent."""

    count: int
