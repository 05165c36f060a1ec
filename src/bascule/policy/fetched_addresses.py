"""Addresses (URLs) that a client or a person opens, as a way of exfiltration: the rule of a private agent session, and
the removal of what the rule does not permit from a message of a server. Pure: no I/O, no clock.

An address can carry private data in its host, path or query, and the sandbox of the server does not see the request. In
a private agent session an address stays only if the operator allows its host for confidential data (`egress.allow`).
"""

import re
from functools import lru_cache
from typing import Any

import msgspec

from bascule.config.model.egress import Egress, host_pattern
from bascule.core.json_types import JsonObject, as_array, as_object, as_text, is_array, is_object
from bascule.core.sensitivity import Lane

ELICITATION = "elicitation/create"

REMOVED = (
    "[removed by Bascule: this agent session is private, and a client may fetch the address in this part by itself]"
)
"""Text in the place of a content block. A model that reads it does not take the result for empty."""

REMOVED_URI = "urn:bascule:removed-address"
"""URI of embedded contents that had an address of the web. The protocol requires one, and no client fetches this."""

_PORTS = {"http": 80, "https": 443}

_STRICT = re.compile(r"(https?)://([a-z0-9_.-]+)(?::([0-9]{1,5}))?(?:[/?#][!-\[\]-~]*)?", re.IGNORECASE)
"""Address that every program reads alike: ASCII, no user name, no backslash, no white space. Browsers and libraries
disagree about the host of many others, such as `https://evil.test\\@allowed.test`."""

_FETCHED = re.compile(
    r"(?:[a-z0-9.-]+\+)?(?:https?|wss?|ftps?|sftp|smb|rtsps?|rtmps?|ipfs|ipns|ui):"
    r"|file:(?:[/\\]{2}[^/\\]|[/\\]{4})|[/\\]{2}",
    re.IGNORECASE,
)
"""Beginning of an address that a program may fetch without the server: a scheme of the web or of streams, a page of MCP
Apps (`ui:`), a file on another machine, or an address without a scheme. Other schemes are a server's own names for its
resources, which a client reads from the server."""

_IGNORED = re.compile(r"[\x00-\x20\x7f-\xa0]+")
"""Characters that browsers skip before an address or in its scheme."""

_LONGEST_PREFIX = 256
"""Characters of a text in which an address has to begin."""

_DEEPEST = 64
"""Levels of nesting that are searched. A message of the protocol has fewer than 12; deeper values are removed."""

_TEXTS = frozenset({"text", "message", "name", "title", "description", "statusMessage", "requestState"})
"""Members that are free text, which a model or a person reads."""

_OPAQUE = frozenset({"structuredContent", "inputSchema", "outputSchema", "requestedSchema", "input", "completion"})
"""Members with data of a tool, of a form or of a completion. None of it is a field of the protocol."""

_APPS = re.compile(r"ui(?:/.*)?|openai/.*")
"""Keys in `_meta` by which a result or a tool names its page (MCP Apps), and what that page may fetch."""

_APP_TYPE = re.compile(r"text/html\s*;.*profile\s*=\s*\"?mcp-app|text/html\+skybridge", re.IGNORECASE)
"""Media type of such a page."""

_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif|bmp|x-icon)[;,]", re.IGNORECASE)
"""Icon that is its own data. SVG is not among them: an SVG document can name further addresses."""

Found = list[str]
"""Places of the removed parts, such as `content[0].icons`."""


class AddressRule(msgspec.Struct, frozen=True):
    """Rule of one lane: the hosts and ports that may receive the data in an address."""

    hosts: re.Pattern[str] | None = None
    """None: no host at all."""
    ports: tuple[int, ...] = ()

    def permits(self, address: str) -> bool:
        found = _STRICT.fullmatch(address)
        if self.hosts is None or found is None:
            return False
        scheme, host, port = found.groups()
        number = int(port) if port else _PORTS[scheme.lower()]
        return number in self.ports and self.hosts.fullmatch(host) is not None

    def removes(self, text: str) -> bool:
        """True for an address that a client may fetch and the rule does not permit."""
        start = _IGNORED.sub("", text[:_LONGEST_PREFIX])
        return _FETCHED.match(start) is not None and not self.permits(text)


SEALED = AddressRule()

# To find a member in its enum takes Python 3.11 ten times as long as a name of the module, and every call does.
_OPEN = Lane.OPEN


def address_rule(own: Lane, lane: Lane, egress: Egress) -> AddressRule | None:
    """Rule for the outcome of a request on `lane`, in an agent session with `own` as the lane of its level. None: it is
    not private, and every address stays."""
    if own is _OPEN and lane is _OPEN:
        return None
    return SEALED if Lane.SEALED in {own, lane} else _proxied(egress)


@lru_cache(maxsize=16)
def _proxied(egress: Egress) -> AddressRule:
    return AddressRule(re.compile(rf"(?:{host_pattern(egress.allow)})", re.IGNORECASE), egress.ports)


def lacks_address(method: object, params: JsonObject) -> bool:
    """True for an elicitation by URL without its address. The answer to it is a decline."""
    return method == ELICITATION and params.get("mode") == "url" and "url" not in params


def without_addresses(message: JsonObject, rule: AddressRule, asked: str = "") -> tuple[JsonObject, tuple[str, ...]]:
    """A message without the addresses that the rule removes, and the places of these. `asked` is the URI that the
    client itself has sent, so it is not new to it. The message is not changed; the two share all parts that stay."""
    found: Found = []
    cleaned = _Cleaning(rule, asked, found).members(message, "", 0)
    return (cleaned if found else message), tuple(found)


class _Cleaning:
    """Walk through one message. The message itself is not changed. A `strict` walk leaves no address in any member."""

    def __init__(self, rule: AddressRule, asked: str, found: Found, *, strict: bool = False) -> None:
        self._rule = rule
        self._asked = asked
        self._found = found
        self._strict = strict

    def members(self, fields: JsonObject, where: str, depth: int) -> JsonObject:
        """The members of an object, without those that go."""
        kept: JsonObject = {}
        for key, value in fields.items():
            free = not self._strict and (key in _OPAQUE or (key in _TEXTS and isinstance(value, str)))
            left = value if free else self._member(key, value, f"{where}.{_shown(key)}".lstrip("."), depth)
            if left is not _GONE:
                kept[key] = left
        return kept

    def _member(self, key: str, value: Any, where: str, depth: int) -> Any:
        match key:
            case "content" | "contents":
                return self._parts(key, value, where, depth)
            case "icons":
                return self._icons(value, where)
            case "resources" | "resourceTemplates" | "elicitations" if is_array(value):
                return self._items(value, where, depth)
            case "_meta" | "inputRequests" if is_object(value):
                return self._named(key, value, where, depth)
            case "data" | "blob" if isinstance(value, str) and not {":", "."} & {*value[:_LONGEST_PREFIX]}:
                # Base64, which may begin with two slashes: that of MP3 does.
                return value
            case _:
                return self._value(value, where, depth)

    def _value(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._remove(where) if value != self._asked and self._rule.removes(value) else value
        if not isinstance(value, dict | list):
            return value
        if depth >= _DEEPEST:
            return self._remove(where)
        if is_object(value):
            return self.members(value, where, depth + 1)
        listed = [self._value(each, f"{where}[{at}]", depth + 1) for at, each in enumerate(as_array(value))]
        return [each for each in listed if each is not _GONE]

    def _named(self, key: str, fields: JsonObject, where: str, depth: int) -> JsonObject:
        """`_meta`, or the questions of a server: the keys are the server's own, and none of them is free text."""
        walk, kept = self, dict[str, Any]()
        if key == "_meta":
            walk = _Cleaning(self._rule, self._asked, self._found, strict=True)
        for name, value in fields.items():
            page, place = key == "_meta" and _APPS.fullmatch(name), f"{where}.{_shown(name)}"
            left = self._remove(place) if page else walk._value(value, place, depth + 1)
            if left is not _GONE:
                kept[name] = left
        return kept

    def _parts(self, key: str, value: Any, where: str, depth: int) -> Any:
        if is_array(value):
            return [self._part(key, each, f"{where}[{at}]", depth) for at, each in enumerate(value)]
        return self._part(key, value, where, depth) if is_object(value) else self._value(value, where, depth)

    def _part(self, key: str, part: Any, where: str, depth: int) -> Any:
        """A content block, or one of the contents of a resource. One with an address in it goes as a whole."""
        if not is_object(part) or depth >= _DEEPEST:
            left = self._value(part, where, depth)
            return REMOVED if left is _GONE else left
        if _is_page(_contents_of(key, part)):
            return self._replaced(key, part, where)
        part = self._renamed(key, part, where)
        resource, before = as_object(part.get("resource")), len(self._found)
        needed = _without(part, _LOOSE) | ({"resource": _without(resource, _LOOSE)} if resource else {})
        # Each member is walked once: a block may hold blocks, and two walks of each level would double with each.
        self.members(needed, where, depth + 1)
        if len(self._found) > before:
            del self._found[before:]
            return self._replaced(key, part, where)
        if resource:
            needed["resource"] |= self.members(_only(resource, _LOOSE), f"{where}.resource", depth + 2)
        return needed | self.members(_only(part, _LOOSE), where, depth + 1)

    def _renamed(self, key: str, part: JsonObject, where: str) -> JsonObject:
        """The part, with another URI if it holds contents under an address of the web. A client has no need to fetch
        these, but the protocol allows it to."""
        contents = _contents_of(key, part)
        uri = as_text(contents.get("uri"))
        if uri is None or uri == self._asked or not {"text", "blob"} & contents.keys() or not self._rule.removes(uri):
            return part
        self._remove(f"{where}.uri")
        other = {**contents, "uri": REMOVED_URI}
        return other if key == "contents" else {**part, "resource": other}

    def _replaced(self, key: str, part: JsonObject, where: str) -> JsonObject:
        self._remove(where)
        if key == "content":
            return {"type": "text", "text": REMOVED}
        uri = part.get("uri")
        return {"uri": uri if uri == self._asked else REMOVED_URI, "mimeType": "text/plain", "text": REMOVED}

    def _icons(self, value: Any, where: str) -> Any:
        return value if is_array(value) and all(map(self._is_harmless, value)) else self._remove(where)

    def _is_harmless(self, icon: Any) -> bool:
        fields = as_object(icon)
        source = as_text(fields.get("src")) or ""
        others = (value for value in fields.values() if isinstance(value, str))
        return bool(_PICTURE.match(source) or self._rule.permits(source)) and not any(map(self._rule.removes, others))

    def _items(self, items: list[Any], where: str, depth: int) -> list[Any]:
        """Entries of a listing, or visits that an error requires. An entry goes with its address."""
        kept: list[Any] = []
        for at, item in enumerate(items):
            fields, place = as_object(item), f"{where}[{at}]"
            addresses = (fields.get(name) for name in ("uri", "uriTemplate", "url"))
            gone = any(isinstance(address, str) and self._rule.removes(address) for address in addresses)
            left = self._remove(place) if gone else self._value(item, place, depth)
            if left is not _GONE:
                kept.append(left)
        return kept

    def _remove(self, where: str) -> object:
        self._found.append(where)
        return _GONE


_GONE = object()

_LOOSE = frozenset({"_meta", "icons", "content"})
"""Members of a content block that it can lose, or that are cleaned by themselves."""


def _shown(key: str) -> str:
    """A key of the server in the place of a finding, which is printed."""
    return key if re.fullmatch(r"[\w./-]{1,40}", key, re.ASCII) else "…"


def _without(fields: JsonObject, names: frozenset[str]) -> JsonObject:
    return {name: value for name, value in fields.items() if name not in names}


def _only(fields: JsonObject, names: frozenset[str]) -> JsonObject:
    return {name: value for name, value in fields.items() if name in names}


def _contents_of(key: str, part: JsonObject) -> JsonObject:
    return part if key == "contents" else as_object(part.get("resource"))


def _is_page(contents: JsonObject) -> bool:
    """True for a page of MCP Apps: a client shows it, and it may fetch anything."""
    uri, kind = as_text(contents.get("uri")) or "", as_text(contents.get("mimeType")) or ""
    return _IGNORED.sub("", uri[:_LONGEST_PREFIX])[:3].lower() == "ui:" or _APP_TYPE.match(kind) is not None
