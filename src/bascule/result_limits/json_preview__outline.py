"""A list or an object in few characters: the beginning of everything, the end of lists, and how much is left out."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, cast

from bascule.config.model.result_presets import Preset
from bascule.result_limits.source_bytes import clip
from bascule.result_limits.to_json import scalar

DEEPEST = 12
"""Levels that are shown. Further down only how much there is."""

_TEXT_LEAST = 40


class _Full(Exception):
    """No more fits."""


def outline(value: Any, preset: Preset, room: int) -> str:
    """Reads like JSON, and is none where something is left out."""
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
