"""Client features of MCP (elicitation, sampling, roots) and approvals, as plain values and the types of the callbacks
that answer them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from bascule.core.principal import Principal

TASKS = "io.modelcontextprotocol/tasks"
"""The extension by which a call may be answered later, as both sides declare it."""


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


class RootsAsked(msgspec.Struct, frozen=True):
    """A server wants to know with which folders and files it is to work."""

    server: str
    principal: Principal


class Root(msgspec.Struct, frozen=True):
    """One of them, by its `file://` address."""

    uri: str
    name: str | None = None


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
OnRoots = Callable[[RootsAsked], Sequence[Root] | Awaitable[Sequence[Root] | None] | None]
"""None refuses."""
OnAsk = Callable[[Approval], bool | Awaitable[bool]]
"""True, and nothing else, lets the call go on."""


class Continued(msgspec.Struct, frozen=True):
    """What a request goes on with whose server wanted answers first, and got none yet: nothing of it is kept here."""

    server: str
    tool: str
    """What the request was about, in the server's own name."""
    state: str | None
    """The server's own."""
    questions: Mapping[str, Mapping[str, Any]]
    """What it wanted to know, each as a request with `method` and `params`."""
    answers: "Mapping[str, Respondent]"
    """Who has the answer to each. One that is not there is not answered."""
    rounds: int = 1
    """How often it has asked so far."""


class Respondent(msgspec.Struct, frozen=True):
    """Whoever answers what servers ask in the course of one request, or of all. What has no callback is not offered,
    and neither is what is said not to be."""

    on_elicit: OnElicit | None = None
    on_sample: OnSample | None = None
    on_roots: OnRoots | None = None
    forms: bool = True
    """Whether a person can be asked to fill in a form, if they can be asked at all."""
    addresses: bool = True
    """Whether they can be sent to an address."""
    tools: bool = False
    """Whether a model may be given tools by the server."""
    tasks: bool = False
    """Whether a server may answer a call with a task, after which it is asked later."""
    passes_on: bool = False
    """Whether a request whose server answers with questions ends with them (`ToolFailure.asks`), to be made again with
    the answers. What a server asks in the middle of a request is put to the callbacks all the same."""
    continued: Continued | None = None
    """Set where the request goes on with answers."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What servers are told that they may ask."""
        offered: dict[str, Any] = {}
        if self.on_elicit is not None:
            modes = (("form", self.forms), ("url", self.addresses))
            offered["elicitation"] = {mode: {} for mode, given in modes if given}
        if self.on_sample is not None:
            offered["sampling"] = {"tools": {}} if self.tools else {}
        if self.on_roots is not None:
            offered["roots"] = {}
        if self.tasks:
            offered["extensions"] = {TASKS: {}}
        return offered
