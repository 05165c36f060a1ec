"""Dataclasses for the arguments and results of a tool, generated from its JSON schemas, with annotations for
weakincentives' serde. The framework validates a model's arguments against them first, so they accept every name and
number that the schema accepts, such as `1` for a number; the runtime validates against the schema itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, NoReturn

from bascule.catalog.typed.shape import Either, ListOf, MapOf, Options, Plain, Shape, Struct
from bascule.core.json_types import is_array, is_object
from bascule.core.unset import UNSET

ALIAS = "alias"
"""In the metadata of a field: its name in JSON. The framework's serde reads it."""

REST = "additional"
"""In the metadata of a field: that it holds the members without a field of their own."""

MAX_PLACES = 1000
"""Places that a schema may have when it is written out, as the framework does: every reference anew. What is beyond is
taken as it comes, and left to the schema. A few dozen lines can stand for more places than fit into memory."""

PLAIN: Mapping[str, Any] = {"string": str, "number": float | int, "integer": int, "boolean": bool, "null": None}


class Fitted:
    """A frozen dataclass whose methods are here once, for all: to write and compile them for each of a thousand tools
    would take seconds."""

    if TYPE_CHECKING:
        # The framework evaluates all annotations of a class, and of those it comes from, with every call.
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
        plan: ClassVar[tuple["_Part", ...]]

    def __init__(self, **given: Any) -> None:
        held = self.__dict__
        for part in self.plan:
            held[part.name] = given.pop(part.name, part.default)
            if held[part.name] is MISSING:
                raise TypeError(f"{type(self).__name__} needs {part.name}")
        if given:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(given))}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).values())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class _Part(NamedTuple):
    """A field, and where its value goes in JSON."""

    name: str
    default: Any
    key: str
    rest: bool


def fitted(struct: Struct, missing: Any) -> type[Fitted]:
    """The dataclass of a struct. A member that need not be there is `missing` where it is not: UNSET in arguments, to
    tell it from null; None in results, which the framework must be able to write down."""
    return _Fitter(missing).class_of(struct)


def arguments_of(params: Fitted | None) -> dict[str, Any]:
    """The arguments that a model gave, by their names in JSON."""
    return {} if params is None else dict(_members(params))


def _members(params: Fitted) -> Iterator[tuple[str, Any]]:
    for part in params.plan:
        value = getattr(params, part.name)
        if value is UNSET:
            continue
        if part.rest:
            yield from _plain(value).items()
        else:
            yield part.key, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Fitted):
        return arguments_of(value)
    if is_array(value):
        return [_plain(inner) for inner in value]
    return {key: _plain(inner) for key, inner in value.items()} if is_object(value) else value


class _Fitter:
    """The dataclasses of one schema."""

    def __init__(self, missing: Any) -> None:
        self._missing = missing
        self._classes: dict[int, type[Fitted]] = {}
        self._places: dict[int, int] = {}

    def class_of(self, struct: Struct) -> type[Fitted]:
        namespace: dict[str, Any] = {"__annotations__": {}, "__doc__": struct.description or struct.name}
        left = MAX_PLACES
        for member in struct.members:
            names = {} if member.key == member.name else {ALIAS: member.key}
            left -= self._written(member.shape)
            kind = self.kind(member.shape) if left >= 0 else object
            self._add(namespace, member.name, kind, names, required=member.required)
        if struct.rest is not None and struct.rest_said:
            rest = self.kind(struct.rest) if left >= self._written(struct.rest) else object
            self._add(namespace, struct.rest_name, dict[str, rest], {REST: True}, required=False)
        plain = type(struct.name, (Fitted,), {**namespace, "__module__": __name__})
        made = dataclass(init=False, repr=False, eq=False)(plain)
        made.plan = tuple(
            _Part(f.name, f.default, f.metadata.get(ALIAS, f.name), REST in f.metadata) for f in fields(made)
        )
        self._classes[id(struct)] = made
        return made

    def _add(
        self, namespace: dict[str, Any], name: str, kind: Any, metadata: Mapping[str, Any], *, required: bool
    ) -> None:
        namespace["__annotations__"][name] = kind if required or self._missing is UNSET else kind | None
        namespace[name] = (
            field(metadata=metadata, kw_only=True)
            if required
            else field(default=self._missing, metadata=metadata, kw_only=True)
        )

    def kind(self, shape: Shape) -> Any:
        """The annotation of a shape. The framework reads `a | b`, and not the older way of writing unions."""
        match shape:
            case Plain(kind=kind):
                return PLAIN[kind]
            case Options(values=values):
                return _options(values)
            case Struct():
                return self._struct(shape)
            case _:
                return self._compound(shape)

    def _compound(self, shape: Shape) -> Any:
        match shape:
            case ListOf(inner=inner):
                return list[self.kind(inner)]
            case MapOf(inner=inner):
                return dict[str, self.kind(inner)]
            case Either(options=options):
                return self._union(options)
            case _:
                # Everything, nothing, or itself again: the framework writes schemas out and would never end.
                return object

    def _union(self, options: tuple[Shape, ...]) -> Any:
        listed = [option.values if isinstance(option, Options) else _NULL for option in options if _is_listed(option)]
        if len(listed) == len(options):
            return _options(tuple(chain.from_iterable(listed)))
        # Of an alternative, the kinds have to do: there is no `|` for a list of values that the framework reads.
        return _either(self.kind(option) if not isinstance(option, Options) else _kinds(option) for option in options)

    def _struct(self, struct: Struct) -> Any:
        # Never inside itself: that is another shape.
        return self._classes.get(id(struct)) or self.class_of(struct)

    def _written(self, shape: Shape) -> int:
        """The places of a shape when it is written out, as far as that matters."""
        found = self._places.get(id(shape))
        if found is None:
            found = min(1 + sum(map(self._written, _parts(shape))), MAX_PLACES + 1)
            self._places[id(shape)] = found
        return found


def _parts(shape: Shape) -> Iterable[Shape]:
    match shape:
        case ListOf(inner=inner) | MapOf(inner=inner):
            return (inner,)
        case Either(options=options):
            return options
        case Struct(members=members, rest=rest):
            return [member.shape for member in members] + ([rest] if rest is not None else [])
        case _:
            return ()


_NULL = (("null", None),)


def _is_listed(shape: Shape) -> bool:
    return isinstance(shape, Options) or shape == Plain("null")


def _options(values: tuple[tuple[str, Any], ...]) -> Any:
    """Texts as such. Of others, the framework would take 1 for True and hand on the one that is listed: those are told
    of, and stay as they were given."""
    listed = tuple(value for _, value in values)
    if all(kind == "string" for kind, _ in values):
        return Literal[listed]
    return Annotated[_kinds(Options(values)), {"enum": listed}]


def _kinds(options: Options) -> Any:
    return _either(PLAIN[kind] for kind, _ in options.values)


def _either(kinds: Iterable[Any]) -> Any:
    """Any of some types, in the one way of writing it that the framework reads."""
    first, *others = dict.fromkeys(type(None) if kind is None else kind for kind in kinds)
    for other in others:
        first |= other
    return first
