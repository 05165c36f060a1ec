"""Status of one server for one agent session, with its error and its notes."""

from collections.abc import Iterable
from dataclasses import dataclass

from bascule.core.errors import BasculeError, ConnectFailed, Refused, UsageError
from bascule.core.events import CatalogChanged
from bascule.core.finding import Finding
from bascule.upstream.settings import Agreement
from bascule.upstream.state import LinkState

REMOVED = "the server was removed from the configuration"
"""Why nothing comes of a request that was made before."""


@dataclass(frozen=True, slots=True)
class ServerReport:
    """A server's state with its reason. `error` is why it has no tools, `notes` what is odd but harmless."""

    name: str
    transport: str
    state: LinkState
    reason: str = ""
    agreement: Agreement | None = None
    """What was agreed on when the link opened: version, capabilities, the server's own words."""
    tools: int = 0
    seconds: float = 0.0
    """From asking for the server to knowing how it stands."""
    error: BasculeError | None = None
    notes: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    """What was put right in its tools' definitions."""
    findings: tuple[Finding, ...] = ()
    """What its instructions hide, or say to the model."""
    required: bool = False
    change: CatalogChanged | None = None
    """What its listing had become since the last run."""

    @property
    def version(self) -> str | None:
        """The protocol version that was agreed on."""
        return self.agreement.version if self.agreement is not None else None


def no_longer_there(server: str) -> ServerReport:
    """How a server stands that is not configured; it may have been removed while somebody asked for it."""
    error = UsageError(f"no server is called {server!r}", fix="`bascule list` shows those configured")
    return ServerReport(server, "", LinkState.CLOSED, error.message, error=error)


def session_ended() -> Refused:
    """Why nothing can be used on behalf of an agent session that an operator has ended."""
    return Refused(
        "an operator has ended this agent session",
        rule="session_goes_on",
        fix="go on in a new agent session, under another id",
    )


@dataclass(frozen=True, slots=True)
class LoginReport:
    """A login that was made, and how the server stands with it."""

    server: ServerReport
    issuer: str
    """The login server."""
    scope: str
    """What was granted, in the login server's words."""


def raise_for_required(reports: Iterable[ServerReport]) -> None:
    """Raises for the first `required` server that failed. One that the rules keep from a private agent session has
    not: the others go on."""
    for report in reports:
        if report.required and report.error is not None and not isinstance(report.error, Refused):
            error = report.error
            raise ConnectFailed(
                f"the required server {report.name!r} cannot be used: {error.message}",
                where=report.name,
                evidence=error.evidence,
                cause=error.cause,
                fix=error.fix,
            ) from error
