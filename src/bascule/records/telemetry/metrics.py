"""Metric definitions as data: name, type, unit, labels, and the source of the numbers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.histogram import Histogram

CLIENT = (
    "mcp.method.name",
    "gen_ai.tool.name",
    "gen_ai.prompt.name",
    "error.type",
    "mcp.protocol.version",
    "network.transport",
    "bascule.server",
    "bascule.lane",
)
SERVER = ("mcp.method.name", "gen_ai.tool.name", "gen_ai.prompt.name", "error.type", "mcp.protocol.version")
SESSION = ("error.type", "bascule.server", "bascule.lane")

Series = list[tuple[tuple[str, ...], "int | Histogram"]]


class Family(msgspec.Struct, frozen=True):
    """One metric."""

    name: str
    kind: Literal["histogram", "counter", "gauge"]
    unit: str
    """`s`, or what is counted, in braces."""
    labels: tuple[str, ...]
    help: str
    read: Callable[[Counts], Series]


class Sent(msgspec.Struct):
    """How exporting fares. Written by the thread that exports."""

    spans: int = 0
    dropped: int = 0
    """Spans that came faster than they could be sent, or could not be sent at all."""
    failures: int = 0
    """Batches that the collector did not take."""


def _series(which: Callable[[Counts], Mapping[Any, Any]]) -> Callable[[Counts], Series]:
    # Copied in one step: the loop goes on counting while another thread reads.
    return lambda counts: [*which(counts).items()]


def _links(counts: Counts) -> Series:
    found: dict[tuple[str, ...], int] = {}
    for standing in counts.links():
        found[standing] = found.get(standing, 0) + 1
    return [*found.items()]


FAMILIES = (
    Family(
        "mcp.client.operation.duration",
        "histogram",
        "s",
        CLIENT,
        "Requests made of servers, from the call to its outcome.",
        _series(lambda counts: counts.client.series),
    ),
    Family(
        "mcp.server.operation.duration",
        "histogram",
        "s",
        SERVER,
        "Requests of the gateway's clients, from when they were read to their answer.",
        _series(lambda counts: counts.server.series),
    ),
    Family(
        "mcp.client.session.duration",
        "histogram",
        "s",
        SESSION,
        "Links to servers, from when they were ready to their end.",
        _series(lambda counts: counts.client_sessions.series),
    ),
    Family(
        "mcp.server.session.duration",
        "histogram",
        "s",
        (),
        "Sessions of the gateway's clients in the old era, from initialize to their last use.",
        _series(lambda counts: counts.server_sessions.series),
    ),
    Family(
        "bascule.calls.active",
        "gauge",
        "{call}",
        (),
        "Requests to servers under way.",
        lambda counts: [((), counts.active)],
    ),
    Family(
        "bascule.requests.active",
        "gauge",
        "{request}",
        (),
        "Requests of the gateway's clients under way.",
        lambda counts: [((), counts.serving)],
    ),
    Family(
        "bascule.errors",
        "counter",
        "{call}",
        ("bascule.failure.kind", "bascule.server"),
        "Requests to servers that failed, by the kind of failure.",
        _series(lambda counts: counts.errors),
    ),
    Family(
        "bascule.refusals",
        "counter",
        "{call}",
        ("bascule.rule", "bascule.server"),
        "Requests that a rule refused.",
        _series(lambda counts: counts.refusals),
    ),
    Family(
        "bascule.level.changes",
        "counter",
        "{change}",
        ("bascule.change", "bascule.level.before", "bascule.level.after"),
        "Changes of the levels of agent sessions that this runtime made: raises, declassifications, ends.",
        _series(lambda counts: counts.raises),
    ),
    Family(
        "bascule.links",
        "gauge",
        "{link}",
        ("bascule.server", "bascule.lane", "bascule.link.state"),
        "Links to servers that are there, by their state.",
        _links,
    ),
    Family(
        "bascule.link.failures",
        "counter",
        "{link}",
        ("bascule.server", "bascule.code"),
        "Links that could not be opened, or ended by themselves.",
        _series(lambda counts: counts.link_failures),
    ),
    Family(
        "bascule.link.restarts",
        "counter",
        "{link}",
        ("bascule.server",),
        "Links that were opened again after they had failed.",
        _series(lambda counts: counts.restarts),
    ),
    Family(
        "bascule.tools.quarantined",
        "counter",
        "{tool}",
        ("bascule.server",),
        "Tools that were kept from agents because they are no longer as they were approved.",
        _series(lambda counts: counts.quarantined),
    ),
    Family(
        "bascule.gateway.responses",
        "counter",
        "{response}",
        ("http.response.status_code",),
        "Answers of the gateway over HTTP, those to strangers too.",
        _series(lambda counts: counts.responses),
    ),
)
"""What is measured."""

SENT = ("bascule.telemetry.spans", "bascule.telemetry.spans.dropped", "bascule.telemetry.export.failures")


def sent_families(sent: Sent) -> Iterable[Family]:
    """How the exporting itself fares, where there is any."""
    numbers = (sent.spans, sent.dropped, sent.failures)
    units = ("{span}", "{span}", "{batch}")
    told = (
        "Spans that a collector has taken.",
        "Spans that no collector has got: they came too fast, or it could not be reached.",
        "Batches that no collector has taken.",
    )
    for name, unit, text, number in zip(SENT, units, told, numbers, strict=True):
        yield Family(name, "counter", unit, (), text, lambda _counts, number=number: [((), number)])
