"""Tracing and metrics of the MCP endpoint: each request is counted, and is a span in the trace that its client
names."""

import asyncio
import time
from typing import Any

from bascule.core.json_types import as_object, as_text
from bascule.core.trace_context import Span, TraceContext, read_trace
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.envelope import NAMED_BY, Asked
from bascule.gateway.mcp.handler import Desk, Served
from bascule.gateway.mcp.results import FAILURE_KEY
from bascule.identity.signed_state import Seal
from bascule.records.telemetry.finished import Finished
from bascule.records.telemetry.labels import KNOWN_CODES, RPC_ERROR, UNKNOWN, ServerLabels
from bascule.records.telemetry.telemetry import Telemetry
from bascule.runtime.session import AgentSession
from bascule.wire.request_meta import NEW_VERSIONS, OLD_VERSIONS, VERSION_KEY

METHODS = frozenset(
    {
        *("initialize", "ping", "logging/setLevel", "completion/complete", "server/discover", "subscriptions/listen"),
        *("tools/call", "tools/list", "prompts/get", "prompts/list"),
        *("resources/list", "resources/read", "resources/templates/list"),
        *("resources/subscribe", "resources/unsubscribe"),
        *("tasks/get", "tasks/list", "tasks/result", "tasks/update", "tasks/cancel"),
    }
)
"""What the protocol has. Clients may ask for anything, and all else is one."""

VERSIONS = frozenset({*NEW_VERSIONS, *OLD_VERSIONS})

LONGEST_ID = 64
"""Characters of a request's id that a span repeats. Clients choose them."""

TOOL_ERROR = "tool_error"
ABORTED = "aborted"
OTHER = "_OTHER"
"""A mistake of ours."""


class TracedDesk(Desk):
    """One agent session, asked by clients, while somebody looks on."""

    def __init__(self, session: AgentSession, seal: Seal, telemetry: Telemetry) -> None:
        super().__init__(session, seal)
        self._telemetry = telemetry

    async def serve(self, asked: Asked, client: Client | None = None) -> Served:
        began = time.perf_counter()
        span = self._telemetry.begin_serving(trace_of(asked))
        told = ("", "", "")
        try:
            result = await super().serve(asked, client)
        except Rejected as rejected:
            code = str(rejected.code)
            told = (code if rejected.code in KNOWN_CODES else RPC_ERROR, _kind_of(rejected.data), code)
            raise
        except asyncio.CancelledError:
            told = (ABORTED, ABORTED, "")
            raise
        except BaseException:
            told = (OTHER, "", "")
            raise
        else:
            if isinstance(result, dict) and result.get("isError") is True:
                told = (TOOL_ERROR, _kind(result.get("_meta")), "")
            return result
        finally:
            self._tell(asked, span, time.perf_counter() - began, told)

    def _tell(self, asked: Asked, span: Span, seconds: float, told: tuple[str, str, str]) -> None:
        error, failure, code = told
        method = asked.method if asked.method in METHODS else UNKNOWN
        name = self._named(asked, known=not error) if method in {"tools/call", "prompts/get"} else ""
        tool, prompt = (name, "") if method == "tools/call" else ("", name)
        version = version_of(asked)
        labels = ServerLabels(method, tool, prompt, error, version)
        ended = None
        if span.context is not None and self._telemetry.traces:
            ended = Finished(
                "server",
                method,
                span.context,
                span.parent,
                time.time(),
                seconds,
                "" if tool == UNKNOWN else tool,
                "" if prompt == UNKNOWN else prompt,
                error,
                failure,
                rpc_code=code,
                version=version,
                transport="" if asked.head is None else "http",
                request_id=str(asked.id)[:LONGEST_ID],
            )
        self._telemetry.served(span, labels, ended, seconds)

    def _named(self, asked: Asked, *, known: bool) -> str:
        """The tool or prompt that was asked for, if there is one of that name: what was served is there."""
        name = asked.params.get(NAMED_BY[asked.method])
        if not isinstance(name, str):
            return UNKNOWN
        listed = known or (asked.method == "tools/call" and self.session.toolbox.has(name))
        return name if listed else UNKNOWN


def trace_of(asked: Asked) -> TraceContext | None:
    """The trace that a request belongs to: as its `_meta` says, else its headers. Those are of the connection, and may
    be of whoever stands between."""
    found = read_trace(asked.meta.get("traceparent"), asked.meta.get("tracestate"))
    if found is not None or asked.head is None:
        return found
    return read_trace(asked.head.traceparent, asked.head.tracestate)


def version_of(asked: Asked) -> str:
    told = asked.meta.get(VERSION_KEY) or (None if asked.head is None else asked.head.version)
    return told if isinstance(told, str) and told in VERSIONS else ""


def _kind(meta: Any) -> str:
    return _kind_of(as_object(meta).get(FAILURE_KEY))


def _kind_of(facts: Any) -> str:
    return as_text(as_object(facts).get("kind")) or ""
