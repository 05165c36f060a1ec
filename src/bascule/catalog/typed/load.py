"""Deserialisation of JSON into dataclasses, by the types of their fields alone; the schema validates the value
before."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Never, Union, get_args, get_origin, get_type_hints

from bascule.catalog.typed.classes import REST
from bascule.catalog.typed.dump import key_of
from bascule.catalog.typed.shape import kind_of
from bascule.core.json_types import is_array, is_object
from bascule.core.unset import UNSET, Unset

MAX_LOADERS = 4096
"""Types whose loaders are remembered."""

_EXACT = 2**53
"""Fractions from here on are not taken for integers: written out as one they would be hundreds of digits."""


class Misfit(Exception):
    """A value that is not of a type. Never leaves the catalog."""


Memory = dict[tuple[int, int], Any]
"""What became of a part of the value as one of the types. Without it, unions inside unions would multiply."""

Loader = Callable[[Any, Memory], Any]


def loaded(kind: Any, value: Any) -> Any:
    """A value as an instance of a type. Raises `Misfit`."""
    return _loader(kind)(value, {})


@lru_cache(MAX_LOADERS)
def _loader(kind: Any) -> Loader:
    return _Loaders().of(kind)


class _Loaders:
    """The loaders of one type and of all that it is made of."""

    def __init__(self) -> None:
        self._structs: dict[type, Loader] = {}

    def of(self, kind: Any) -> Loader:
        if kind is Any:
            return _as_it_is
        if kind in _PLAIN:
            return _plain(_PLAIN[kind])
        if isinstance(kind, type) and is_dataclass(kind):
            return self._struct(kind)
        return self._compound(get_origin(kind), get_args(kind))

    def _compound(self, origin: Any, args: tuple[Any, ...]) -> Loader:
        if origin is Literal:
            return _options(args)
        if origin is list:
            return _list(self.of(args[0]))
        if origin is dict:
            return _map(self.of(args[1]))
        if origin in (Union, UnionType):
            return _union([self.of(arg) for arg in args if arg is not Unset])
        return _nothing

    def _struct(self, kind: type) -> Loader:
        if kind not in self._structs:
            plan: list[_Field] = []
            rest: list[_Field] = []
            # Known before its fields are, which may lead back to it.
            self._structs[kind] = _struct(kind, plan, rest)
            hints = get_type_hints(kind)
            for field in fields(kind):
                load = self.of(hints[field.name])
                to = rest if field.metadata.get(REST) else plan
                to.append(_Field(field.name, key_of(field), load, field.default is not UNSET))
        return self._structs[kind]


class _Field(NamedTuple):
    name: str
    key: str
    load: Loader
    required: bool


_PLAIN: Mapping[Any, frozenset[str]] = {
    str: frozenset({"string"}),
    int: frozenset({"integer"}),
    float: frozenset({"number", "integer"}),
    bool: frozenset({"boolean"}),
    None: frozenset({"null"}),
    NoneType: frozenset({"null"}),
}


def _as_it_is(value: Any, _: Memory) -> Any:
    return value


def _nothing(_value: Any, _: Memory) -> Never:
    raise Misfit


def _plain(kinds: frozenset[str]) -> Loader:
    def load(value: Any, _: Memory) -> Any:
        if kind_of(value) not in kinds:
            raise Misfit
        whole = isinstance(value, float) and "number" not in kinds and abs(value) < _EXACT
        return int(value) if whole else value

    return load


def _options(values: tuple[Any, ...]) -> Loader:
    known = {(kind_of(value), value): value for value in values}

    def load(value: Any, _: Memory) -> Any:
        if is_object(value) or is_array(value) or (kind_of(value), value) not in known:
            raise Misfit
        return known[kind_of(value), value]

    return load


def _list(inner: Loader) -> Loader:
    def load(value: Any, memory: Memory) -> Any:
        if not is_array(value):
            raise Misfit
        return [inner(part, memory) for part in value]

    return load


def _map(inner: Loader) -> Loader:
    def load(value: Any, memory: Memory) -> Any:
        if not is_object(value):
            raise Misfit
        return {key: inner(part, memory) for key, part in value.items()}

    return load


def _union(options: list[Loader]) -> Loader:
    def load(value: Any, memory: Memory) -> Any:
        for option in options:
            try:
                return option(value, memory)
            except Misfit:
                continue
        raise Misfit

    return load if len(options) != 1 else options[0]


def _struct(kind: Any, plan: list[_Field], rest: list[_Field]) -> Loader:
    def load(value: Any, memory: Memory) -> Any:
        if not is_object(value):
            raise Misfit
        at = (id(kind), id(value))
        if at not in memory:
            memory[at] = _made(kind, plan, rest, value, memory)
        if memory[at] is Misfit:
            raise Misfit
        return memory[at]

    return load


def _made(kind: Any, plan: list[_Field], rest: list[_Field], value: Mapping[str, Any], memory: Memory) -> Any:
    given: dict[str, Any] = {}
    more = dict(value)
    try:
        for field in plan:
            if field.key in more:
                given[field.name] = field.load(more.pop(field.key), memory)
            elif field.required:
                return Misfit
        if more and not rest:
            return Misfit
        if more:
            given[rest[0].name] = rest[0].load(more, memory)
    except Misfit:
        return Misfit
    return kind(**given)
