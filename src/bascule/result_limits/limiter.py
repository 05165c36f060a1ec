"""Limiter for long results, which would fill a model's context: the whole is saved, and a preview takes its place."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bascule.config.model.result_presets import Preset
from bascule.core.errors import BasculeError
from bascule.result_limits.content_type import Kind
from bascule.result_limits.preview import Kept, Look, look_at
from bascule.result_limits.source_bytes import Whole
from bascule.result_limits.to_json import scalar

FOLDER = "/workspace/results"
"""Where wholes are saved."""

NAME_BYTES = 16
"""Random ones in a file's name: who knows one must not guess another."""

META = "dev.bascule/limited"
"""The key in `_meta` under which a program finds what a model reads in the notice."""

NOWHERE = "there is no workspace to save it in"

Saver = Callable[[str, bytes], None]
"""Takes a path under /workspace and what is to lie there. Raises where that cannot be."""


@dataclass(frozen=True, slots=True)
class Limited:
    """A result that was too long."""

    preview: str
    kept: Kept
    look: Look

    @property
    def notice(self) -> str:
        """That it is a part, for who shows it in a way of their own."""
        return self.look.notice(self.kept, "some of it")

    @property
    def meta(self) -> Mapping[str, Any]:
        whole = self.look.whole
        told = {"kind": self.look.kind.name.lower(), "characters": whole.characters, "bytes": len(whole.data)}
        return told | ({"path": self.kept.path} if self.kept.path else {"problem": self.kept.problem})


def limited(value: Any, preset: Preset, save: Saver | None, room: int | None = None) -> Limited | None:
    """None if all of it may be shown. Texts and bytes count as they are, lists and objects as they are in JSON."""
    room = preset.characters if room is None else room
    if isinstance(value, str | bytes):
        return _limited_text(value, preset, save, room)
    if not isinstance(value, Mapping | list | tuple):
        return _limited_text(scalar(value), preset, save, room)
    whole = Whole.of_value(value)
    return None if whole.characters <= room else _limited(look_at(whole, preset, value), room, save)


def _limited_text(text: str | bytes, preset: Preset, save: Saver | None, room: int) -> Limited | None:
    if len(text) <= room:
        return None
    whole = Whole.of_text(text) if isinstance(text, str) else Whole.of_bytes(text)
    return None if whole.characters <= room else _limited(look_at(whole, preset), room, save)


def _limited(look: Look, room: int, save: Saver | None) -> Limited:
    kept = _saved(look.whole.data, look.kind, save)
    return Limited(look.preview(room, kept), kept, look)


def _saved(data: bytes, kind: Kind, save: Saver | None) -> Kept:
    """Whatever goes wrong, the result is not lost with it: what can be shown of it is shown."""
    if save is None:
        return Kept(problem=NOWHERE)
    path = f"{FOLDER}/{secrets.token_hex(NAME_BYTES)}.{kind.ending}"
    try:
        save(path, data)
    except BasculeError as error:
        return Kept(problem=error.message)
    except OSError as error:
        # Its text may name a path of the host.
        return Kept(problem=error.strerror or "the disk failed")
    return Kept(path)
