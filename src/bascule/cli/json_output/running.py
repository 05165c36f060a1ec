"""JSON shapes of health checks, running servers, the gateway, sandboxes, logins and tokens."""

from typing import Literal, TypedDict

from bascule.cli.json_output.answers import ErrorShape
from bascule.core.sensitivity import Lane
from bascule.upstream.state import LinkState


class CheckShape(TypedDict):
    """One thing that was looked at."""

    subject: str
    status: Literal["ok", "warn", "fail"]
    message: str
    evidence: str
    fix: str


class DoctorShape(TypedDict):
    """All that was looked at. It is `ok` where nothing failed."""

    ok: bool
    checks: list[CheckShape]


class RowShape(TypedDict):
    """How a server stands now."""

    event: Literal["server"]
    name: str
    transport: str
    state: LinkState
    reason: str
    era: str | None
    tools: int
    restarts: int
    """How often it came back after it was ready once."""
    error: ErrorShape | None
    at: float


class ConfigEventShape(TypedDict):
    """The config was edited."""

    event: Literal["config"]
    applied: bool
    added: list[str]
    removed: list[str]
    restarted: list[str]
    retuned: list[str]
    notes: list[str]
    error: ErrorShape | None
    """Why it was not applied."""
    at: float


class CatalogEventShape(TypedDict):
    """A server lists something else."""

    event: Literal["catalog"]
    server: str
    kind: Literal["tools", "resources", "prompts"]
    added: list[str]
    changed: list[str]
    removed: list[str]
    findings: list[str]
    at: float


class DashboardEventShape(TypedDict):
    """Where the dashboard is."""

    event: Literal["dashboard"]
    url: str


class EndEventShape(TypedDict):
    """It was told to stop, and then has."""

    event: Literal["stopping", "stopped"]
    at: float


class ServeShape(TypedDict):
    """The gateway, once it answers."""

    url: str
    dev: bool
    servers: int
    workers: int
    dashboard: str | None
    """Where it is opened."""


class RunShape(TypedDict):
    """A server of one's own, once it is about to answer."""

    name: str
    url: str


class ListedBoxShape(TypedDict):
    """A box."""

    name: str
    server: str
    lane: Lane
    engine: str
    seconds: float
    """Since it was made."""
    orphaned: bool
    """Whether the runtime that made it is dead."""


class LayerShape(TypedDict):
    """Packages that were fetched for a command."""

    name: str
    described: str
    pinned: bool
    size: int
    """In bytes."""
    seconds: float


class BoxesShape(TypedDict):
    """The boxes there are, and the packages that were fetched."""

    boxes: list[ListedBoxShape]
    layers: list[LayerShape]


class RemovedShape(TypedDict):
    """What was ended or deleted."""

    ok: bool
    """Whether all that was named was there."""
    removed: list[str]
    missing: list[str]


class LoginShape(TypedDict):
    """A login, and how the server stands with it."""

    ok: bool
    server: str
    user: str
    issuer: str
    scope: str
    state: LinkState
    tools: int
    error: ErrorShape | None


class LogoutShape(TypedDict):
    """What became of a login."""

    ok: Literal[True]
    server: str
    user: str
    was_logged_in: bool
    revoked: bool
    """Whether the login server has revoked the tokens."""


class TokenShape(TypedDict):
    """A token, and whom it speaks for."""

    token: str
    user: str
    session: str
    audience: str
    expires_at: float
    """Seconds since the epoch."""


class KeyShape(TypedDict):
    """With `--key`: what tokens are verified with."""

    key: str
