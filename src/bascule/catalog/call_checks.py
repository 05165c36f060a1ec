"""Validation of a call against its tool's schemas: the arguments before they are sent, the result before it is
accepted."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bascule.catalog.entry import Entry
from bascule.catalog.schema.explain import MISSING, explained
from bascule.catalog.schema.validator import NOT_JSON, Problem
from bascule.catalog.signature import signature
from bascule.core.errors import InvalidArguments, ProtocolViolation, Refused

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def check_arguments(entry: Entry, arguments: Mapping[str, Any]) -> bytes:
    """The arguments as they will travel. Raises `InvalidArguments` saying what is wrong and how the tool is called;
    nothing was sent then."""
    validator = entry.arguments
    if validator is None:
        raise Refused(
            f"{entry.spec.name} cannot be used: {entry.spec.problem}",
            rule="tool_is_usable",
            fix=f"an operator can look at it with `bascule inspect {entry.spec.name}`",
        )
    try:
        data = _encode(arguments)
        # What is checked is what travels: a Decimal, say, counts as a number here and arrives as text there.
        value = _decode(data)
    except (*NOT_JSON, msgspec.DecodeError) as error:
        raise InvalidArguments(f"{entry.spec.name}: the arguments are not JSON: {error}") from None
    if not validator.fits(value, data):
        raise _invalid(entry, explained(validator, value))
    return data


def _invalid(entry: Entry, found: list[Problem]) -> InvalidArguments:
    call = signature(entry.spec.key.tool, entry.spec.plain_schema)
    return InvalidArguments(
        f"{entry.spec.name}: {_told(found)} — {call}",
        evidence="\n".join(f"{problem.path or 'arguments'} {problem.message}" for problem in found),
        fix=f"run `bascule inspect {entry.spec.name}` to see the whole schema",
    )


def _told(found: list[Problem]) -> str:
    missing = [f"'{problem.path}'" for problem in found if problem.message == MISSING]
    told = [f"missing argument{'s' if len(missing) > 1 else ''} {', '.join(missing)}"] if missing else []
    told += [_sentence(problem) for problem in found if problem.message != MISSING]
    return "; ".join(told) or "the arguments do not fit"


def _sentence(problem: Problem) -> str:
    return f"argument '{problem.path}' {problem.message}" if problem.path else f"the arguments: {problem.message}"


def check_result(entry: Entry, raw: Mapping[str, Any]) -> None:
    """Raises `ProtocolViolation` if a tool's good result is not what its output schema promises."""
    validator = entry.results
    if validator is None or raw.get("isError") is True:
        return
    if "structuredContent" not in raw:
        raise _broken(entry, "it promises structured content, and sent none")
    structured = raw["structuredContent"]
    if not validator.is_valid(structured):
        problem = explained(validator, structured)[0]
        raise _broken(entry, f"{_below('structuredContent', problem.path)} {problem.message}")


def _below(top: str, path: str) -> str:
    return f"{top}{path}" if path.startswith("[") else f"{top}.{path}" if path else top


def _broken(entry: Entry, problem: str) -> ProtocolViolation:
    return ProtocolViolation(
        f"the result of {entry.spec.key} does not fit its output schema: {problem}",
        where="call",
        fix="report this to the author of the server",
    )
