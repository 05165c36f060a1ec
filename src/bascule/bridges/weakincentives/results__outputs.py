"""What calls gave, in the framework's session: a log, which a failed call neither copies nor undoes.

The framework keeps every value of a tool in a slice of its type. Before each call it writes out all slices that it may
have to restore: kept like others, a thousand results would be written out with every further call.
"""

from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from weakincentives.runtime.session import Clear, Session, SlicePolicy


@dataclass(frozen=True, slots=True)
class McpOutputsForgotten:
    """`session.dispatch(McpOutputsForgotten())` has a session forget what calls of our tools gave."""


_LOGGED: WeakKeyDictionary[Session, set[type]] = WeakKeyDictionary()
_TURN = Lock()


def keep_as_log(session: Session, kind: type) -> None:
    """Have values of this type be a log of the session. Doing so again changes nothing."""
    with _TURN:
        known = _LOGGED.setdefault(session, set())
        if kind in known:
            return
        known.add(kind)
    # A reducer of another event: those of the type itself stay the user's, or the framework's own, which keeps all.
    session[kind].register(McpOutputsForgotten, _forgotten, policy=SlicePolicy.LOG)


def _forgotten(_view: Any, _event: Any, *, context: Any) -> Clear[Any]:  # noqa: ARG001 -- all reducers are given it
    return Clear()
