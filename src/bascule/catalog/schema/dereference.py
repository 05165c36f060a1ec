"""Dereferencing: makes a JSON Schema flat, with all its references as pointers into itself.

An `$id` below the top, `$anchor`, `$dynamicRef` and references to the documents of a draft all determine which part of
a schema applies where. They are resolved here, once, before anything is counted or compiled. So the schema that is
counted is the one that is checked, and no reference can be read in two ways."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from bascule.catalog.schema.cost import MAX_PLACES, MAX_SIZE
from bascule.catalog.schema.drafts import DRAFT7, DRAFT201909, DRAFT202012, OWN_URI
from bascule.catalog.schema.references import SchemaRefused, split_fragment
from bascule.catalog.schema.resources import Chapter, Chapters, Target
from bascule.catalog.schema.subschemas import with_parts
from bascule.core.json_types import JsonObject, as_array, is_object

_NOT_FLAT = re.compile(rb'"\$(?:id|anchor|dynamic|recursive|vocabulary)|"\$ref":"(?!#)')
"""What is in a schema that is not flat, written without spaces. What only looks alike is flattened for nothing."""

_NAMING = frozenset(
    {"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema", "$vocabulary", "$defs", "definitions"}
    | {"$ref", "$dynamicRef", "$recursiveRef"}
)
"""Words by which parts are named and referred to. In a flat schema they are said anew, or not needed."""

_ODD = re.compile(r"[^A-Za-z0-9_.\-]+")
_LONGEST_NAME = 60

Scope = frozenset[tuple[str, str]]
"""What dynamic names mean on the way to a place: by each, the URI of the outermost chapter that has it."""


class _Wanted(NamedTuple):
    """A part that something refers to, and the name that it has in the flat schema."""

    name: str
    target: Target
    scope: Scope


def is_flat(data: bytes) -> bool:
    """Whether a schema, as JSON without spaces, has no references but pointers into itself."""
    return _NOT_FLAT.search(data) is None


def flattened(schema: JsonObject) -> JsonObject:
    """A flat schema that takes the same values. Raises `SchemaRefused` if this one refers to another document, or if
    nobody can tell what it refers to."""
    return _Flattening(schema).whole()


class _Flattening:
    """One schema while it is made flat."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._chapters = Chapters(root)
        self._old = self._chapters.draft == DRAFT7
        self._pointers: dict[tuple[int, str, Scope], str] = {}
        self._stems: dict[str, int] = {}
        self._waiting: deque[_Wanted] = deque()
        self._defs = "definitions" if self._old else "$defs"
        self._left = MAX_PLACES
        """Places. One counts once for every meaning that the names in it can have."""
        self._made_once: set[int] = set()
        self._bytes_left = MAX_SIZE

    def whole(self) -> JsonObject:
        first = self._chapters.first
        scope = self._within(frozenset(), first)
        self._pointers[id(self._root), first.uri, scope] = "#"
        top: JsonObject = {"$schema": OWN_URI[self._chapters.draft]}
        top.update(self._made(self._root, first, scope))
        parts: JsonObject = {}
        while self._waiting:
            wanted = self._waiting.popleft()
            parts[wanted.name] = self._made(wanted.target.place, wanted.target.chapter, wanted.scope)
        return {**top, self._defs: parts} if parts else top

    def _made(self, place: Any, above: Chapter, scope: Scope) -> Any:
        """A place and all that stands in it, flat."""
        if not is_object(place):
            return place
        self._count(place)
        chapter = self._chapters.entered(place, above)
        scope = self._within(scope, chapter)
        pointers = list(self._led_to(place, chapter, scope))
        if self._old and pointers:
            return {"$ref": pointers[0]}
        silent = _NAMING | self._chapters.unsaid(place, chapter)
        said = {word: value for word, value in place.items() if word not in silent}
        flat = with_parts(said, lambda part: self._made(part, chapter, scope))
        if pointers:
            flat["$ref"] = pointers[0]
        if len(pointers) > 1:
            flat["allOf"] = [*as_array(flat.get("allOf")), *({"$ref": pointer} for pointer in pointers[1:])]
        return flat

    def _count(self, place: JsonObject) -> None:
        self._left -= 1
        if self._left < 0:
            raise SchemaRefused(f"it has more than {MAX_PLACES:,} places, with all that its references mean")
        if id(place) in self._made_once:
            # Made again, a few large ones would be more than all of it was.
            self._bytes_left -= len(msgspec.json.encode(place))
            if self._bytes_left < 0:
                raise SchemaRefused(f"it has more than {MAX_SIZE:,} bytes, with all that its references mean")
        self._made_once.add(id(place))

    def _within(self, scope: Scope, chapter: Chapter) -> Scope:
        """The scope once a chapter is entered. Whoever was first keeps a name."""
        contested = self._chapters.contested.intersection(chapter.dynamic)
        if not contested:
            return scope
        return scope.union((name, chapter.uri) for name in contested.difference(name for name, _ in scope))

    def _led_to(self, place: JsonObject, chapter: Chapter, scope: Scope) -> Iterator[str]:
        """Pointers to what the references of a place lead to, in the flat schema."""
        reference = place.get("$ref")
        if isinstance(reference, str):
            yield self._pointer(reference, self._chapters.target(reference, chapter), scope)
        reference = place.get("$dynamicRef")
        if isinstance(reference, str) and self._chapters.draft == DRAFT202012:
            target = self._chapters.target(reference, chapter)
            name = self._chapters.dynamic_name(reference, target)
            yield self._pointer(reference, self._first_so_named(name, target, scope), scope)
        if isinstance(place.get("$recursiveRef"), str) and self._chapters.draft == DRAFT201909:
            target = Target(chapter.root, chapter)
            name = self._chapters.recursive_name(chapter)
            yield self._pointer("#", self._first_so_named(name, target, scope), scope)

    def _first_so_named(self, name: str | None, target: Target, scope: Scope) -> Target:
        uri = next((uri for known, uri in scope if known == name), None)
        return target if name is None or uri is None else self._chapters.by_dynamic_name(name, uri)

    def _pointer(self, reference: str, target: Target, scope: Scope) -> str:
        within = self._within(scope, target.chapter)
        key = (id(target.place), target.chapter.uri, within)
        if key not in self._pointers:
            name = self._name(reference)
            self._pointers[key] = f"#/{self._defs}/{name}"
            self._waiting.append(_Wanted(name, target, within))
        return self._pointers[key]

    def _name(self, reference: str) -> str:
        """A name that nothing else has, like the one that the reference uses."""
        uri, fragment = split_fragment(reference)
        last = (fragment or uri.rpartition("/")[2] or uri).rpartition("/")[2].removesuffix(".json")
        stem = _ODD.sub("_", last)[-_LONGEST_NAME:].strip("_") or "part"
        count = self._stems[stem] = self._stems.get(stem, 0) + 1
        # No name is spelled with a plus, so none is numbered to what another is called.
        return stem if count == 1 else f"{stem}+{count}"
