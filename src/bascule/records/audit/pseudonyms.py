"""Pseudonyms for texts that must not be in the audit log: a keyed hash, the same for the same text."""

import hmac
import re
from collections.abc import Collection, Mapping

from bascule.core.json_types import is_object
from bascule.core.tool import ToolSpec

_SUBKEY = b"bascule audit aliases"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,15}):")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_CODE = re.compile(r"(?=.{1,32}$)[A-Za-z]+[0-9]{0,4}(?:[_.-][A-Za-z]+[0-9]{0,4})*")
"""A short word, or some, such as `NOT_FOUND` or `E404`. A password or a token seldom looks like that."""

LONGEST_NAME = 128
"""Characters of a tool's name that are written. The protocol allows no more."""

MOST_NAMES = 4096
"""Names of arguments that are remembered as harmless. Callers can make up any number."""


class Aliases:
    """Makes aliases under one key. Without it nobody can try out which text one stands for."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, _SUBKEY, "sha256")
        self._names = {"argument", "value", "context", "cursor"}
        """Names that some tool declares, or that we use ourselves."""

    def of(self, text: str) -> str:
        digest = hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")
        return f"#{digest[:8].hex()}"

    def uri(self, uri: str) -> str:
        """The scheme, and an alias of the whole."""
        scheme = _SCHEME.match(uri)
        return f"{scheme[0].lower() if scheme else ''}{self.of(uri)}"

    def subject(self, method: str, name: str) -> str:
        """What a request is about. Tools and prompts have names; of what is read or completed, the name is the data."""
        if not method or method == "prompts/get" or method.endswith("/list"):
            return name[:LONGEST_NAME]
        return self.uri(name)

    def shapes(self, shapes: Mapping[str, str], spec: object = None) -> Mapping[str, str]:
        """The shapes of arguments, by those names that a tool declares; the others have an alias. A caller may write
        anything there. `spec` is what the request is about, where that is known."""
        names = self._names
        for name in shapes:
            if name not in names:
                return self._checked(shapes, _declared(spec))
        return shapes

    def _checked(self, shapes: Mapping[str, str], declared: Collection[str]) -> Mapping[str, str]:
        good = {name for name in shapes if name in declared and _NAME.fullmatch(name)}
        if len(self._names) + len(good) <= MOST_NAMES:
            self._names |= good
        good |= self._names
        return {name if name in good else self.of(name): shape for name, shape in shapes.items()}


def _declared(spec: object) -> Collection[str]:
    properties = spec.input_schema.get("properties") if isinstance(spec, ToolSpec) else None
    return properties if is_object(properties) else ()


def short_code(code: object) -> str | int | float | None:
    """A tool's own error code, if it is a number or a short word."""
    if isinstance(code, int | float):
        return code
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None
