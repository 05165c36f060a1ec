"""Signed state that clients hold and return: they can read it, and can neither forge nor change it (HMAC)."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import msgspec

from bascule.core.json_types import JsonObject, is_object
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keys import minting_key

PURPOSE = b"bascule: what others keep for us"
"""The key is made of the one that signs tokens, for this purpose alone: what is sealed is never taken for a token."""

LONGEST = 1024 * 1024
"""Characters of what is looked at. Nothing that was sealed is so long."""


class Seal:
    """The seal of one state folder: all runtimes that share the folder know each other's."""

    def __init__(self, state_folder: Path, clock: Callable[[], float]) -> None:
        self._folder = state_folder
        self._clock = clock

    @cached_property
    def _key(self) -> bytes:
        return hmac.digest(minting_key(KeyFiles(self._folder / FOLDER)), PURPOSE, hashlib.sha256)

    def close(self, content: JsonObject, life: float) -> str:
        """The content as text that is known again for as many seconds."""
        data = msgspec.json.encode({"until": self._clock() + life, "content": content})
        return f"{_text(data)}.{_text(self._mark(data))}"

    def open(self, sealed: str) -> JsonObject | None:
        """What was sealed. None for what was not, not by us, or too long ago."""
        if len(sealed) > LONGEST:
            return None
        body, _, mark = sealed.partition(".")
        data, given = _bytes(body), _bytes(mark)
        if data is None or given is None or not hmac.compare_digest(self._mark(data), given):
            return None
        kept = msgspec.json.decode(data)
        return kept["content"] if is_object(kept) and kept["until"] > self._clock() else None

    def _mark(self, data: bytes) -> bytes:
        return hmac.digest(self._key, data, hashlib.sha256)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes | None:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    # Only one way to write it: else one thing could be shown as several.
    return data if _text(data) == text else None
