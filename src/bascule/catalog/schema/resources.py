"""Schema resources, called chapters here: parts with a URI of their own, their anchors, and the targets of references.

A part with an `$id` changes the base of references below it. Only the document itself counts, and the documents of its
draft, which ship with the validator: nothing is ever fetched."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from bascule.catalog.digest import canonical_json
from bascule.catalog.schema.drafts import (
    DRAFT7,
    DRAFT201909,
    DRAFT202012,
    documents,
    draft_named,
    is_own_uri,
    of_draft,
    unsaid_words,
)
from bascule.catalog.schema.references import SchemaRefused, is_reference, resolved, split_fragment, step_into
from bascule.catalog.schema.subschemas import is_part, parts_of
from bascule.core.json_types import JsonObject, as_text, is_array, is_object

NOWHERE = "json-schema:///"
"""What references are relative to in a document without a URI."""

MAX_URI = 500
"""Characters of a URI. Every reference below is put together with it."""

MAX_CHAPTERS = 1000
"""Parts with a URI of their own. Whole families of standards come with a hundred."""

MAX_READ = 20_000
"""Places that are looked at for names, whether anything refers to them or not."""

MAX_CONTESTED = 32
"""Names for `$dynamicRef` that several chapters have. Each is looked up wherever a chapter is entered."""

_RECURSIVE = ""
"""What `$recursiveAnchor` names a chapter. No fragment is spelled so."""

_DYNAMIC_IN = {False: DRAFT202012, True: DRAFT201909}
"""The draft that has dynamic names, and the one that had the recursive name only."""


class Chapter:
    """A part of a schema that has a URI of its own, or the whole of it."""

    __slots__ = ("dynamic", "named", "root", "roots", "rules", "uri")

    def __init__(self, uri: str, root: JsonObject, rules: str | None) -> None:
        self.uri = uri
        self.root = root
        self.roots = {id(root)}
        """Where it stands. It may do so twice, word for word."""
        self.rules = rules
        """The `$schema` that it is written by."""
        self.named: dict[str, JsonObject | None] = {}
        """Places by their names; None where two have the same."""
        self.dynamic: dict[str, JsonObject] = {}
        """Places by those of their names that mean another thing on another way."""


class Target(NamedTuple):
    """A place that a reference leads to, and the chapter it stands in."""

    place: Any
    chapter: Chapter


class Chapters:
    """All chapters of one document."""

    def __init__(self, root: JsonObject) -> None:
        self._by_uri: dict[str, Chapter] = {}
        self._unsaid: dict[str | None, frozenset[str]] = {}
        self._leads_to: set[str] = set()
        self._read_so_far = 0
        named = as_text(root.get("$schema"))
        self.draft = draft_named(named) if named else DRAFT7 if _has_tuples(root) else DRAFT202012
        self.first = self._first(root, named)
        self._read(root, self.first)
        if any(of_draft(uri, self.draft) for uri in self._leads_to):
            for uri, document in documents(self.draft).items():
                if uri not in self._by_uri:
                    self._read(document, self._added(uri, document, None))
        self.contested = self._contested()

    def entered(self, place: JsonObject, above: Chapter) -> Chapter:
        """The chapter that a place is in: the one around it, or one that begins there."""
        uri = self._own_uri(place, above)
        if uri is None or id(place) in above.roots:
            return above
        found = self._by_uri.get(uri)
        if found is None or id(place) not in found.roots:
            raise SchemaRefused("it refers to a part with an `$id` where no schema is expected")
        return found

    def target(self, reference: str, chapter: Chapter) -> Target:
        """What a reference that stands in a chapter leads to."""
        uri, fragment = split_fragment(reference)
        if uri:
            found = self._by_uri.get(resolved(chapter.uri, uri))
            if found is None:
                raise SchemaRefused(f"it refers to {reference[:100]!r}, and nothing outside of it is ever fetched")
            chapter = found
        name = unquote(fragment)
        return self._pointed(name, chapter) if not name or name.startswith("/") else self._named(name, chapter)

    def dynamic_name(self, reference: str, target: Target) -> str | None:
        """The name by which the way here decides where a `$dynamicRef` leads, if it is a name for that."""
        name = unquote(split_fragment(reference)[1])
        return name if name and target.chapter.dynamic.get(name) is target.place else None

    def recursive_name(self, chapter: Chapter) -> str | None:
        """The same for a `$recursiveRef`."""
        return _RECURSIVE if _RECURSIVE in chapter.dynamic else None

    def by_dynamic_name(self, name: str, uri: str) -> Target:
        """What a chapter gave such a name to."""
        chapter = self._by_uri[uri]
        return Target(chapter.root, chapter) if name == _RECURSIVE else self._named(name, chapter)

    def unsaid(self, place: JsonObject, chapter: Chapter) -> frozenset[str]:
        """The words that say nothing in a place, by the rules it is written by. Rules that are elsewhere are not
        fetched either: those of the draft hold, which are stricter."""
        own = as_text(place.get("$schema"))
        if own is not None and draft_named(own) != self.draft:
            raise SchemaRefused("a part of it is written in another draft")
        rules = chapter.rules
        if rules not in self._unsaid:
            self._unsaid[rules] = self._unsaid_by(rules)
        return self._unsaid[rules]

    def _unsaid_by(self, rules: str | None) -> frozenset[str]:
        document = None if rules is None or is_own_uri(rules) else self._by_uri.get(split_fragment(rules)[0])
        vocabularies = None if document is None else document.root.get("$vocabulary")
        if not is_object(vocabularies):
            return frozenset()
        words = unsaid_words(vocabularies, self.draft)
        if isinstance(words, str):
            raise SchemaRefused(words)
        return words

    def _first(self, root: JsonObject, rules: str | None) -> Chapter:
        uri = self._own_uri(root, Chapter(NOWHERE, root, rules))
        return self._added(NOWHERE if uri is None else uri, root, rules)

    def _added(self, uri: str, root: JsonObject, rules: str | None) -> Chapter:
        if len(self._by_uri) >= MAX_CHAPTERS:
            raise SchemaRefused(f"it has more than {MAX_CHAPTERS:,} parts with an `$id`")
        found = self._by_uri[uri] = Chapter(uri, root, rules)
        return found

    def _read(self, root: JsonObject, chapter: Chapter) -> None:
        """Find the chapters below a place, and all names."""
        waiting: list[tuple[Any, Chapter]] = [(root, chapter)]
        while waiting:
            place, above = waiting.pop()
            inside = self._found(place, above) if is_object(place) else None
            if inside is None:
                continue
            self._read_so_far += 1
            if self._read_so_far > MAX_READ:
                raise SchemaRefused(f"it has more than {MAX_READ:,} places")
            _name(place, inside)
            self._note_references(place, inside)
            waiting += ((part, inside) for part in parts_of(place))

    def _found(self, place: JsonObject, above: Chapter) -> Chapter | None:
        """The chapter that a place is in, which may begin there; None if it was read where it stands first."""
        uri = None if id(place) in above.roots else self._own_uri(place, above)
        if uri is None:
            return above
        known = self._by_uri.get(uri)
        if known is None:
            return self._added(uri, place, as_text(place.get("$schema")) or above.rules)
        if canonical_json(known.root) != canonical_json(place):
            raise SchemaRefused(f"two parts of it have the `$id` {uri[:100]!r}, and are not the same")
        known.roots.add(id(place))
        return None

    def _own_uri(self, place: JsonObject, above: Chapter) -> str | None:
        identity = place.get("$id")
        # Up to draft 7, nothing counts beside a `$ref`.
        if not isinstance(identity, str) or identity.startswith("#") or (self.draft == DRAFT7 and "$ref" in place):
            return None
        uri, fragment = split_fragment(identity)
        if fragment or not is_reference(uri):
            raise SchemaRefused(f"a part of it has the `$id` {identity[:100]!r}, which is no URI of a document")
        absolute = resolved(above.uri, uri)
        if len(absolute) > MAX_URI:
            raise SchemaRefused(f"a part of it has an `$id` of more than {MAX_URI:,} characters")
        return absolute

    def _note_references(self, place: JsonObject, chapter: Chapter) -> None:
        for word in ("$ref", "$dynamicRef"):
            reference = place.get(word)
            if isinstance(reference, str) and not reference.startswith("#"):
                self._leads_to.add(resolved(chapter.uri, reference))

    def _contested(self) -> frozenset[str]:
        """The dynamic names of more than one chapter. All others mean one thing everywhere."""
        met: set[str] = set()
        twice: set[str] = set()
        for chapter in self._by_uri.values():
            names = {name for name in chapter.dynamic if self.draft == _DYNAMIC_IN[name == _RECURSIVE]}
            twice |= met & names
            met |= names
        if len(twice) > MAX_CONTESTED:
            raise SchemaRefused(f"more than {MAX_CONTESTED} dynamic names in it mean several things")
        return frozenset(twice)

    def _named(self, name: str, chapter: Chapter) -> Target:
        if name not in chapter.named:
            raise SchemaRefused(f"it refers to '#{name[:60]}', which it does not have")
        place = chapter.named[name]
        if place is None:
            raise SchemaRefused(f"it names two of its parts '#{name[:60]}'")
        return Target(place, chapter)

    def _pointed(self, pointer: str, chapter: Chapter) -> Target:
        place: Any = chapter.root
        schema, steps = place, list[str]()
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            place = step_into(place, name)
            steps.append(name)
            if is_part(schema, steps):
                schema, steps = place, []
                chapter = self.entered(place, chapter) if is_object(place) else chapter
        return Target(place, chapter)


def _name(place: JsonObject, chapter: Chapter) -> None:
    for name in set(_names(place)):
        chapter.named[name] = None if name in chapter.named else place
    dynamic = place.get("$dynamicAnchor")
    if isinstance(dynamic, str):
        chapter.dynamic[dynamic] = place
    if place.get("$recursiveAnchor") is True and place is chapter.root:
        chapter.dynamic[_RECURSIVE] = place


def _names(place: JsonObject) -> Iterator[str]:
    for word in ("$anchor", "$dynamicAnchor"):
        name = place.get(word)
        if isinstance(name, str):
            yield name
    identity = place.get("$id")
    if isinstance(identity, str) and identity.startswith("#"):
        yield identity[1:]


def _has_tuples(root: JsonObject) -> bool:
    """Whether `items` is a list somewhere, as it could be before 2020-12. Older servers write so without saying it."""
    waiting: list[Any] = [root]
    while waiting:
        place = waiting.pop()
        if is_object(place):
            if is_array(place.get("items")):
                return True
            waiting += parts_of(place)
    return False
