"""Shrinking of a list or object to a smaller value of the same type, for tools with an output schema."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, cast

from bascule.config.model.result_presets import Preset
from bascule.result_limits.json_preview import DEEPEST, head_and_tail
from bascule.result_limits.source_bytes import clip
from bascule.result_limits.to_json import written

NOTICE = "_limited"
"""Under this key it says that it is a part, of what, and where the whole is."""

_TRIES = 16
_TEXT_LEAST = 16


def shrunk(value: Any, preset: Preset, notice: str) -> Any:
    """The value with less in it, within the characters of the preset when it is written as JSON.

    It tells that it is a part: an object under a key of its own; a list in its first item, which is an object where
    the others are, and a text where they are not.
    """
    for halvings in range(_TRIES):
        made = _Shrinking(preset, halvings).of(value, notice)
        if len(written(made).decode()) <= preset.characters:
            return made
    return {NOTICE: notice} if isinstance(value, Mapping) else [_told(value, notice)]


class _Shrinking:
    """One try: the same with half as much of everything as the one before."""

    def __init__(self, preset: Preset, halvings: int) -> None:
        self._preset = preset
        self._halvings = halvings
        self._text = max(_TEXT_LEAST, preset.characters >> (halvings + 1))
        # Nothing takes less than two characters, so more than these could not fit.
        self._values = preset.characters // 2

    def of(self, value: Any, notice: str) -> Any:
        if isinstance(value, Mapping):
            return {NOTICE: notice, **self._object(cast("Mapping[Any, Any]", value), 0)}
        items = cast("Sequence[Any]", value)
        return [_told(items, notice), *self._list(items, 0)]

    def _of(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0 or depth > DEEPEST:
            return "…"
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value), depth)
        if isinstance(value, list | tuple):
            return self._list(cast("Sequence[Any]", value), depth)
        return clip(value, self._text) if isinstance(value, str) else value

    def _object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        most = max(1, self._preset.keys >> self._halvings)
        return {str(key)[: self._text]: self._of(item, depth + 1) for key, item in islice(value.items(), most)}

    def _list(self, value: Sequence[Any], depth: int) -> list[Any]:
        head, tail = (number >> self._halvings for number in head_and_tail(value, self._preset))
        chosen = (*value[:head], *value[len(value) - tail :])
        return [self._of(item, depth + 1) for item in chosen]


def _told(items: Sequence[Any], notice: str) -> Any:
    return {NOTICE: notice} if items and isinstance(items[0], Mapping) else notice
