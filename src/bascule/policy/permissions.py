"""Permissions of tools and other requests (the operator's map decides, a server can only tighten it), and the
idempotency check before a request is sent once more."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from bascule.core.json_types import JsonObject, is_array, is_object
from bascule.core.permission import UNDECLARED, Permission
from bascule.core.tool import ASKING

DECLARED_IN = "dev.bascule/permissions"
"""The key of a definition's `_meta` under which a server says what its tool may do."""

METHODS = frozenset(
    {
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    }
)
"""Requests that are no tool calls. An entry of the map that names one speaks of it, and of no tool of that name."""

_GLOBS = frozenset("*?[")
_WORDS = {permission.value: permission for permission in Permission}
_NOTHING = frozenset[Permission]()

Word = Mapping[str, frozenset[Permission]]
"""The operator's map: classes by globs on the server's own names, or by a method."""


@dataclass(frozen=True, slots=True)
class ServerWord:
    """What the operator says of one server's tools, and what the server itself is believed about."""

    word: Word
    trust: Collection[str]

    def permissions(self, definition: JsonObject, *, approved: bool) -> frozenset[Permission]:
        """Of the tool that is defined so. `approved` says whether somebody has looked at this very definition."""
        declared = declared_permissions(definition, self.trust)
        return permissions_of(definition["name"], self.word, approved=approved, declared=declared)


def permissions_of(
    tool: str, word: Word, *, approved: bool, declared: frozenset[Permission] = _NOTHING
) -> frozenset[Permission]:
    """All entries that match, joined, and what the server declares beside them.

    That a tool only reads is believed of a name the operator wrote out, or of a definition somebody has approved: a
    pattern would else vouch for whatever a server calls by a fitting name.
    """
    matching = [_counted(name, tool, classes, approved=approved) for name, classes in word.items() if _fits(name, tool)]
    return declared.union(*matching) if matching else declared | UNDECLARED


def permissions_of_request(method: str, word: Word) -> frozenset[Permission]:
    """Of a request that is no tool call. Only the method itself names it."""
    return word.get(method, ASKING)


def declared_permissions(definition: JsonObject, trust: Collection[str]) -> frozenset[Permission]:
    """What a server says of its tool, as far as it is believed. What cannot be read counts as the worst."""
    found = _NOTHING
    if "permissions" in trust:
        found |= _declared(definition.get("_meta"))
    if "annotations" in trust:
        found |= _hinted(definition.get("annotations"))
    return found


def _fits(name: str, tool: str) -> bool:
    return name not in METHODS and (name == tool or fnmatchcase(tool, name))


def _counted(name: str, tool: str, classes: frozenset[Permission], *, approved: bool) -> frozenset[Permission]:
    # A server can call a tool by the very text of a pattern; that does not write its name out.
    exact = name == tool and _GLOBS.isdisjoint(name)
    return UNDECLARED if Permission.READ in classes and not exact and not approved else classes


def _declared(meta: Any) -> frozenset[Permission]:
    if meta is None:
        return _NOTHING
    if not is_object(meta):
        return UNDECLARED
    if DECLARED_IN not in meta:
        return _NOTHING
    words = meta[DECLARED_IN]
    if not is_array(words) or not all(isinstance(word, str) and word in _WORDS for word in words):
        return UNDECLARED
    return frozenset(_WORDS[word] for word in words)


def _hinted(hints: Any) -> frozenset[Permission]:
    """By the protocol, a tool changes things and reaches out unless its annotations say otherwise."""
    if hints is None:
        return _NOTHING
    if not is_object(hints):
        return UNDECLARED
    found = set[Permission]()
    if hints.get("readOnlyHint") is not True:
        found.add(Permission.WRITE)
    if hints.get("openWorldHint") is not False:
        found.add(Permission.CONNECT)
    return frozenset(found)


READS_ONLY = frozenset({Permission.READ})


def may_repeat(idempotent: Iterable[str], permissions: frozenset[Permission], tool: str) -> bool:
    """Whether doing it twice does no harm: it only reads, or the operator's globs name it. What a server says of its
    own tools is not asked: it would be believed about what only the operator has to bear."""
    return permissions == READS_ONLY or any(fnmatchcase(tool, pattern) for pattern in idempotent)
