"""Mapping of outcomes to MCP results and JSON-RPC errors, for clients of either era."""

from typing import Any

from bascule.core.errors import PeerRefused, UnknownResource
from bascule.core.failure_action import told
from bascule.core.json_types import JsonObject, is_object
from bascule.core.outcome import FailureKind, Result, ToolFailure
from bascule.gateway.errors import Rejected
from bascule.wire.request_meta import INTERNAL_ERROR, INVALID_PARAMS
from bascule.wire.results import FATAL_KEY, PREFIX

FAILURE_KEY = "dev.bascule/failure"
"""In the `_meta` of an error: the failure's kind and code, and whether another try can go well, for programs."""

RESOURCE_NOT_FOUND = -32002
"""What the old era answers where a resource is not there."""


def result_of(outcome: Result, *, new: bool) -> JsonObject:
    """A result as it came, with the mark of the era it goes to."""
    raw = outcome.raw
    if new:
        return raw if "resultType" in raw else {**raw, "resultType": "complete"}
    if "resultType" in raw:
        return {key: value for key, value in raw.items() if key not in {"resultType", "ttlMs", "cacheScope"}}
    return raw


def failed_call(failure: ToolFailure, *, new: bool) -> JsonObject:
    """A call that failed, as a result that a model is shown. Raises `Rejected` where the protocol has an error for it:
    a tool that is not there, and a server's own error of the protocol."""
    if failure.kind is FailureKind.UNKNOWN_TOOL:
        raise Rejected(INVALID_PARAMS, told(failure), data=_facts(failure), status=None if new else 200)
    if failure.code == PeerRefused.code:
        raise _of_peer(failure, new=new)
    words = told(failure)
    meta: JsonObject = {FAILURE_KEY: _facts(failure)}
    if failure.kind is FailureKind.FATAL:
        words = PREFIX + words
        meta[FATAL_KEY] = True
    result: JsonObject = {"content": [{"type": "text", "text": words}], "isError": True, "_meta": meta}
    if is_object(failure.cause):
        result["structuredContent"] = failure.cause
    if new:
        result["resultType"] = "complete"
    return result


def failed_request(failure: ToolFailure, *, new: bool, uri: object = None) -> Rejected:
    """Any other request that failed. These have no results that say so. `uri` is of the resource that was asked for."""
    if failure.code == PeerRefused.code:
        return _of_peer(failure, new=new)
    code, facts = INTERNAL_ERROR, _facts(failure)
    if uri is not None and failure.code == UnknownResource.code:
        facts["uri"] = uri
    if failure.kind in {FailureKind.UNKNOWN_TOOL, FailureKind.INVALID_ARGUMENTS}:
        unknown_resource = failure.code == UnknownResource.code and not new
        code = RESOURCE_NOT_FOUND if unknown_resource else INVALID_PARAMS
    return Rejected(code, told(failure), data=facts, status=None if new else 200)


def _of_peer(failure: ToolFailure, *, new: bool) -> Rejected:
    """The error of the protocol with which the server behind us answered, passed on."""
    code = failure.tool_code if isinstance(failure.tool_code, int) and failure.tool_code else INTERNAL_ERROR
    return Rejected(code, failure.message, data=failure.cause, status=None if new else 200)


def _facts(failure: ToolFailure) -> JsonObject:
    facts: dict[str, Any] = {"kind": failure.kind.value, "code": failure.code}
    for name in ("retriable", "tool_code", "retry_after"):
        value = getattr(failure, name)
        if value not in {None, ""}:
            facts[name] = value
    return facts
