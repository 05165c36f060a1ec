"""Size limit of a tool's whole reply: the texts of its content, and its structured content.

Structured content over the limit is not shortened but left out, with a preview as text in its place: a program that
counts its rows must not count those of a preview."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bascule.config.model.result_presets import Preset
from bascule.core.json_types import as_object
from bascule.result_limits.limiter import Saver, limited

WRAPPED = "result"
"""The one key under which servers put what is no object."""

COMPARED = 16 * 1024 * 1024
"""Characters of a text that is compared with the structured content. To compare it takes several times its length."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """What is shown in place of all texts and of the structured content."""

    text: str
    meta: tuple[Mapping[str, Any], ...]


def shorten(texts: Sequence[str], structured: Any, preset: Preset, save: Saver | None) -> Shortened | None:
    """None if all of it may be shown."""
    text = "\n".join(texts)
    if structured is None:
        return _one(text, preset, save)
    same = _same(text, structured)
    if same is not None:
        return _one(same, preset, save)
    if not text:
        return _one(structured, preset, save)
    return _two(text, structured, preset, save)


def _one(value: Any, preset: Preset, save: Saver | None) -> Shortened | None:
    found = limited(value, preset, save)
    return None if found is None else Shortened(found.preview, (found.meta,))


def _two(text: str, structured: Any, preset: Preset, save: Saver | None) -> Shortened | None:
    """A text that says something else has a quarter of the room, where both are too much."""
    if len(text) <= preset.characters and limited(structured, preset, None) is None:
        # A door shows one of the two.
        return None
    beside = limited(text, preset, save, preset.characters // 4)
    said = text if beside is None else beside.preview
    found = limited(structured, preset, save, preset.characters - len(said) - 2)
    if found is None:
        shown = msgspec.json.encode(structured).decode()
        return Shortened(f"{shown}\n\n{said}", () if beside is None else (beside.meta,))
    return Shortened(f"{found.preview}\n\n{said}", (found.meta, *(() if beside is None else (beside.meta,))))


def _same(text: str, structured: Any) -> Any:
    """What both say, if the text says nothing else than the structured content."""
    fields = as_object(structured)
    wrapped = fields.get(WRAPPED) if len(fields) == 1 else None
    if wrapped is not None and wrapped == text:
        return text
    if len(text) > COMPARED or text[:1] not in {"{", "["}:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    if value == structured:
        return structured
    return wrapped if wrapped is not None and value == wrapped else None
