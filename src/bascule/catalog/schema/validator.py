"""JSON Schema validation in bounded time. A schema is compiled at its first use."""

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Never
from weakref import WeakValueDictionary

import msgspec

from bascule.catalog.schema.cost import MAX_HEIGHT, MAX_SIZE, Bound, bound_of, match_of
from bascule.catalog.schema.dereference import flattened, is_flat
from bascule.catalog.schema.drafts import DRAFT7, DRAFT202012, draft_named
from bascule.catalog.schema.references import SchemaRefused
from bascule.catalog.schema.regex_cost import MAX_TRIES
from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import JsonObject, as_object, is_array, is_object
from bascule.wire.json_limits import MAX_DEPTH, nests_deeper_than

if TYPE_CHECKING:
    import jsonschema_rs

MAX_STEPS = 4_000_000
"""Steps of one check: some 15 milliseconds."""

MAX_MATCHING = 12_000_000
"""Nanoseconds that matching regular expressions may take in one check."""

_REACHING = 5
"""Steps of getting at each part of a value."""

MAX_TURNS = 64
"""Deepest value for a recursive schema. Each level may take a hundred frames of a stack that we cannot measure."""

REGEX_SIZE = 8 * 1024 * 1024
"""Bytes of a compiled regular expression."""

_AWKWARD = 10**15
"""Integers from here on, and fractions of such size, are compared by slow exact arithmetic and hash alike."""
_TOO_LONG = 10**100
"""Integers from here on take too long to compare even once."""
_AWKWARD_FACTOR = 64
"""How much slower a check gets by awkward numbers."""

_encode = msgspec.json.Encoder().encode
_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))
_FIFTEEN_DIGITS = b"0" * 15
NOT_JSON = (TypeError, ValueError, RecursionError)
"""What encoding raises for a value that JSON cannot say."""


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with a value: where (empty for the whole), and what. Values are never repeated at length."""

    path: str
    message: str


class _Compiled:
    """What a schema is checked by."""

    __slots__ = ("__weakref__", "accepts")

    def __init__(self, accepts: Callable[[Any], bool]) -> None:
        self.accepts = accepts


_in_use: WeakValueDictionary[bytes, _Compiled] = WeakValueDictionary()
"""By the digest of the schema. The smallest takes eight kilobytes, a server lists the same for everyone, and many tools
take the same: what every call goes through had better be little."""


class Validator:
    """A schema ready to be checked against. Only for flat schemas that have a bound."""

    __slots__ = ("_accepts", "_compiled", "_match_by_member", "_small", "bound", "schema")

    def __init__(self, schema: JsonObject, bound: Bound) -> None:
        self.schema = schema
        self.bound = bound
        self._accepts: Callable[[Any], bool] | None = None
        self._compiled: _Compiled | None = None
        self._match_by_member: dict[str, int] = {}
        # A value of this many bytes is within every limit, whatever it holds: a level takes two bytes, a part two.
        self._small = min(2 * self.depth, 2 * MAX_STEPS // self._steps(1), MAX_MATCHING // max(bound.match, 1))

    @property
    def depth(self) -> int:
        return MAX_TURNS if self.bound.recursive else MAX_DEPTH

    def is_valid(self, value: Any) -> bool:
        """Whether a value fits, and is small enough for us to find out. Raises `ProtocolViolation` for a bad schema."""
        try:
            data = _encode(value)
        except NOT_JSON:
            return False
        return self.fits(value, data)

    def fits(self, value: Any, data: bytes) -> bool:
        """The same, for a value that is at hand as text too."""
        if len(data) > self._small and self._excess(value, data):
            return False
        accepts = self._accepts or self.compile()
        try:
            return accepts(value)
        except BaseException as error:
            if _cannot_take(error):
                return False
            raise

    def excess(self, value: Any) -> str:
        """Why a value cannot be checked at all, or nothing."""
        try:
            data = _encode(value)
        except RecursionError:
            return f"nests deeper than {self.depth} levels"
        except NOT_JSON as error:
            return f"is not JSON: {error}"
        return self._excess(value, data)

    def compile(self) -> Callable[[Any], bool]:
        made_of = blake2b(_encode(self.schema), digest_size=32).digest()
        found = _in_use.get(made_of)
        if found is None:
            found = _in_use[made_of] = _Compiled(compiled(self.schema, self.bound).is_valid)
        self._compiled, self._accepts = found, found.accepts
        return found.accepts

    def spare(self, value: Any) -> int:
        """How many times over a value can be checked within the limits."""
        data = _encode(value)
        return min(MAX_STEPS // self._steps(_parts(data)), MAX_MATCHING // max(len(data) * self.bound.match, 1))

    def _steps(self, parts: int) -> int:
        return parts * (self.bound.visits + _REACHING)

    def _excess(self, value: Any, data: bytes) -> str:
        if nests_deeper_than(data, self.depth):
            return f"nests deeper than {self.depth} levels"
        steps = self._steps(_parts(data))
        if steps > MAX_STEPS:
            return "holds too many values to be checked against its schema"
        if self.bound.numbers and self._has_slow_numbers(value, data, few=steps * _AWKWARD_FACTOR <= MAX_STEPS):
            return "holds numbers that take too long to check against its schema"
        if len(data) * self.bound.match > MAX_MATCHING and self._matching(value) > MAX_MATCHING:
            return "holds too much text to be matched against the patterns of its schema"
        return ""

    def _has_slow_numbers(self, value: Any, data: bytes, *, few: bool) -> bool:
        digits = data.translate(_DIGITS)
        if _FIFTEEN_DIGITS not in digits and b"0e" not in digits and not (self.bound.options and b"0." in digits):
            return False
        # They may stand in a string, which takes nothing.
        waiting: list[Any] = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, int):
                if abs(part) >= (_TOO_LONG if few else _AWKWARD):
                    return True
            elif isinstance(part, float):
                if not few and part and (self.bound.options or not 1e-6 <= abs(part) < _AWKWARD):
                    return True
            else:
                waiting += part.values() if is_object(part) else part if is_array(part) else ()
        return False

    def _matching(self, value: Any) -> int:
        """Nanoseconds of matching, member by member: a long text without a pattern must not count for one with."""
        members = as_object(self.schema.get("properties"))
        if self.bound.recursive or not _BY_MEMBER.issuperset(self.schema) or not is_object(value):
            return MAX_MATCHING + 1
        return sum(
            len(_encode(part)) * self._member_match(name, members[name])
            for name, part in value.items()
            if name in members
        )

    def _member_match(self, name: str, place: Any) -> int:
        if name not in self._match_by_member:
            self._match_by_member[name] = match_of(self.schema, place)
        return self._match_by_member[name]


_BY_MEMBER = frozenset(
    {"type", "properties", "required", "$defs", "definitions", "$schema", "$id", "title", "description", "examples"}
)
"""With no other words at its top, a schema checks each member on its own."""


def validator_of(schema: JsonObject) -> Validator | str:
    """What values are checked against, not compiled yet; or why a schema must not be used."""
    try:
        data = _encode(schema)
        # One that is too large is refused for that, and not read before.
        flat = schema if len(data) > MAX_SIZE or is_flat(data) else flattened(schema)
    except SchemaRefused as refused:
        return str(refused)
    except RecursionError:
        return f"it nests deeper than {MAX_HEIGHT} levels"
    except (TypeError, ValueError) as error:
        return f"it cannot be read: {error}"
    bound = bound_of(flat, len(data) if flat is schema else None)
    return bound if isinstance(bound, str) else Validator(flat, bound)


def compile_schema(schema: JsonObject) -> Validator:
    """A validator, compiled at once. Raises `ProtocolViolation` if the schema is too costly or no schema at all."""
    validator = validator_of(schema)
    if isinstance(validator, str):
        raise ProtocolViolation(f"a schema cannot be used: {validator}")
    validator.compile()
    return validator


def compiled(
    schema: JsonObject, bound: Bound, registry: "jsonschema_rs.Registry | None" = None, *, draft: str | None = None
) -> "jsonschema_rs.Validator":
    """The library's validator, which fetches nothing, asserts no formats, and matches in bounded time."""
    import jsonschema_rs  # noqa: PLC0415 -- 20 ms, and a runtime that calls nothing never needs it

    kind = getattr(jsonschema_rs, draft or draft_of(schema, bound))
    try:
        return kind(
            schema,
            validate_formats=False,
            retriever=_refuse_to_fetch,
            registry=registry,
            pattern_options=_pattern_options(bound),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ProtocolViolation(
            f"a schema is not valid JSON Schema: {_first_line(error)}", fix="report this to the author of the server"
        ) from None
    except BaseException as error:
        if _is_panic(error):
            raise ProtocolViolation("a schema broke the validator", evidence=str(error)[:200]) from None
        raise


def registry_of(schema: JsonObject, uri: str, draft: str) -> "jsonschema_rs.Registry":
    """The schema under a name, so that its parts can be referred to from outside."""
    import jsonschema_rs  # noqa: PLC0415 -- as above

    kind: int = getattr(jsonschema_rs, draft.removesuffix("Validator"))
    try:
        return jsonschema_rs.Registry([(uri, schema)], draft=kind, retriever=_refuse_to_fetch)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ProtocolViolation(f"a schema cannot be referred to: {_first_line(error)}") from None


def draft_of(schema: JsonObject, bound: Bound) -> str:
    """The library's name for the draft a schema is written in. What it does not say, or we do not know, is 2020-12."""
    named = schema.get("$schema")
    if isinstance(named, str):
        return draft_named(named)
    # Older servers write tuples as they were before 2020-12 without saying so.
    return DRAFT7 if bound.tuples else DRAFT202012


def _pattern_options(bound: Bound) -> "jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions":
    import jsonschema_rs  # noqa: PLC0415 -- as above

    if bound.backtracks:
        return jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_TRIES, size_limit=REGEX_SIZE)
    return jsonschema_rs.RegexOptions(size_limit=REGEX_SIZE)


def answer(accepts: Callable[[Any], bool], value: Any) -> bool:
    """The library's yes or no. Whatever it cannot take (bytes, too deep a value) does not fit."""
    try:
        return accepts(value)
    except BaseException as error:
        if _cannot_take(error):
            return False
        raise


def _cannot_take(error: BaseException) -> bool:
    return isinstance(error, ValueError) or _is_panic(error)


def _refuse_to_fetch(uri: str) -> Never:
    raise ValueError(f"{uri} is outside of the schema, and nothing is fetched")


def _is_panic(error: BaseException) -> bool:
    """A panic of the library. It comes as a BaseException, of a class that cannot be imported."""
    return type(error).__module__ == "pyo3_runtime"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _parts(data: bytes) -> int:
    """No fewer than the values in a JSON text: each is the first of its container, or follows a comma."""
    return 1 + data.count(b",") + data.count(b"[") + data.count(b"{")
