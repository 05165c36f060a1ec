"""Preview of a long result: type, size, the parts that fit, and the place of the saved whole."""

from dataclasses import dataclass
from typing import Any

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts, counted, fit
from bascule.result_limits.content_type import Kind, kind_of
from bascule.result_limits.json_preview import json_parts, value_parts
from bascule.result_limits.source_bytes import Whole, clip
from bascule.result_limits.text_preview import log_parts, separated_parts, table_parts, text_parts

REASON = 200
"""Characters of the reason why something could not be saved."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the whole lies, or why it lies nowhere."""

    path: str = ""
    problem: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"The whole is in {self.path}"
        reason = clip(" ".join(self.problem.split()), REASON)
        return f"The whole could not be saved, and what is not shown here is lost: {reason}"


@dataclass(frozen=True, slots=True)
class Look:
    """A result that was looked at once: what kind it is, and what of it is to be shown."""

    whole: Whole
    kind: Kind
    parts: Parts

    def notice(self, kept: Kept, shown: str) -> str:
        parts, whole = self.parts, self.whole
        size = [f"{whole.characters:,} characters"] if whole.is_text else []
        size.append(f"{len(whole.data):,} bytes")
        size += [counted(parts.total, parts.word)] if parts.total is not None else []
        size += [parts.also] if parts.also else []
        return f"[A part of a long result: {self.kind.word}, {', '.join(size)}. Shown: {shown}. {kept}]"

    def preview(self, room: int, kept: Kept) -> str:
        """Never longer than there is room, the notice included."""
        # With every number as long as it can become.
        longest = self.notice(kept, f"the first {10**9:,} {self.parts.word}, " * 2 + self.parts.marked_word)
        fitted = fit(self.parts, room - len(longest) - 1)
        return f"{self.notice(kept, fitted.told)}\n{fitted.text}"[:room]


def look_at(whole: Whole, preset: Preset, value: Any = None) -> Look:
    """With the value itself, where it is a list or an object and no text."""
    if value is not None:
        return Look(whole, Kind.JSON, value_parts(value, preset))
    kind = kind_of(whole)
    if kind is Kind.JSON:
        parts = json_parts(whole, preset)
        kind = kind if parts is not None else Kind.TEXT
        return Look(whole, kind, parts or text_parts(whole, preset))
    return Look(whole, kind, _parts(whole, preset, kind))


def _parts(whole: Whole, preset: Preset, kind: Kind) -> Parts:
    match kind:
        case Kind.CSV | Kind.TSV:
            return separated_parts(whole, preset, kind)
        case Kind.TABLE:
            return table_parts(whole, preset)
        case Kind.LOG:
            return log_parts(whole, preset)
        case _:
            return text_parts(whole, preset)
