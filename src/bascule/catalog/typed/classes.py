"""Dataclasses and annotations made from shapes: a frozen, slotted dataclass for each struct."""

from collections.abc import Iterable, Mapping
from dataclasses import field, make_dataclass
from typing import Any, Literal, Never

from bascule.catalog.typed.shape import (
    Again,
    Anything,
    Either,
    ListOf,
    MapOf,
    Member,
    Nothing,
    Options,
    Plain,
    Shape,
    Struct,
)
from bascule.core.unset import UNSET, Unset

KEY = "json"
"""In the metadata of a field: its name in JSON, where that is another."""

REST = "additional"
"""In the metadata of a field: that it holds the members without a field of their own."""

PLAIN: Mapping[str, Any] = {"string": str, "number": float, "integer": int, "boolean": bool, "null": None}

Classes = Mapping[Struct, type]


class Value:
    """What all these dataclasses do in one way. Written out for each, as `dataclass` does, it would take half of the
    time to make one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return _held(self) == _held(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), _held(self)))

    def __repr__(self) -> str:
        held = ", ".join(f"{name}={getattr(self, name)!r}" for name in _fields(self))
        return f"{type(self).__qualname__}({held})"


def _held(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in _fields(value))


def _fields(value: Any) -> Iterable[str]:
    fields: Mapping[str, Any] = value.__dataclass_fields__
    return fields


def classes_of(structs: Iterable[Struct]) -> dict[Struct, type]:
    """A dataclass for each struct. They may be of each other, so they learn their fields' types when all are there."""
    classes = {struct: _class(struct) for struct in structs}
    for struct, made in classes.items():
        _annotate(made, _annotations(struct, classes))
    return classes


def annotation(shape: Shape, classes: Classes) -> Any:
    """The type of a shape, as annotations have it."""
    match shape:
        case Anything():
            return Any
        case Nothing():
            return Never
        case Plain(kind=kind):
            return PLAIN[kind]
        case Struct():
            return classes[shape]
        case _:
            return _compound(shape, classes)


def _compound(shape: Options | ListOf | MapOf | Either | Again, classes: Classes) -> Any:
    match shape:
        case Options(values=values):
            return Literal[tuple(value for _, value in values)]
        case ListOf(inner=inner):
            return list[annotation(inner, classes)]
        case MapOf(inner=inner):
            return dict[str, annotation(inner, classes)]
        case Either(options=options):
            return any_of([annotation(option, classes) for option in options])
        case Again(shape=found):
            assert found is not None
            return annotation(found, classes)


def any_of(types: list[Any]) -> Any:
    """The union of types."""
    whole = types[0]
    for one in types[1:]:
        whole = whole | one
    return whole


def metadata(member: Member) -> dict[str, Any]:
    """What a field tells of its member."""
    return {KEY: member.key} if member.key != member.name else {}


def _class(struct: Struct) -> type:
    fields: list[tuple[str, Any, Any]] = [
        (member.name, Any, field(metadata=metadata(member)))
        if member.required
        else (member.name, Any, field(default=UNSET, metadata=metadata(member)))
        for member in struct.members
    ]
    if struct.rest is not None:
        fields.append((struct.rest_name, Any, field(default=UNSET, metadata={REST: True})))
    namespace = {"__doc__": struct.description or struct.name, "__module__": __name__}
    return make_dataclass(
        struct.name,
        fields,
        bases=(Value,),
        namespace=namespace,
        frozen=True,
        slots=True,
        kw_only=True,
        eq=False,
        repr=False,
    )


def _annotations(struct: Struct, classes: Classes) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for member in struct.members:
        one = annotation(member.shape, classes)
        types[member.name] = one if member.required else one | Unset
    if struct.rest is not None:
        types[struct.rest_name] = dict[str, annotation(struct.rest, classes)] | Unset
    return types


def _annotate(made: Any, types: dict[str, Any]) -> None:
    made.__annotations__ = types
    for name, kind in types.items():
        made.__dataclass_fields__[name].type = kind
    # Editors and `inspect.signature` look at the constructor.
    made.__init__.__annotations__ = {**types, "return": None}
