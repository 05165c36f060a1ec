"""Where the references inside one flat schema lead: pointers into the schema itself, and nothing else."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from bascule.core.json_types import JsonObject, is_array, is_object


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


_NOT_FLAT = frozenset({"$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"})
