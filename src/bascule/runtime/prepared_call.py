"""Prepared request: its target is resolved and its arguments are checked, but it is not authorized yet."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from bascule.core.call import Inquiry, ToolCall
from bascule.core.errors import InvalidArguments
from bascule.core.json_types import JsonObject
from bascule.core.request import OnProgress
from bascule.core.sensitivity import Lane
from bascule.wire.input_required import without_round
from bascule.wire.jsonrpc import write_arguments

AnyCall = TypeVar("AnyCall", ToolCall, Inquiry)


class Rounds(msgspec.Struct, frozen=True):
    """How a request stands that is sent more than once: its server asks for input first, or its link was lost."""

    deadline: float
    """When all rounds must be over, by the clock that times steps."""
    limit: float
    """Seconds that they have together."""
    answered: int = 0
    """Rounds in which the server was given answers."""
    waited: int = 0
    """Rounds in a row in which it only wanted to be asked again."""


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """What will travel, and on which terms."""

    method: str
    server: str
    params: JsonObject
    timeout: float | None = None
    """Seconds; None for what is configured."""
    on_progress: OnProgress | None = None
    headers: Mapping[str, str] = {}
    """Arguments that a tool wants repeated as HTTP headers."""
    phase: str = "call"
    lane: Lane | None = None
    """The only lane that it may take, if there is but one."""
    rounds: Rounds | None = None
    """Set once it was sent, where it is to be sent again."""


def arguments_of(prepared: Prepared) -> JsonObject | None:
    """Arguments of a tool call, as they will be sent. None for any other request."""
    arguments = prepared.params.get("arguments")
    return msgspec.json.decode(arguments) if isinstance(arguments, msgspec.Raw) else None


def values_of(prepared: Prepared) -> JsonObject:
    """Everything that is sent for the caller: the arguments of a tool call, or all parameters of another request.
    Answers to questions of the server are not among them."""
    arguments = arguments_of(prepared)
    return without_round(prepared.params) if arguments is None else arguments


def with_own_arguments(call: AnyCall) -> AnyCall:
    """The same call, out of the caller's reach. What JSON cannot say stays as it is, and is refused when checked."""
    try:
        arguments = msgspec.json.decode(write_arguments(call.arguments))
    except (InvalidArguments, msgspec.DecodeError):
        return call
    return msgspec.structs.replace(call, arguments=arguments)
