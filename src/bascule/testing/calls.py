"""Call recorder: the tool calls of an agent in order, for tests that check its actions and not only their result."""

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, overload
from weakref import WeakSet

from bascule.catalog.typed.dump import Instance, own_arguments
from bascule.core.client_features import Respondent
from bascule.core.outcome import Outcome
from bascule.core.principal import Principal
from bascule.core.request import OnProgress
from bascule.runtime.session import AgentSession


@dataclass(slots=True)
class Call:
    """One call, from the moment in which it was made."""

    tool: str
    """The name the caller used."""
    arguments: Mapping[str, Any]
    """As they were then: what the caller does to them later is not here."""
    principal: Principal
    outcome: Outcome | None = field(default=None)
    """None while it is under way, and for good if its caller stopped waiting."""


class Calls(Sequence[Call]):
    """All calls of the agent sessions that are watched, those that were refused too, in the order of their making."""

    def __init__(self) -> None:
        self._made: list[Call] = []
        self._watched: WeakSet[AgentSession] = WeakSet()

    def watch(self, session: AgentSession) -> None:
        """Record every call that is made with this agent session from now on, whoever makes it. Twice is as once."""
        if session in self._watched:
            return
        self._watched.add(session)
        made, inner = self._made, session.call

        def call(
            name: str,
            arguments: Mapping[str, Any] | Instance | None = None,
            *,
            timeout: float | None = None,
            on_progress: OnProgress | None = None,
            respondent: Respondent | None = None,
        ) -> Coroutine[Any, Any, Outcome]:
            entry = Call(name, deepcopy(own_arguments(arguments)), session.principal)
            made.append(entry)
            return _noted(
                entry, inner(name, arguments, timeout=timeout, on_progress=on_progress, respondent=respondent)
            )

        # On the object and not around it: an agent is given the agent session itself.
        session.call = call

    @property
    def tools(self) -> list[str]:
        """The names of what was called, in order."""
        return [call.tool for call in self._made]

    def of(self, tool: str) -> list[Call]:
        return [call for call in self._made if call.tool == tool]

    def one(self, tool: str) -> Call:
        """The one call of this tool. Fails if there was none, or more."""
        found = self.of(tool)
        if len(found) != 1:
            called = ", ".join(self.tools) or "nothing"
            raise AssertionError(f"{tool} was called {len(found)} times, not once; called was: {called}")
        return found[0]

    def clear(self) -> None:
        self._made.clear()

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | Sequence[Call]:
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._made)

    def __repr__(self) -> str:
        return f"Calls({self._made!r})"


async def _noted(entry: Call, calling: Coroutine[Any, Any, Outcome]) -> Outcome:
    entry.outcome = await calling
    return entry.outcome
