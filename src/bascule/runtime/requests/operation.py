"""Operation: a kind of request as data, with its lookup, its parameters, and the reading of its response."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from bascule.core.call import Inquiry, ToolCall
from bascule.core.events import Event
from bascule.core.json_types import JsonObject
from bascule.core.outcome import Result, ToolFailure
from bascule.runtime.call_state import Trail
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.session_context import Governed, Standing


class Target(Protocol):
    """What a request turned out to be about."""

    @property
    def spec(self) -> Governed: ...


AnyCall = TypeVar("AnyCall", ToolCall, Inquiry)
AnyTarget = TypeVar("AnyTarget", bound=Target)
AnyResult = TypeVar("AnyResult", bound=Result)


@dataclass(frozen=True, slots=True)
class Operation(Generic[AnyCall, AnyTarget, AnyResult]):
    """One kind of request. The executor carries all kinds out alike, and asks this only where they differ."""

    known: Callable[[Standing, str], AnyTarget | None]
    """What a name meant before, if that still holds."""
    find: Callable[[Standing, AnyCall], Awaitable[AnyTarget]]
    """What is meant, first linking to the servers it could be of."""
    prepare: Callable[[AnyTarget, AnyCall], Prepared]
    """What will travel. Raises where the arguments do not fit; nothing was sent then."""
    read: Callable[[Standing, AnyTarget, JsonObject, Trail], AnyResult | ToolFailure]
    event: Callable[..., Event]
    """Makes the one event of a request."""
    of_tools: bool = False
    """Whether it is about tools: only of these does the operator's `tools` setting speak, and there are few enough of
    them to remember what was decided."""
    rounds: bool = True
    """Whether a server may ask for input before it answers."""
    wrapped: bool = False
    """Whether a wrapper may stand around it. Around what a wrapper itself asks for, none does."""
    passes_on: bool = True
    """Whether it may end with the questions of its server, where whoever answers wants it so. What a wrapper asks for
    may not: the wrapper could do nothing with them."""
    tasks: bool = False
    """Whether a server may answer with a task, where the caller takes that."""
    follows: bool = False
    """Whether it only asks after what another request began: a person who agreed to that is not asked again."""
    counted: bool = True
    """Whether it counts against the limits of its principal. What we ask on our own account does not."""


AnyOperation = Operation[Any, Any, Any]
