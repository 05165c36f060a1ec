"""Preview of JSON: the outline of a value, or the beginning and end of a long text. A text over 256 KiB is never parsed
whole: its values would take many times its length."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast

import msgspec

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts, Shown
from bascule.result_limits.source_bytes import Whole, clip
from bascule.result_limits.to_json import scalar

DEEPEST = 12
"""Levels that are shown. Further down only how much there is."""

_TEXT_LEAST = 40


class _Full(Exception):
    """No more fits."""


def outline(value: Any, preset: Preset, room: int) -> str:
    """A list or object in few characters: the beginning of everything, the end of lists, and the number of parts left
    out. Reads like JSON, and is none where something is left out."""
    return _Outline(preset, room).of(value)


def head_and_tail(items: Sequence[Any], preset: Preset) -> tuple[int, int]:
    """How many are shown of a list, from each of its ends."""
    head, tail = (preset.head_rows, preset.tail_rows) if is_rows(items) else (preset.head_items, preset.tail_items)
    head = min(head, len(items))
    return head, min(tail, len(items) - head)


def is_rows(items: Sequence[Any]) -> bool:
    """Whether it is a list of objects, as far as both of its ends tell."""
    return bool(items) and isinstance(items[0], Mapping) and isinstance(items[-1], Mapping)


class _Outline:
    def __init__(self, preset: Preset, room: int) -> None:
        self._preset = preset
        self._room = room
        self._left = room
        self._pieces: list[str] = []

    def of(self, value: Any) -> str:
        try:
            self._write(value, 0)
        except _Full:
            return "".join(self._pieces)[: max(0, self._room - 1)] + "…"[: self._room]
        return "".join(self._pieces)

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._left -= len(text)
        if self._left < 0:
            raise _Full

    def _write(self, value: Any, depth: int) -> None:
        if isinstance(value, Mapping):
            self._write_object(cast("Mapping[Any, Any]", value), depth)
        elif isinstance(value, list | tuple):
            self._write_list(cast("Sequence[Any]", value), depth)
        elif isinstance(value, str):
            # One long text must not take the room of all the others.
            self._put(scalar(clip(value, max(_TEXT_LEAST, self._room // 3) if depth else self._room)))
        else:
            self._put(scalar(value))

    def _write_object(self, value: Mapping[Any, Any], depth: int) -> None:
        if depth >= DEEPEST and value:
            return self._put(f"{{… {_count(len(value), 'key')}}}")
        self._put("{")
        for number, (key, item) in enumerate(islice(value.items(), self._preset.keys)):
            self._put(", " if number else "")
            self._put(f"{scalar(clip(str(key), _TEXT_LEAST))}: ")
            self._write(item, depth + 1)
        more = len(value) - self._preset.keys
        return self._put(f", … {_count(more, 'more key')}}}" if more > 0 else "}")

    def _write_list(self, value: Sequence[Any], depth: int) -> None:
        if depth >= DEEPEST and value:
            return self._put(f"[… {_count(len(value), 'item')}]")
        head, tail = head_and_tail(value, self._preset)
        self._put("[")
        for number in range(head):
            self._put(", " if number else "")
            self._write(value[number], depth + 1)
        more = len(value) - head - tail
        if more > 0:
            self._put(f"{', ' if head else ''}… {more:,} more …")
        for number in range(len(value) - tail, len(value)):
            self._put(", " if number else "")
            self._write(value[number], depth + 1)
        return self._put("]")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


SHORT = 256 * 1024
"""Bytes of JSON that may be built whole. It takes some megabytes at its worst."""

GLANCE = 512 * 1024
"""Bytes at the beginning of a longer one that are looked at."""

_SPACE = re.compile(r"[ \t\r\n]*")
_DEEPEST = 50
"""Levels into which a first value is followed that does not end where we look."""

_decoder = json.JSONDecoder()


def json_parts(whole: Whole, preset: Preset) -> Parts | None:
    """None if it is no JSON, or none that can be shown as such."""
    if len(whole.data) > SHORT:
        return _long_parts(whole, preset)
    try:
        value = msgspec.json.decode(whole.data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return value_parts(value, preset)


def value_parts(value: Any, preset: Preset) -> Parts:
    """Of a list or an object."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return Parts("keys", len(fields), [_field(*each, preset) for each in islice(fields.items(), preset.keys)])
    items = cast("Sequence[Any]", value)
    head, tail = head_and_tail(items, preset)
    shown = [*items[:head], *items[len(items) - tail :]]
    units = [_item(item, preset) for item in shown]
    return Parts("rows" if is_rows(items) else "items", len(items), units[:head], units[head:])


def _item(value: Any, preset: Preset) -> Shown:
    return partial(outline, value, preset)


def _field(key: Any, value: Any, preset: Preset) -> Shown:
    def shown(room: int) -> str:
        name = f"{scalar(clip(str(key), 80))}: "
        return clip(name + outline(value, preset, max(1, room - len(name))), room)

    return shown


@dataclass(slots=True)
class _Glance:
    """How far the beginning of a long JSON text was read."""

    text: str
    at: int = 0

    def space(self) -> str:
        """The next character that is no space; nothing at the end."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """Raises ValueError where it does not end here."""
        value, self.at = _decoder.raw_decode(self.text, self.at)
        if self.at >= len(self.text):
            # A number may go on behind the end.
            raise ValueError("cut")
        return value


def _long_parts(whole: Whole, preset: Preset) -> Parts | None:
    """The first elements, and those of the first value that does not end where we look."""
    glance = _Glance(whole.sample(GLANCE))
    path, around = list[str](), list[Shown]()
    for _ in range(_DEEPEST):
        opening = glance.space()
        if opening not in {"{", "["}:
            break
        glance.at += 1
        named = opening == "{"
        most = preset.keys if named else max(preset.head_rows, preset.head_items)
        try:
            found = _elements(glance, named, most)
        except RecursionError:
            return None
        if found is None:
            return None
        if len(found) == most or (not named and found):
            return _glanced(whole, preset, found, (named, path, around))
        around += [_field(key, value, preset) for key, value in found if named]
        # The next value does not end here: what is in it?
        path.append(_into_next(glance, named))
    return _glanced(whole, preset, [], (True, [], around)) if around else None


def _elements(glance: _Glance, named: bool, most: int) -> list[tuple[Any, Any]] | None:  # noqa: FBT001
    """The first elements that end where we look. None if this is no JSON."""
    found: list[tuple[Any, Any]] = []
    while len(found) < most and glance.space() not in {"", "]", "}"}:
        start = glance.at
        try:
            key = _name(glance) if named else None
            found.append((key, glance.value()))
        except ValueError:
            glance.at = start
            break
        if glance.space() not in {",", "]", "}", ""}:
            return None
        glance.at += 1 if glance.space() == "," else 0
    return found


def _name(glance: _Glance) -> Any:
    key = glance.value()
    if glance.space() != ":":
        raise ValueError("no name")
    glance.at += 1
    glance.space()
    return key


def _into_next(glance: _Glance, named: bool) -> str:  # noqa: FBT001
    """Go to the beginning of the next value. Under which name it stands."""
    glance.space()
    if not named:
        return "[0]"
    try:
        return f".{clip(str(_name(glance)), 40)}"
    except ValueError:
        return ".?"


def _glanced(
    whole: Whole, preset: Preset, found: list[tuple[Any, Any]], where: tuple[bool, list[str], list[Shown]]
) -> Parts:
    named, path, around = where
    values = [value for _, value in found]
    if named:
        word, units = "keys", [_field(key, value, preset) for key, value in found]
    else:
        rows = is_rows(values)
        most = preset.head_rows if rows else preset.head_items
        word, units = "rows" if rows else "items", [_item(value, preset) for value in values[:most]]
    if not found:
        units, around = around, []
    inside = clip("".join(path), 60)
    tail = (max(0, len(whole.data) - 4 * preset.characters), len(whole.data))
    return Parts(f"{word} of {inside}" if inside else word, None, units, header=around, last=_ending(whole, tail))


def _ending(whole: Whole, span: tuple[int, int]) -> Shown:
    text = whole.sample(span[1] - span[0], span[0])
    return lambda room: text[max(0, len(text) - room) :] if room else ""
