"""Views of the audit log for `bascule audit`: text for people, JSON in a stable shape."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from bascule.cli.json_output.records import AnchorShape, DamageShape, VerifyShape, WriterShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.tables import show_rows
from bascule.records.audit.damage import AuditCheck, Damage, WriterCheck
from bascule.records.audit.read import Entry
from bascule.store.audit.anchors import Anchor

_SHOWN_APART = frozenset({"user", "session", "server", "tool"})

TAIL = (
    "Records after the last anchor are in order as far as they are there; whether some were cut off behind them "
    "cannot be found out."
)


def entry_shape(entry: Entry) -> dict[str, Any]:
    """A record in its documented JSON shape."""
    return {"at": entry.at, "writer": entry.writer, "seq": entry.seq, "kind": entry.kind, **entry.fields}


def show_table(entries: Sequence[Entry]) -> None:
    from rich.text import Text  # noqa: PLC0415 -- whoever chose a name, it is printed as it is, never as markup

    rows = [[Text(legible(cell).replace("\n", "\\n")) for cell in _cells(entry)] for entry in entries]
    show_rows(("time", "record", "kind", "user/session", "server/tool", "what"), rows)


def _cells(entry: Entry) -> Iterator[str]:
    fields = entry.fields
    yield _when(entry.at)
    yield f"{entry.writer[-4:]}:{entry.seq}"
    yield entry.kind
    yield "/".join(str(fields[name]) for name in ("user", "session") if fields.get(name))
    yield "/".join(str(fields[name]) for name in ("server", "tool") if fields.get(name))
    rest = {name: value for name, value in fields.items() if name not in _SHOWN_APART}
    yield " ".join(f"{name}={_plain(value)}" for name, value in rest.items())


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return value if isinstance(value, str) else json_line(value)


def check_shape(check: AuditCheck) -> VerifyShape:
    return {
        "ok": check.ok,
        "writers": [_writer_shape(writer) for writer in check.writers],
        "damage": [_damage_shape(damage) for damage in check.damage],
        "elsewhere": check.elsewhere,
    }


def _writer_shape(check: WriterCheck) -> WriterShape:
    return {
        "writer": check.writer,
        "ok": not check.damages,
        "files": list(check.files),
        "records": check.records,
        "head": _anchor_shape(check.head),
        "proven": _anchor_shape(check.proven),
        "proven_by": check.proven_by or None,
        "after": check.after,
        "unfinished": check.unfinished,
        "damage": [_damage_shape(damage) for damage in check.damage],
        "damages": check.damages,
    }


def _anchor_shape(anchor: Anchor | None) -> AnchorShape | None:
    if anchor is None:
        return None
    text = f"{anchor.writer}:{anchor.sequence}:{anchor.mac}"
    return {"sequence": anchor.sequence, "mac": anchor.mac, "at": anchor.at, "anchor": text}


def _damage_shape(damage: Damage) -> DamageShape:
    return {
        "what": damage.what,
        "told": damage.told,
        "file": damage.file or None,
        "line": damage.line or None,
        "sequence": damage.sequence or None,
    }


def check_text(check: AuditCheck) -> str:
    lines = [line for writer in check.writers for line in _writer_lines(writer)]
    lines += [_damage_line(damage) for damage in check.damage]
    if check.elsewhere:
        lines.append(f"{check.elsewhere} anchors in the store are of other state folders, and cannot be checked here")
    if not check.writers and not check.damage:
        lines.append("nothing is logged yet")
    lines.append("DAMAGED: the log is not what was written" if not check.ok else "intact")
    if check.writers:
        lines.append(TAIL)
    return legible("\n".join(lines))


def damage_lines(check: AuditCheck) -> list[str]:
    """All that is wrong with it, a line each."""
    found = [damage for writer in check.writers for damage in writer.damage]
    return [legible(_damage_line(damage).strip()) for damage in (*check.damage, *found)]


def _writer_lines(check: WriterCheck) -> Iterator[str]:
    files = f"{len(check.files)} file{'s' if len(check.files) != 1 else ''}"
    yield f"{check.writer}: {check.records} records in {files}{', DAMAGED' if check.damages else ''}"
    yield from (_damage_line(damage) for damage in check.damage)
    if check.damages > len(check.damage):
        yield f"  … and {check.damages - len(check.damage)} more"
    yield f"  {_proven_words(check)}"
    if check.unfinished:
        yield f"  {check.unfinished} bytes of a last record that is being written, or never was whole"


def _proven_words(check: WriterCheck) -> str:
    proven = check.proven
    if proven is None:
        return "no anchor holds: nothing of it is proven"
    sources = {"store": "kept in the store", "log": "which the log tells of", "given": "which was given"}
    where = sources.get(check.proven_by, "")
    at = f" of {_when(proven.at)}" if proven.at else ""
    behind = f"{check.after} record{'s' if check.after != 1 else ''} after it"
    shown = f"{proven.writer}:{proven.sequence}:{proven.mac}"
    return f"proven up to record {proven.sequence}, by the anchor{at}, {where}; {behind}\n  anchor: {shown}"


def _damage_line(damage: Damage) -> str:
    place = ", ".join(filter(None, (damage.file, f"line {damage.line}" if damage.line else "")))
    return f"  {damage.what}: {damage.told}" + (f" ({place})" if place else "")


def _when(at: float) -> str:
    """Day and time of day, here."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""
    except (ValueError, OverflowError, OSError):
        # A damaged log may say anything.
        return "?"
