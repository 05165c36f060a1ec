"""Views of `bascule up`: a table that stays in place, a line for each change, or JSON lines."""

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from bascule.cli.json_output.running import CatalogEventShape, ConfigEventShape, EndEventShape
from bascule.cli.output.errors import as_json, explain, first_line, json_line, legible
from bascule.cli.output.tables import beneath
from bascule.cli.views.up_rows import Row, row_shape
from bascule.core.events import CatalogChanged, ConfigApplied, ConfigRejected
from bascule.upstream.state import LinkState

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

COLOURS = {
    LinkState.READY: "green",
    LinkState.DEGRADED: "yellow",
    LinkState.CONNECTING: "cyan",
    LinkState.NEEDS_AUTH: "yellow",
    LinkState.FAILED: "red",
}

_FIXED = 90
"""Columns of the table beside names: what is always there, and some for reasons."""

Told = CatalogChanged | ConfigApplied | ConfigRejected
"""What is told beside the rows."""


class View(Protocol):
    """Shows rows whenever something may have changed, and tells what else happens."""

    def rows(self, rows: Sequence[Row]) -> None: ...
    def tell(self, event: Told) -> None: ...
    def stopping(self) -> None: ...
    def stopped(self) -> None: ...


def view_for(*, as_json: bool) -> View:
    if as_json:
        return JsonView()
    return TableView() if sys.stdout.isatty() else LineView()


class Changed:
    """Which rows are others than when they were last asked for."""

    def __init__(self) -> None:
        self._last: dict[str, Row] = {}

    def of(self, rows: Iterable[Row]) -> list[Row]:
        last, self._last = self._last, {row.name: row for row in rows}
        return [row for name, row in self._last.items() if last.get(name) != row]


class JsonView:
    """One JSON object a line, each with the `event` that it tells."""

    def __init__(self) -> None:
        self._changed = Changed()

    def rows(self, rows: Sequence[Row]) -> None:
        for row in self._changed.of(rows):
            self._print(row_shape(row, time.time()))

    def tell(self, event: Told) -> None:
        self._print(told_shape(event))

    def stopping(self) -> None:
        self._end("stopping")

    def stopped(self) -> None:
        self._end("stopped")

    def _end(self, event: Literal["stopping", "stopped"]) -> None:
        shape: EndEventShape = {"event": event, "at": time.time()}
        self._print(shape)

    def _print(self, shape: object) -> None:
        print(json_line(shape), flush=True)


class LineView:
    """One line for each change, with its time."""

    def __init__(self) -> None:
        self._changed = Changed()
        self._told: dict[str, str] = {}

    def rows(self, rows: Sequence[Row]) -> None:
        for row in self._changed.of(rows):
            if row.state != LinkState.CONFIGURED:
                self._show(row)
        sys.stdout.flush()

    def _show(self, row: Row) -> None:
        told = f"{row.state:<12}{row.tools:>4} tools  {row.era or '-':<12}{row.reason}".rstrip()
        # Why a start failed is known a moment later than that it did.
        if self._told.get(row.name) != told:
            self._told[row.name] = told
            print(first_line(f"{clock(row.at)} {row.name:<20}{told}", 500))
        if row.error is not None and row.state != LinkState.CONNECTING:
            print("\n".join(f"    {line}" for line in explain(row.error).split("\n")))

    def tell(self, event: Told) -> None:
        print(told_text(event), flush=True)

    def stopping(self) -> None:
        print(f"{clock(None)} stopping", flush=True)

    def stopped(self) -> None:
        print(f"{clock(None)} stopped", flush=True)


class TableView:
    """One row for each server, drawn anew in its place. What else happens is told above it."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def rows(self, rows: Sequence[Row]) -> None:
        from rich.live import Live  # noqa: PLC0415 -- only where something is drawn

        if self._live is None:
            self._live = Live(auto_refresh=False, redirect_stderr=True)
            self._live.start()
        self._live.update(drawn(rows, self._live.console.width), refresh=True)

    def tell(self, event: Told) -> None:
        from rich.text import Text  # noqa: PLC0415 -- as above; the words are printed as they are, never as markup

        text = Text(told_text(event), "red" if isinstance(event, ConfigRejected) else "")
        if self._live is None:
            print(text.plain)
        else:
            self._live.console.print(text, soft_wrap=True)

    def stopping(self) -> None:
        if self._live is not None:
            self._live.stop()
        print("stopping; once more to end at once")

    def stopped(self) -> None:
        print("stopped")


def drawn(rows: Sequence[Row], width: int) -> "RenderableType":
    """A table, or where the terminal is too narrow for that, how each stands and beneath it why."""
    from rich.console import Group  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if width >= _FIXED + max((len(row.name) for row in rows), default=0):
        return table_of(rows)
    lines: list[Text] = []
    for row in rows:
        state = Text(row.state, COLOURS.get(LinkState(row.state), ""))
        counted = f"  {row.tools} tool{'s' * (row.tools != 1)}"
        gap = "  " if len(row.name) + len(row.state) + len(counted) + 2 <= width else "\n    "
        lines.append(Text.assemble((row.name, "bold"), gap, state, counted))
        lines += [Text(line) for line in beneath(first_line(row.reason, 200), width, "    ", "") if row.reason]
    return Group(*lines)


def table_of(rows: Iterable[Row]) -> "Table":
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, show_footer=False)
    for heading in ("server", "transport", "state", "tools", "era", "since", "restarts", "reason"):
        table.add_column(heading, no_wrap=heading != "reason", justify="right" if heading == "tools" else "left")
    for row in rows:
        state = Text(row.state, COLOURS.get(LinkState(row.state), ""))
        since = clock(row.at) if row.at is not None else ""
        cells = (str(row.tools), row.era or "-", since, str(row.restarts), first_line(row.reason, 200))
        table.add_row(Text(row.name, "bold"), row.transport, state, *map(Text, cells))
    return table


def told_shape(event: Told) -> ConfigEventShape | CatalogEventShape:
    """What happened beside the rows, in its documented JSON shape."""
    match event:
        case ConfigApplied():
            return {
                **_config_shape(event.at),
                "applied": True,
                "added": [*event.added],
                "removed": [*event.removed],
                "restarted": [*event.restarted],
                "retuned": [*event.retuned],
                "notes": [*event.notes],
            }
        case ConfigRejected():
            return {**_config_shape(event.at), "error": as_json(event.error)}
        case CatalogChanged():
            return {
                "event": "catalog",
                "server": event.server,
                "kind": event.kind,
                "added": [*event.added],
                "changed": [*event.changed],
                "removed": [*event.removed],
                "findings": [*event.findings],
                "at": event.at,
            }


def _config_shape(at: float) -> ConfigEventShape:
    """An edit of which nothing came."""
    return {
        "event": "config",
        "applied": False,
        "added": [],
        "removed": [],
        "restarted": [],
        "retuned": [],
        "notes": [],
        "error": None,
        "at": at,
    }


def told_text(event: Told) -> str:
    match event:
        case ConfigApplied():
            words = ("added", "removed", "restarted", "retuned")
            parts = [f"{word} {', '.join(getattr(event, word))}" for word in words if getattr(event, word)]
            head = f"{clock(event.at)} the config was applied: {'; '.join(parts) or 'no server changed'}"
            return legible("\n".join([head, *(f"    note: {note}" for note in event.notes)]))
        case ConfigRejected():
            head = f"{clock(event.at)} the config was edited and cannot be used; nothing was changed"
            return "\n".join([head, *(f"    {line}" for line in explain(event.error).split("\n"))])
        case CatalogChanged():
            counts = (("new", event.added), ("changed", event.changed), ("gone", event.removed))
            told = ", ".join(f"{len(names)} {word}" for word, names in counts if names)
            return legible(f"{clock(event.at)} {event.server:<20}{event.kind}: {told or 'as before'}")


def clock(at: float | None) -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))
