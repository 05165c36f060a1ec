"""Request metadata: `_meta` envelope and HTTP headers of stateless MCP, trace context, and protocol versions.

The keys and the header codec are copied from the official SDK, because its import takes a second; a test compares
both."""

import base64
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from bascule.core.json_types import JsonObject
from bascule.core.log_listener import most_talkative
from bascule.core.request import Request

NEW_VERSIONS = ("2026-07-28",)
"""Protocol versions without a handshake that we speak, oldest first."""

OLD_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions with a handshake that we speak, oldest first."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_TASKS = ("tasks/get", "tasks/update", "tasks/cancel")
_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(_TASKS, "taskId"),
}
_HEADER_SAFE = re.compile(r"[\x20-\x7E]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


class Stamp(msgspec.Struct, frozen=True):
    """How requests of one link are marked. The old era needs no envelope, the new one puts it on every request."""

    version: str
    envelope: Mapping[str, Any]
    beginning: bytes = b""
    """The envelope as it is written, up to our trace context, which comes last. Empty: it is written each time."""

    def heard_from(self, level: str) -> "Stamp":
        """The same for a request for which somebody wants to hear remarks from this level on, beside what is wanted
        anyway."""
        if not self.envelope:
            return self
        said = str(self.envelope.get(LOG_LEVEL_KEY, ""))
        wanted = most_talkative(level, said)
        return self if wanted == said else Stamp(self.version, {**self.envelope, LOG_LEVEL_KEY: wanted})

    def params_of(self, request: Request, random: Callable[[int], int]) -> JsonObject:
        """The parameters to send for a request. Most say nothing about themselves, and then only the trace context is
        written anew."""
        trace = request.trace
        if trace is not None:
            return self.params(request.params, trace.traceparent, request.capabilities, trace.state)
        own = traceparent(random)
        if not self.beginning or request.capabilities is not None or request.on_progress is not None:
            return self.params(request.params, own, request.capabilities)
        meta = msgspec.Raw(self.beginning + own.encode() + b'"}')
        return {**request.params, "_meta": meta} if request.params else {"_meta": meta}

    def params(
        self,
        params: Mapping[str, Any] | None,
        trace: str,
        capabilities: Mapping[str, Any] | None = None,
        state: str = "",
    ) -> JsonObject:
        """The parameters to send, in our trace context, and with capabilities of their own if they have such. They are
        never changed in place: the caller may hold them."""
        envelope = self.envelope
        meta = {**envelope, "traceparent": trace}
        if capabilities is not None and envelope:
            meta[CAPABILITIES_KEY] = capabilities
        if state:
            meta["tracestate"] = state
        return {**params, "_meta": meta} if params else {"_meta": meta}

    def headers(self, method: str, params: Mapping[str, Any] | None) -> Mapping[str, str]:
        """For HTTP: what the new era repeats outside of the body."""
        name = params.get(_NAMED_BY.get(method, "")) if params else None
        return _headers(self.version, method, name if isinstance(name, str) else None)


@lru_cache(maxsize=1024)
def _headers(version: str, method: str, name: str | None) -> Mapping[str, str]:
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    if name is not None:
        headers["mcp-name"] = header_value(name)
    # The same for every call of a tool, so it is made once, and nobody may change it.
    return MappingProxyType(headers)


def new_stamp(
    version: str, client_info: Mapping[str, Any], capabilities: Mapping[str, Any], log_level: str = ""
) -> Stamp:
    """`log_level` is the lowest at which the server may remark something; without it, it may not at all."""
    envelope = {VERSION_KEY: version, CLIENT_INFO_KEY: client_info, CAPABILITIES_KEY: capabilities}
    return _stamp(version, {**envelope, LOG_LEVEL_KEY: log_level} if log_level else envelope)


def old_stamp(version: str) -> Stamp:
    return _stamp(version, {})


def _stamp(version: str, envelope: Mapping[str, Any]) -> Stamp:
    written = msgspec.json.encode(envelope).removesuffix(b"}")
    return Stamp(version, envelope, written + (b"," if envelope else b"") + b'"traceparent":"')


def traceparent(random: Callable[[int], int]) -> str:
    """A W3C trace context of our own, for what belongs to no other trace. Baggage never travels upstream: it may carry
    the caller's data."""
    digits = random(184).to_bytes(23).hex()
    # The last digit of each id is ours: one of all zeros would mean none.
    return f"00-{digits[:31]}1-{digits[31:]}1-01"


def header_value(value: str) -> str:
    """A string as an HTTP header can carry it: as it is where that is safe, else in the sentinel form of base64."""
    if _HEADER_SAFE.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
