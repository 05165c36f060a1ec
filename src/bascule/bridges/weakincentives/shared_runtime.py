"""Runtimes shared by several prompt sections: one event-loop thread and one set of links for each runtime."""

from collections import Counter
from collections.abc import Sequence
from threading import RLock
from weakref import WeakValueDictionary

from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.runtime import Hold, SyncRuntime
from bascule.runtime.sync.session import SyncSession


class SharedRuntime:
    """A runtime in a thread of its own, and who uses it."""

    def __init__(self, home: SyncRuntime) -> None:
        self.home = home
        self._users: Counter[Principal] = Counter()
        self._turn = RLock()

    def enter(self, principal: Principal) -> "Visit":
        """Have it run until the visit is over. Raises why it cannot."""
        with self._turn:
            hold = self.home.acquire()
            self._users[principal] += 1
            return Visit(self, hold, principal)

    def leave(self, hold: Hold, principal: Principal) -> None:
        """The links of a principal close with its last visit; the last visit of all closes the runtime."""
        with self._turn:
            self._users[principal] -= 1
            last = not +self._users
            if not last and not self._users[principal] and not hold.released:
                self.home.session(*_ids(principal)).close()
            hold.release()


class Visit:
    """One section's stay in a runtime, with the agent session that its calls are made in."""

    def __init__(self, shared: SharedRuntime, hold: Hold, principal: Principal) -> None:
        self._shared = shared
        self._hold = hold
        self._principal = principal
        self._left = False
        self.session: SyncSession = shared.home.session(*_ids(principal))

    @property
    def over(self) -> bool:
        """Also if somebody has closed the runtime for all."""
        return self._left or self._hold.released

    def leave(self) -> None:
        if not self._left:
            self._left = True
            self._shared.leave(self._hold, self._principal)


_SHARED: WeakValueDictionary[int, SharedRuntime] = WeakValueDictionary()
"""By the identity of the runtime, which lives for as long as what is shared of it."""

_TURN = RLock()


def shared(runtime: Runtime | SyncRuntime) -> SharedRuntime:
    """What all who name this runtime share."""
    inner = runtime.runtime if isinstance(runtime, SyncRuntime) else runtime
    with _TURN:
        found = _SHARED.get(id(inner))
        if found is None:
            found = SharedRuntime(runtime if isinstance(runtime, SyncRuntime) else SyncRuntime(inner))
            _SHARED[id(inner)] = found
        return found


def shared_by(servers: Sequence[ServerConfig], runtime: Runtime | SyncRuntime | None) -> SharedRuntime:
    """The runtime of a section: the one that is named, or one of its own."""
    if runtime is None:
        return shared(Runtime.from_servers(_by_name(servers)))
    found = shared(runtime)
    configured = found.home.runtime.config.servers
    strange = [server.name for server in servers if configured.get(server.name) != server]
    if strange:
        raise UsageError(
            f"the runtime does not have these servers, or has others of that name: {', '.join(strange)}",
            fix="pass those of runtime.config.servers",
        )
    return found


def _by_name(servers: Sequence[ServerConfig]) -> dict[str, ServerConfig]:
    if not servers:
        raise UsageError("a section needs servers", fix="pass servers=[ServerConfig(…)], or runtime=Runtime(…)")
    named = {server.name: server for server in servers}
    if len(named) < len(servers):
        raise UsageError("two of the servers have one name", fix="give each a name of its own")
    return named


def _ids(principal: Principal) -> tuple[str, str]:
    return principal.user_id, principal.session_id
