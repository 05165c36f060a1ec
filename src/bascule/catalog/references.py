"""Where the references inside one schema lead. Only into the schema itself: nothing is ever fetched."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from bascule.core.jsonvalue import JsonObject, as_text, is_array, is_object


class SchemaRefused(Exception):
    """Why a schema must not be used. Never leaves the catalog."""


class References:
    """The references of one schema, resolved on demand."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._identity = (as_text(root.get("$id")) or "").removesuffix("#")
        self._resolved: dict[str, Any] = {}
        self._anchors: dict[str, JsonObject] | None = None

    def targets(self, place: JsonObject) -> Iterator[Any]:
        """What the references standing at a place lead to."""
        for word in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = place.get(word)
            if isinstance(reference, str) and reference:
                yield self.resolve(reference)

    def resolve(self, reference: str) -> Any:
        if reference not in self._resolved:
            self._resolved[reference] = self._follow(self._fragment(reference))
        return self._resolved[reference]

    def refuse_own_identity(self, place: JsonObject) -> None:
        """A part with an `$id` of its own changes what `#` means below it. Tools have none; an attack may."""
        identity = place.get("$id")
        if place is not self._root and isinstance(identity, str) and not identity.startswith("#"):
            raise SchemaRefused("a part of it has an `$id` of its own")

    def _fragment(self, reference: str) -> str:
        resource, _, fragment = reference.partition("#")
        if resource and resource != self._identity:
            raise SchemaRefused(f"it refers to {reference[:100]!r}, and nothing outside of it is ever fetched")
        return unquote(fragment)

    def _follow(self, fragment: str) -> Any:
        if fragment and not fragment.startswith("/"):
            return self._anchored(fragment)
        place: Any = self._root
        for step in fragment.split("/")[1:]:
            place = _step(place, step.replace("~1", "/").replace("~0", "~"))
            if is_object(place):
                self.refuse_own_identity(place)
        return place

    def _anchored(self, name: str) -> JsonObject:
        if self._anchors is None:
            self._anchors = _anchors(self._root)
        if name not in self._anchors:
            raise SchemaRefused(f"it refers to '#{name[:60]}', which it does not have")
        return self._anchors[name]


def _step(place: Any, step: str) -> Any:
    if is_object(place) and step in place:
        return place[step]
    if is_array(place) and step.isascii() and step.isdigit() and int(step[:6]) < len(place):
        return place[int(step[:6])]
    raise SchemaRefused(f"it refers to a part {step[:60]!r}, which it does not have")


def _anchors(root: JsonObject) -> dict[str, JsonObject]:
    """Every named place. A name given twice means one thing to us and maybe another to the validator."""
    found: dict[str, JsonObject] = {}
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if is_array(value):
            waiting += value
        elif is_object(value):
            waiting += value.values()
            for name in _names(value):
                if found.setdefault(name, value) is not value:
                    raise SchemaRefused(f"it names two of its parts '#{name[:60]}'")
    return found


def _names(place: JsonObject) -> Iterator[str]:
    for word in ("$anchor", "$dynamicAnchor"):
        name = place.get(word)
        if isinstance(name, str):
            yield name
    identity = place.get("$id")
    if isinstance(identity, str) and identity.startswith("#"):
        yield identity[1:]
