"""A call that may be sent as far as its tool and its arguments go."""

from collections.abc import Mapping

import msgspec

from bascule.catalog.entry import Entry
from bascule.core.call import ToolCall
from bascule.core.errors import InvalidArguments
from bascule.wire.jsonrpc import write_arguments


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """What was asked, the tool it means, and the arguments as they will travel."""

    entry: Entry
    call: ToolCall
    arguments: msgspec.Raw
    headers: Mapping[str, str] = {}
    """Arguments that the tool wants repeated as HTTP headers."""


def with_own_arguments(call: ToolCall) -> ToolCall:
    """The same call, out of the caller's reach. What JSON cannot say stays as it is, and is refused when checked."""
    try:
        arguments = msgspec.json.decode(write_arguments(call.arguments))
    except (InvalidArguments, msgspec.DecodeError):
        return call
    return ToolCall(call.name, arguments, call.timeout, call.on_progress)


def prepare(entry: Entry, call: ToolCall, data: bytes) -> Prepared:
    """Fix what will travel: the caller may change the arguments while the call waits. `data` is what was checked."""
    return Prepared(entry, call, msgspec.Raw(data), _headers(entry, call) if entry.headers else {})


def _headers(entry: Entry, call: ToolCall) -> Mapping[str, str]:
    from mcp.shared.inbound import mcp_param_headers  # noqa: PLC0415 -- takes a second, and hardly a tool has them

    return mcp_param_headers(entry.headers, call.arguments)
