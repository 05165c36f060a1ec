"""Error hierarchy, ordered by the party at fault. An error that a caller can meet has a code, and carries its evidence,
cause and fix.

BasculeError               BSC-000  unexpected error
├── ConfigError            BSC-100  operator: the config is wrong
├── UsageError             BSC-200  caller
│   ├── UnknownTool        BSC-201
│   ├── InvalidArguments   BSC-202
│   ├── UnknownResource    BSC-203
│   └── UnknownPrompt      BSC-204
├── Refused                BSC-300  policy: a rule refused the request
│   ├── LimitReached       BSC-301
│   ├── TwinDiffers        BSC-302
│   ├── OutcomeWithheld    BSC-303
│   ├── NotWrittenDown     BSC-304
│   └── NotIdentified      BSC-305
├── PeerError              family without a code: the server, or the connection to it
│   ├── ConnectFailed      BSC-401
│   │   ├── LoginNeeded    BSC-406
│   │   │   └── LoginFailed  BSC-407
│   │   └── StartFailed    BSC-410
│   ├── ConnectionLost     BSC-402
│   │   └── LaneClosed     BSC-408
│   ├── ReplyTimeout       BSC-403
│   ├── ProtocolViolation  BSC-404
│   ├── PeerRefused        BSC-405
│   └── InputWanted        BSC-409
├── PoolTimeout            BSC-500  runtime: no link was free within the timeout
├── SandboxError           BSC-600  host: a child process or sandbox could not be made
├── WorkspaceError         BSC-610  workspace: a file of an agent session
│   ├── PathRefused        BSC-611
│   └── NoRoom             BSC-612
├── StoreError             BSC-650  store: state could not be read or written
└── PermitLost             internal signal that never leaves the runtime: decide again

`RunStopped` (BSC-700), which ends the run of an agent framework, is in `core/failure_action.py`."""

from collections.abc import Mapping
from typing import Any, ClassVar


class BasculeError(Exception):
    """A failure told as a person needs it: what, where, the evidence, the likely cause, the fix."""

    code: ClassVar[str] = "BSC-000"
    """Of what has none of its own, too. Nobody is meant to meet that; who does has met a mistake of ours."""

    def __init__(self, message: str, *, where: str = "", evidence: str = "", cause: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.evidence = evidence
        self.cause = cause
        self.fix = fix


class ConfigError(BasculeError):
    """The configuration is wrong. `problems` lists every one that was found, each with its path."""

    code = "BSC-100"

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), where: str = "", fix: str = "") -> None:
        super().__init__(message, where=where, evidence="\n".join(problems), fix=fix)
        self.problems = problems


class UsageError(BasculeError):
    """The caller asked for something that cannot be."""

    code = "BSC-200"


class UnknownTool(UsageError):
    """No exposed tool has this name. `nearest` are names that look like it."""

    code = "BSC-201"

    def __init__(self, message: str, *, nearest: tuple[str, ...] = (), fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.nearest = nearest


class InvalidArguments(UsageError):
    """The arguments do not fit the tool's input schema; nothing was sent."""

    code = "BSC-202"


class UnknownResource(UsageError):
    """It is not known which server this resource is of. `servers` are those it could be of."""

    code = "BSC-203"

    def __init__(self, message: str, *, servers: tuple[str, ...] = (), fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.servers = servers


class UnknownPrompt(UsageError):
    """No exposed prompt has this name. `nearest` are names that look like it."""

    code = "BSC-204"

    def __init__(self, message: str, *, nearest: tuple[str, ...] = (), fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.nearest = nearest


class Refused(BasculeError):
    """A rule said no. `rule` is its name."""

    code = "BSC-300"

    def __init__(self, message: str, *, rule: str, evidence: str = "", fix: str = "") -> None:
        super().__init__(message, evidence=evidence, fix=fix)
        self.rule = rule


class LimitReached(Refused):
    """A principal has as much of a server as it may have. `retry_after` are the seconds until it may have more."""

    code = "BSC-301"

    def __init__(self, message: str, *, rule: str, retry_after: int, fix: str = "") -> None:
        super().__init__(message, rule=rule, fix=fix)
        self.retry_after = retry_after


class TwinDiffers(Refused):
    """The isolated twin is another server than the one it stands for."""

    code = "BSC-302"


class OutcomeWithheld(Refused):
    """What a request brought may not be seen: how private it is could not be kept."""

    code = "BSC-303"


class NotWrittenDown(Refused):
    """The audit log could not take what must stand in it before it is done."""

    code = "BSC-304"


class NotIdentified(Refused):
    """Who asks is not known, or not believed. Nothing is done for nobody.

    `error` is what RFC 6750 calls it: `invalid_token`, `insufficient_scope`, or nothing where no token was shown.
    """

    code = "BSC-305"

    def __init__(self, message: str, *, rule: str, error: str = "", evidence: str = "", fix: str = "") -> None:
        super().__init__(message, rule=rule, evidence=evidence, fix=fix)
        self.error = error


class PeerError(BasculeError):
    """The server, or the way to it, failed. `sent` is False only if the request surely never left us."""

    sent: bool = True


class ConnectFailed(PeerError):
    """No working link could be made."""

    code = "BSC-401"
    sent = False


class LoginNeeded(ConnectFailed):
    """The server wants to know who we are first."""

    code = "BSC-406"


class LoginFailed(LoginNeeded):
    """A login was tried and came to nothing."""

    code = "BSC-407"


class StartFailed(ConnectFailed):
    """The process of a server, or the box of it, could not be made."""

    code = "BSC-410"


class ConnectionLost(PeerError):
    """The link died under the request."""

    code = "BSC-402"

    def __init__(self, message: str, *, sent: bool = True, evidence: str = "", cause: str = "", fix: str = "") -> None:
        super().__init__(message, evidence=evidence, cause=cause, fix=fix)
        self.sent = sent


class LaneClosed(ConnectionLost):
    """The request had left when its lane was closed to whoever made it. What became of it is not known."""

    code = "BSC-408"


class ReplyTimeout(PeerError):
    """The server did not answer in time. `phase` says in which part of the exchange."""

    code = "BSC-403"

    def __init__(self, message: str, *, phase: str, timeout: float, evidence: str = "", fix: str = "") -> None:
        super().__init__(message, where=phase, evidence=evidence, fix=fix)
        self.phase = phase
        self.timeout = timeout


class ProtocolViolation(PeerError):
    """The server sent what the protocol does not allow."""

    code = "BSC-404"


class PeerRefused(PeerError):
    """The server answered with an error of the protocol. Nothing of that answer is dropped."""

    code = "BSC-405"
    readable: bool = True
    """False if what came is no error of the protocol: the bare status of HTTP, or something misshapen."""

    def __init__(  # noqa: PLR0913 -- an answer has this many parts, and each must survive
        self,
        message: str,
        *,
        rpc_code: int,
        data: Any = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        phase: str = "call",
        fix: str = "",
    ) -> None:
        super().__init__(message, where=phase, fix=fix)
        self.rpc_code = rpc_code
        self.data = data
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self.phase = phase


class InputWanted(PeerError):
    """The server first wants answers, and whoever made the request gives them with its next one."""

    code = "BSC-409"


class PoolTimeout(BasculeError):
    """No link was free in time."""

    code = "BSC-500"


class SandboxError(BasculeError):
    """A child process or its box could not be made."""

    code = "BSC-600"


class WorkspaceError(BasculeError):
    """Something could not be done with a file or folder of a workspace. It is named as an agent sees it."""

    code = "BSC-610"


class PathRefused(WorkspaceError):
    """A path that leads out of the workspace, or may, or to something that is no file or folder of its own."""

    code = "BSC-611"


class NoRoom(WorkspaceError):
    """The quota of the agent session is used up, or the disk is full."""

    code = "BSC-612"


class StoreError(BasculeError):
    """State could not be read or written. `retry_after` is in seconds, where another attempt is likely to succeed."""

    code = "BSC-650"

    def __init__(
        self, message: str, *, evidence: str = "", cause: str = "", fix: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(message, evidence=evidence, cause=cause, fix=fix)
        self.retry_after = retry_after


class PermitLost(BasculeError):
    """The agent session changed between the decision and the write; nothing was written. The runtime decides again."""


def missing(what: str, extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Import error for an optional package, with the command that installs its extra. Raise it only if the
    package itself is missing: a missing dependency of it needs another fix."""
    return ModuleNotFoundError(f"{what} is not installed: pip install 'bascule[{extra}]'", name=error.name)
