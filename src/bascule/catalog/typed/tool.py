"""Typed tool: a tool with its parameters and its result as Python types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.catalog.call_checks import check_arguments, check_result
from bascule.catalog.entry import Entry
from bascule.catalog.schema.validator import Validator, validator_of
from bascule.catalog.typed.classes import annotation, classes_of
from bascule.catalog.typed.dump import Instance, dumped, dumped_arguments
from bascule.catalog.typed.from_schema import Read, read, read_object
from bascule.catalog.typed.load import Misfit, loaded
from bascule.catalog.typed.names import class_name
from bascule.core.errors import InvalidArguments, ProtocolViolation
from bascule.core.json_types import JsonObject
from bascule.core.tool import ToolSpec

MAX_KEPT = 1024
"""Tools whose types are kept. A runtime has hundreds."""


@dataclass(frozen=True, slots=True)
class TypedTool:
    """A tool, and the types of what goes in and what comes out. The schema stays the authority: what is loaded was
    checked against it, whatever a type may say."""

    spec: ToolSpec
    params: type
    """A frozen dataclass, as `GithubCreateIssueParams`."""
    result: Any
    """The type of structured results, a dataclass if those are objects; None if the tool promises nothing of them."""
    inexact: tuple[str, ...]
    """What `params` does not say of the arguments, each with its place. Only the schema knows."""
    inexact_result: tuple[str, ...]
    _entry: Entry = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether `params` takes just what the schema does."""
        return not self.inexact

    @property
    def exact_result(self) -> bool:
        return not self.inexact_result

    def load(self, arguments: Mapping[str, Any]) -> Any:
        """Arguments as an instance of `params`. Raises `InvalidArguments` for whatever the schema refuses."""
        value = msgspec.json.decode(check_arguments(self._entry, dict(arguments)))
        try:
            return loaded(self.params, value)
        except Misfit:
            raise InvalidArguments(f"{self.spec.name}: the arguments are no {self.params.__name__}") from None

    def dump(self, params: Instance) -> JsonObject:
        """The arguments that an instance of `params` holds, without those that were not given. They are checked when
        they are used."""
        return dumped_arguments(params)

    def load_result(self, structured: Any) -> Any:
        """A structured result as an instance of `result`; as it is if nothing is promised of it. Raises
        `ProtocolViolation` for whatever the schema refuses."""
        if self._entry.results is None:
            return structured
        check_result(self._entry, {"structuredContent": structured})
        try:
            return loaded(self.result, structured)
        except Misfit:
            raise ProtocolViolation(f"the result of {self.spec.key} is not of the type of its schema") from None

    def dump_result(self, result: Any) -> Any:
        """An instance of `result` as JSON has it."""
        return dumped(result)


_KEPT: dict[tuple[str, str], TypedTool] = {}


def typed_tool(spec: ToolSpec) -> TypedTool:
    """A tool's types, made once for each digest. Raises `ProtocolViolation` if its schema cannot be used."""
    key = (spec.name, spec.digest)
    kept = _KEPT.get(key)
    # The digest is over the definition as it came. What is promised of results may be less here than there.
    if kept is None or not _same(kept.spec, spec):
        kept = _KEPT[key] = _made(spec)
        while len(_KEPT) > MAX_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return kept


def _same(one: ToolSpec, other: ToolSpec) -> bool:
    return one.input_schema == other.input_schema and one.output_schema == other.output_schema


def usable(spec: ToolSpec) -> Entry:
    """What values of a tool are checked against. Raises `ProtocolViolation`."""
    results = _validator(spec, "output", spec.output_schema) if spec.output_schema is not None else None
    return Entry(spec, _validator(spec, "input", spec.input_schema), results)


def read_params(entry: Entry, name: str) -> Read:
    """The shape of a tool's arguments, whose structs are named after it."""
    assert entry.arguments is not None
    return read_object(entry.arguments.schema, entry.arguments.bound, name)


def read_result(entry: Entry, name: str) -> Read | None:
    """The shape of a tool's structured results, if it promises any."""
    if entry.results is None:
        return None
    return read(entry.results.schema, entry.results.bound, name)


def _made(spec: ToolSpec) -> TypedTool:
    name, entry = class_name(spec.name), usable(spec)
    params, result = read_params(entry, name), read_result(entry, name)
    return TypedTool(
        spec=spec,
        params=_type(params),
        result=_type(result) if result is not None else None,
        inexact=params.reasons,
        inexact_result=result.reasons if result is not None else (),
        _entry=entry,
    )


def _type(found: Read) -> Any:
    return annotation(found.shape, classes_of(found.structs))


def _validator(spec: ToolSpec, which: str, schema: Mapping[str, Any]) -> Validator:
    validator = validator_of(dict(schema))
    if isinstance(validator, str):
        raise ProtocolViolation(f"the {which} schema of {spec.name} cannot be used: {validator}")
    return validator
