"""Paginated listing of a server's tools, resources or prompts. One bad entry is set aside; an endless list is
refused."""

from typing import Any

import msgspec

from bascule.catalog.digest import fingerprint_of
from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import JsonObject, as_text, is_array, is_object

MAX_PAGES = 1000
"""Pages we ask for. A server that always has one more would keep us for ever."""

MAX_ENTRIES = 20_000
"""Tools, or other things, in one listing. The largest servers known have some hundreds."""

MAX_BYTES = 16 * 1024 * 1024
"""Size of a whole listing. Ten thousand ordinary tools take nine megabytes, and cataloguing them takes a second."""

MAX_CURSOR = 16 * 1024
"""Characters of a cursor. All of them are kept until the last page, and each is sent back; most are a short token."""

MAX_NAME = 256
"""Longest tool name, twice what the protocol allows. Longer ones would be repeated in every message about them."""

MAX_URI = 2048
"""Longest URI or template. It is compared with others, and repeated in every message about it."""

MAX_TTL = 24 * 3600.0
"""Seconds for which a list is believed to hold, whatever its server says: some count in other units."""

MAX_PROBLEMS = 100
"""Problems told in full. A list with more is not read by anyone."""

_encode = msgspec.json.Encoder().encode


class Listed(msgspec.Struct, frozen=True):
    """What is listed, and how its pages are read."""

    method: str
    field: str
    """Where a page holds its entries."""
    key: str
    """What tells an entry from the others."""
    word: str
    """One of them, in messages."""
    words: str
    longest: int = MAX_NAME


TOOLS = Listed("tools/list", "tools", "name", "tool", "tools")
RESOURCES = Listed("resources/list", "resources", "uri", "resource", "resources", MAX_URI)
TEMPLATES = Listed(
    "resources/templates/list",
    "resourceTemplates",
    "uriTemplate",
    "resource template",
    "resource templates",
    MAX_URI,
)
PROMPTS = Listed("prompts/list", "prompts", "name", "prompt", "prompts")


class Pages:
    """The pages of one listing so far. Feed every result to `add` until it gives no cursor."""

    def __init__(self, listed: Listed = TOOLS) -> None:
        self.listed = listed
        self.definitions: dict[str, JsonObject] = {}
        """Every usable definition as it came, by the server's own name for it."""
        self.fingerprints: dict[str, bytes] = {}
        """By the same names. Equal ones mean that nothing about an entry changed."""
        self.ttl: float | None = None
        """Seconds for which the server says the list holds: the least of its pages."""
        self.size = 0
        """Bytes of all definitions."""
        self._problems: list[str] = []
        self._cursors: set[str] = set()
        self._pages = 0
        self._seen = 0

    @property
    def problems(self) -> tuple[str, ...]:
        """What was set aside, and why."""
        more = len(self._problems) - MAX_PROBLEMS
        told = self._problems[:MAX_PROBLEMS]
        return (*told, f"and {more} more such problems") if more > 0 else tuple(told)

    def add(self, result: JsonObject) -> str | None:
        """Take a page. The cursor of the next one, or None after the last."""
        words = self.listed.words
        definitions = result.get(self.listed.field)
        if not is_array(definitions):
            raise ProtocolViolation(
                f"a page of {words} has no list of {words}", where="list", evidence=_glimpse(result)
            )
        self._count(len(definitions))
        for definition in definitions:
            self._take(definition)
        self._note_ttl(result.get("ttlMs"))
        return self._next(result.get("nextCursor"))

    def _count(self, entries: int) -> None:
        self._pages += 1
        self._seen += entries
        if self._seen > MAX_ENTRIES:
            raise _endless(f"the server lists more than {MAX_ENTRIES:,} {self.listed.words}")

    def _take(self, definition: Any) -> None:
        listed = self.listed
        problem = _unusable(definition, listed)
        if problem:
            self._problems.append(f"{listed.word} {self._seen_so_far()}: {problem}")
            return
        name = definition[listed.key]
        try:
            data = _encode(definition)
        except (TypeError, ValueError, RecursionError) as error:
            self._problems.append(f"{listed.word} {name!r} is not JSON: {error}")
            return
        self.size += len(data)
        if self.size > MAX_BYTES:
            raise _endless(f"the list of {listed.words} is larger than {MAX_BYTES:,} bytes")
        self._keep(name, definition, data)

    def _keep(self, name: str, definition: JsonObject, data: bytes) -> None:
        if name in self.definitions:
            self._problems.append(f"{self.listed.word} {name!r} is listed twice; the first one counts")
            return
        # Two tables, and no object for each entry: ten thousand of those would set the garbage collector off.
        self.definitions[name] = definition
        self.fingerprints[name] = fingerprint_of(data)

    def _seen_so_far(self) -> int:
        return len(self.definitions) + len(self._problems) + 1

    def _note_ttl(self, value: Any) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            # Compared first: a number of a thousand digits cannot be divided.
            seconds = value / 1000 if value < MAX_TTL * 1000 else MAX_TTL
            self.ttl = seconds if self.ttl is None else min(seconds, self.ttl)

    def _next(self, cursor: Any) -> str | None:
        # An empty cursor means the end to the servers that send one.
        if cursor is None or cursor == "":
            return None
        if not isinstance(cursor, str):
            raise ProtocolViolation(
                "the next page has a cursor that is not text", where="list", evidence=f"{cursor!r:.100}"
            )
        if len(cursor) > MAX_CURSOR:
            raise _endless(f"the next page has a cursor of {len(cursor):,} characters")
        if cursor in self._cursors:
            raise _endless("the server gave the same cursor twice, so its list would never end")
        if self._pages >= MAX_PAGES:
            raise _endless(f"the list of {self.listed.words} has more than {MAX_PAGES:,} pages")
        self._cursors.add(cursor)
        return cursor


def _unusable(definition: Any, listed: Listed) -> str:
    """Why a definition cannot be used at all, or nothing. A sloppy name will do: it is made safe when it is exposed."""
    if not is_object(definition):
        return f"a definition is not an object but {_glimpse(definition)}"
    key = listed.key
    name = as_text(definition.get(key))
    if not name:
        return f"it has no {key}"
    if len(name) > listed.longest:
        return f"its {key} has {len(name)} characters: {name[:40]}…"
    return "" if name.isprintable() else f"its {key} has characters that do not print: {name[:40]!r}"


def _endless(message: str) -> ProtocolViolation:
    return ProtocolViolation(message, where="list", fix="report this to the author of the server")


def _glimpse(value: Any) -> str:
    return f"{value!r:.100}"
