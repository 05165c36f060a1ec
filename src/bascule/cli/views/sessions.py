"""Views of agent sessions and their receipts for `bascule sessions`: text for people, JSON in a stable shape."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from bascule.cli.json_output.records import DeedShape, ReceiptShape, SessionShape, SessionsShape, ShownSessionShape
from bascule.cli.output.errors import legible
from bascule.cli.output.level_messages import level_word, served
from bascule.cli.output.tables import show_rows
from bascule.core.principal import Principal
from bascule.core.receipt import Receipt
from bascule.core.sensitivity import DataSensitivity, lane_for
from bascule.store.levels.interface import SessionRecord

if TYPE_CHECKING:
    from bascule.runtime.levels.operator import Deed

_COLOURS = {DataSensitivity.CONFIDENTIAL: "yellow", DataSensitivity.SECRET: "red"}

_HEADINGS = ("user", "session", "level", "lane", "since", "datasets", "receipts", "ended", "doubt")

Counts = Mapping[Principal, int] | None
"""How many receipts there are of each agent session, if that could be read."""


def show_table(records: Sequence[SessionRecord], counts: Counts) -> None:
    from rich.text import Text  # noqa: PLC0415 -- whoever chose an id, it is printed as it is, never as markup

    rows: list[list[Text]] = []
    for record in records:
        before = (record.principal.user_id, record.principal.session_id)
        after = (lane_for(record.level).value, _when(record.since), _datasets(record), _count(record, counts))
        cells = (*after, "ended" if record.ended else "", record.doubt)
        level = Text(record.level.name, _COLOURS.get(record.level, ""))
        rows.append([*(Text(legible(cell)) for cell in before), level, *(Text(legible(cell)) for cell in cells)])
    show_rows(_HEADINGS, rows, numbers="receipts")


def listing_shape(records: Sequence[SessionRecord], counts: Counts) -> SessionsShape:
    """All of them in their documented JSON shape."""
    return {
        "sessions": [
            {**session_shape(record), "receipts": None if counts is None else counts.get(record.principal, 0)}
            for record in records
        ]
    }


def session_shape(record: SessionRecord) -> SessionShape:
    return {
        "user": record.principal.user_id,
        "session": record.principal.session_id,
        "level": level_word(record.level),
        "lane": lane_for(record.level),
        "since": record.since or None,
        "datasets": {name: level_word(level) for name, level in record.datasets.items()},
        "ended": record.ended,
        "doubt": record.doubt,
    }


def shown_shape(record: SessionRecord, receipts: Sequence[Receipt]) -> ShownSessionShape:
    return {**session_shape(record), "receipts": [receipt_shape(receipt) for receipt in receipts]}


def receipt_shape(receipt: Receipt) -> ReceiptShape:
    return {
        "number": receipt.number,
        "at": receipt.at,
        "change": receipt.change,
        "from": level_word(receipt.before),
        "to": level_word(receipt.after),
        "cause": msgspec.to_builtins(receipt.cause),
        "closed": list(receipt.closed),
        "twins": dict(receipt.twins),
        "fence": receipt.fence,
    }


def deed_shape(deed: "Deed") -> DeedShape:
    receipt = receipt_shape(deed.receipt) if deed.receipt is not None else None
    return {"ok": True, **session_shape(deed.record), "receipt": receipt, "fence": deed.fence}


def shown_text(record: SessionRecord, receipts: Sequence[Receipt]) -> str:
    """One agent session, and what has changed its level."""
    blocks = [plainly(record), *("\n".join(_receipt_lines(receipt)) for receipt in receipts)]
    if not receipts:
        blocks.append("nothing has changed its level")
    return legible("\n\n".join(blocks))


def plainly(record: SessionRecord) -> str:
    """How one agent session stands."""
    ended = ", ended" if record.ended else ""
    head = f"{record.principal} is {record.level.name}, lane {lane_for(record.level)}{ended}"
    parts = (("since", _when(record.since)), ("datasets", _datasets(record)), ("doubt", record.doubt))
    return "\n".join([head, *_labelled(parts)])


def deed_text(deed: "Deed") -> str:
    if deed.receipt is None:
        told = f"{deed.record.principal} was {deed.record.level.name} already"
        return legible("\n".join([told, *_labelled((("datasets", _datasets(deed.record)), ("fence", deed.fence)))]))
    return legible("\n".join([plainly(deed.record), *_receipt_lines(deed.receipt)]))


def _receipt_lines(receipt: Receipt) -> Iterator[str]:
    from bascule.runtime.levels.raising import in_words  # noqa: PLC0415 -- slow, and not for the options

    change = f"{receipt.change}: {receipt.before.name} → {receipt.after.name}"
    yield f"receipt {receipt.number}, {_when(receipt.at)}, {change if receipt.change != 'end' else 'end'}"
    yield from _labelled(
        (
            ("by", in_words(receipt.cause)),
            ("closed", ", ".join(receipt.closed)),
            ("served", served(receipt.twins)),
            ("fence", receipt.fence or "it is not known to be over"),
        )
    )


def _labelled(parts: Sequence[tuple[str, str]]) -> Iterator[str]:
    for label, text in parts:
        if text:
            # On one line, whatever it holds: another could pass for one of ours.
            line = text.replace("\n", "\\n")
            yield f"  {label + ':':<10}{line}"


def _datasets(record: SessionRecord) -> str:
    return ", ".join(f"{name} ({level.name})" for name, level in sorted(record.datasets.items()))


def _count(record: SessionRecord, counts: Counts) -> str:
    return "?" if counts is None else str(counts.get(record.principal, 0))


def _when(at: float) -> str:
    """Day and time of day, here. Nothing, where it is not known."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""
