"""References in JSON Schema: resolution of pointers inside one flat schema, and of URI references (RFC 3986, section
5). Pure: nothing is fetched, and URIs are compared as written."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from bascule.core.json_types import JsonObject, is_array, is_object

_NOT_FLAT = frozenset({"$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"})


class SchemaRefused(Exception):
    """Why a schema must not be used. Never leaves the catalog."""


class References:
    """The references of one flat schema, resolved on demand."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._resolved: dict[str, Any] = {}

    def targets(self, place: JsonObject) -> Iterator[Any]:
        """What the reference standing at a place leads to."""
        reference = place.get("$ref")
        if isinstance(reference, str):
            yield self.resolve(reference)

    def resolve(self, reference: str) -> Any:
        if reference not in self._resolved:
            self._resolved[reference] = self._follow(reference)
        return self._resolved[reference]

    def _follow(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise SchemaRefused(f"it refers to {reference[:100]!r}, and nothing outside of it is ever fetched")
        pointer = unquote(reference[1:])
        if pointer and not pointer.startswith("/"):
            raise SchemaRefused(f"it refers to '#{pointer[:60]}', which it does not have")
        place: Any = self._root
        for step in pointer.split("/")[1:]:
            place = step_into(place, step.replace("~1", "/").replace("~0", "~"))
        return place


def refuse_unless_flat(place: JsonObject) -> None:
    """Words that change what references mean are read when a schema is made flat. None may come past that."""
    for word in _NOT_FLAT.intersection(place):
        if isinstance(place[word], str):
            raise SchemaRefused(f"a part of it has a `{word}`, and it was not made flat")


def step_into(place: Any, step: str) -> Any:
    """One step of a pointer."""
    if is_object(place) and step in place:
        return place[step]
    if is_array(place) and step.isascii() and step.isdigit() and int(step[:6]) < len(place):
        return place[int(step[:6])]
    raise SchemaRefused(f"it refers to a part {step[:60]!r}, which it does not have")


_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_ALLOWED = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")


class _Parts(NamedTuple):
    scheme: str | None
    authority: str | None
    path: str
    query: str | None


def is_reference(text: str) -> bool:
    """Whether a text can be a reference at all."""
    parts = _parts(text)
    # Before the first slash, a colon would end a scheme.
    misread = parts.scheme is None and parts.authority is None and ":" in parts.path.partition("/")[0]
    return not misread and _ALLOWED.fullmatch(text) is not None


def split_fragment(reference: str) -> tuple[str, str]:
    """What a reference leads to, and the fragment in it."""
    whole, _, fragment = reference.partition("#")
    return whole, fragment


def resolved(base: str, reference: str) -> str:
    """A reference beside an absolute URI as an absolute URI, without its fragment."""
    there = _parts(reference)
    if there.scheme is not None:
        return _written(there._replace(path=_without_dots(there.path)))
    here = _parts(base)
    if there.authority is not None:
        return _written(there._replace(scheme=here.scheme, path=_without_dots(there.path)))
    if not there.path:
        return _written(here._replace(query=here.query if there.query is None else there.query))
    return _written(here._replace(path=_without_dots(_merged(here, there.path)), query=there.query))


def _parts(text: str) -> _Parts:
    found = _PARTS.fullmatch(text)
    assert found is not None, "it matches every text"
    scheme, authority, path, query, _ = found.groups()
    return _Parts(scheme, authority, path or "", query)


def _merged(base: _Parts, path: str) -> str:
    if path.startswith("/"):
        return path
    if base.authority is not None and not base.path:
        return f"/{path}"
    return base.path[: base.path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    if "." not in path:
        return path
    steps = path.split("/")
    kept: list[str] = []
    for step in steps:
        if step == "..":
            # Nothing is above the top, which is the empty step before the first slash.
            if kept and kept != [""]:
                kept.pop()
        elif step != ".":
            kept.append(step)
    if steps[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept)


def _written(parts: _Parts) -> str:
    scheme = "" if parts.scheme is None else f"{parts.scheme}:"
    authority = "" if parts.authority is None else f"//{parts.authority}"
    query = "" if parts.query is None else f"?{parts.query}"
    return f"{scheme}{authority}{parts.path}{query}"
