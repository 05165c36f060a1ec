"""What is asked in the middle of a request, and how it is answered: by a program's callbacks, as plain values."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from bascule.core.principal import Principal


class Elicitation(msgspec.Struct, frozen=True):
    """A server wants to know something of a person, or sends them to an address. Nothing here is to be trusted: the
    words are the server's."""

    server: str
    principal: Principal
    """On whose behalf the request was made that led to this."""
    message: str
    mode: Literal["form", "url"] = "form"
    schema: Mapping[str, Any] = {}
    """What is wanted, as a JSON Schema with flat properties. Empty for an address."""
    url: str = ""
    """Where the person is to go. We never go there ourselves."""
    raw: Mapping[str, Any] = {}
    """The question as it came."""


class Accept(msgspec.Struct, frozen=True):
    """The person answered, or has agreed to go. Fields that are missing get the defaults the schema names."""

    content: Mapping[str, Any] = {}


class Decline(msgspec.Struct, frozen=True):
    """The person said no."""


class Cancel(msgspec.Struct, frozen=True):
    """The person gave no answer at all."""


class Sampling(msgspec.Struct, frozen=True):
    """A server wants a model of ours to write something. The words are the server's."""

    server: str
    principal: Principal
    params: Mapping[str, Any]
    """The question as it came: `messages`, `maxTokens`, `systemPrompt` and the rest."""

    @property
    def messages(self) -> Sequence[Any]:
        return self.params.get("messages", ())


class Sampled(msgspec.Struct, frozen=True):
    """What a model wrote: a text, or a content block as the protocol has it."""

    content: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
    model: str
    stop_reason: str | None = "endTurn"


class Approval(msgspec.Struct, frozen=True):
    """A call waits for a person to agree, because the operator wants that. The arguments are the agent's, and may be
    private."""

    name: str
    """The name the caller used."""
    server: str
    tool: str
    """The server's own name for it."""
    principal: Principal
    arguments: Mapping[str, Any]
    message: str


ElicitAnswer = Accept | Decline | Cancel
OnElicit = Callable[[Elicitation], ElicitAnswer | Awaitable[ElicitAnswer]]
OnSample = Callable[[Sampling], Sampled | Awaitable[Sampled | None] | None]
"""None refuses."""
OnAsk = Callable[[Approval], bool | Awaitable[bool]]
"""True, and nothing else, lets the call go on."""
