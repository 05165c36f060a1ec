"""JSON Schema of a Python function's parameters and return type, from its signature. Pydantic models are recognised by
their methods, without importing Pydantic."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from bascule.core.errors import UsageError
from bascule.core.json_types import JsonObject, as_object, is_object
from bascule.core.outcome import ToolFailure, ToolResult
from bascule.core.principal import Principal
from bascule.transports.inprocess.python_types import Media, Progress

OWN = (Principal, Progress)
"""Types of parameters that are filled in by us, and that no model ever sees."""

CONTENT = (Media, ToolResult, ToolFailure)
"""Types of results that are content already. Where one may be among what is given back, nothing is promised."""

LISTED: tuple[type, ...] = (list, tuple, set, frozenset)
OBJECTS: tuple[type, ...] = (Mapping, msgspec.Struct)

RESULT = "result"
"""Under which a result stands that is no object: structured content is always one."""

_REF = "#/$defs/{name}"
_SPREAD = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


class Signature(msgspec.Struct, frozen=True):
    """The parameters of one function, and how to fill them in."""

    arguments: type[msgspec.Struct]
    """What a caller gives, each field a parameter."""
    schema: JsonObject
    output: JsonObject | None
    """What it promises to give back, where that is structured."""
    own: Mapping[str, type]
    """Parameters that we fill in."""
    positional: tuple[str, ...]
    """Parameters that cannot be given by name."""

    @classmethod
    def of(cls, function: Callable[..., Any], name: str) -> "Signature":
        """Raises `UsageError` where no schema can tell what the function takes."""
        parameters = _parameters(function, name)
        hints = _hints(function, name)
        own = {each: hint for each in parameters if (hint := _bare(hints.get(each))) in OWN}
        fields = [_field(each, hints.get(each.name, Any)) for each in parameters.values() if each.name not in own]
        arguments = msgspec.defstruct(f"{name}_arguments", fields, forbid_unknown_fields=True, kw_only=True)
        schema = _schema_of(arguments, f"what {name} takes")
        del schema["title"]
        for each in parameters.values():
            _show_default(schema, each)
        positional = tuple(each.name for each in parameters.values() if each.kind is Parameter.POSITIONAL_ONLY)
        return cls(arguments, schema, _output(hints.get("return"), name), own, positional)

    def read(self, data: msgspec.Raw | bytes) -> dict[str, Any]:
        """The arguments of a call, each of the type that the function says. Only those that were given: the function's
        own defaults hold for the others. Raises `msgspec.ValidationError`."""
        try:
            given = msgspec.json.decode(data, type=self.arguments, dec_hook=_taken)
        except msgspec.ValidationError:
            # To JSON Schema 1.0 is an integer. What no schema allows has been refused long before.
            given = msgspec.json.decode(data, type=self.arguments, dec_hook=_taken, strict=False)
        fields = self.arguments.__struct_fields__
        return {name: value for name in fields if (value := getattr(given, name)) is not msgspec.UNSET}


def _parameters(function: Callable[..., Any], name: str) -> dict[str, Parameter]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{name} is a generator", fix="return one value, such as a list")
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"what {name} takes cannot be read", fix="wrap it in a function of your own") from error
    for each in parameters.values():
        if each.kind in _SPREAD:
            raise UsageError(
                f"{name} takes {_SPREAD[each.kind]}{each.name}, of which no schema can be made",
                fix="write out its parameters; if it was decorated, use functools.wraps",
            )
    return parameters


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    annotated = inspect.unwrap(getattr(function, "func", function))
    if not inspect.isroutine(annotated):
        annotated = type(annotated).__call__
    try:
        return get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(
            f"a type that {name} names cannot be found: {error}",
            fix="import it where the function is written, and not only for type checking",
        ) from error


def _field(parameter: Parameter, hint: Any) -> tuple[str, Any, Any] | tuple[str, Any]:
    described = _described(hint)
    if parameter.default is Parameter.empty:
        return parameter.name, described
    # Absent, so that the function's own default holds; it may be anything.
    return parameter.name, Union[described, msgspec.UnsetType], msgspec.UNSET  # noqa: UP007 -- it is not known before


def _described(hint: Any) -> Any:
    """A text beside a type describes the parameter."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *beside = get_args(hint)
    words = [each for each in beside if isinstance(each, str)]
    constraints = [each for each in beside if isinstance(each, msgspec.Meta)]
    for each in (*constraints, *([msgspec.Meta(description=" ".join(words))] if words else [])):
        kind = Annotated[kind, each]
    return kind


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _show_default(schema: JsonObject, parameter: Parameter) -> None:
    """Where JSON can say it."""
    shown = schema["properties"].get(parameter.name)
    if shown is None or parameter.default is Parameter.empty:
        return
    try:
        default = msgspec.json.decode(msgspec.json.encode(parameter.default))
    except (TypeError, ValueError):
        return
    shown["default"] = default


def _output(hint: Any, name: str) -> JsonObject | None:
    """What a result promises to be. Texts, numbers and what may be anything promise nothing."""
    kind: Any = get_origin(_bare(hint)) or _bare(hint)
    if not isinstance(kind, type) or _may_hold_content(hint):
        return None
    if issubclass(kind, LISTED):
        listed = msgspec.defstruct(f"{name}_result", [(RESULT, hint)])
        schema = _schema_of(listed, f"what {name} gives")
        del schema["title"]
        return schema
    named = is_typeddict(kind) or dataclasses.is_dataclass(kind) or _is_model(kind)
    if not named and not issubclass(kind, OBJECTS):
        return None
    schema = _schema_of(hint, f"what {name} gives")
    # A struct may be written as an array; that is no promise of an object.
    return schema if schema.get("type") == "object" else None


def _may_hold_content(hint: Any) -> bool:
    return hint in CONTENT or any(map(_may_hold_content, get_args(hint)))


def _schema_of(hint: Any, what: str) -> JsonObject:
    """The schema of one type, with whatever it refers to inside."""
    inner: JsonObject = {}

    def of_model(kind: type) -> JsonObject:
        if not _is_model(kind):
            raise NotImplementedError
        schema: JsonObject = dict(_model(kind).model_json_schema())
        inner.update(as_object(schema.pop("$defs", None)))
        return schema

    try:
        (schema,), named = msgspec.json.schema_components((hint,), schema_hook=of_model, ref_template=_REF)
    except (TypeError, NotImplementedError, RuntimeError) as error:
        raise UsageError(
            f"no schema can be made of {what}: {error}",
            fix="use types that JSON knows: str, int, float, bool, None, list, dict, Literal, Enum, dataclasses",
        ) from error
    return _self_contained(schema, {**inner, **named})


def _self_contained(schema: JsonObject, named: JsonObject) -> JsonObject:
    """What a reference at the root means stands at the root."""
    reference = schema.get("$ref")
    for name, meant in named.items():
        if reference == _REF.format(name=name) and is_object(meant):
            schema = dict(meant)
            if not _mentions(named, reference):
                named = {other: each for other, each in named.items() if other != name}
            break
    return {**schema, "$defs": named} if named else dict(schema)


def _mentions(value: Any, reference: Any) -> bool:
    return f'"{reference}"'.encode() in msgspec.json.encode(value)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and callable(getattr(kind, "model_json_schema", None))


def _model(kind: Any) -> Any:
    return kind


def _taken(kind: Any, value: Any) -> Any:
    """A value as what the caller's own type makes of it."""
    if _is_model(kind):
        return kind.model_validate(value)
    raise NotImplementedError
