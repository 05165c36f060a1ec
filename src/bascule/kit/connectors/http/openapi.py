"""OpenAPI connector: calls the operations of a web service by id, with checked parameters."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.http.connector import HttpConnector, HttpReply
from bascule.kit.connectors.http.openapi_document import ApiOperation, Document, OperationParameter, operations_of
from bascule.kit.connectors.http.source import HttpSource

_BLANK = re.compile(r"\{([^{}]+)\}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_OURS = frozenset(["accept", "authorization", "connection", "content-length", "content-type", "cookie", "host"]) | {
    "expect", "forwarded", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "x-forwarded-for"
}  # fmt: skip
"""What a parameter never sets: who asks, whom, and how much, is not for a model to say."""


class OpenApiConnector(Connector):
    """The document says what can be asked, the source where and by which methods: servers it names mean nothing."""

    @staticmethod
    def operations(source: HttpSource, document: Document) -> tuple[ApiOperation, ...]:
        """Those that the source's methods allow."""
        return tuple(found for found in operations_of(document).values() if found.method in source.methods)

    @staticmethod
    def call(
        source: HttpSource,
        document: Document,
        operation_id: str,
        parameters: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> HttpReply:
        operation = _found(OpenApiConnector.operations(source, document), operation_id)
        given = _checked(operation, parameters or {})
        if body is None and operation.needs_body:
            raise UsageError("this operation needs a body", where=operation.id)
        if body is not None and not operation.takes_body:
            raise UsageError("this operation takes no body", where=operation.id)
        return HttpConnector.request(
            source,
            operation.method,
            _path(operation, given),
            query={each.name: given[each.name] for each in operation.parameters if _is_given(each, "query", given)},
            headers={
                each.name: _header(given[each.name])
                for each in operation.parameters
                if _is_given(each, "header", given)
            },
            body=body,
        )


def _found(operations: tuple[ApiOperation, ...], wanted: str) -> ApiOperation:
    for operation in operations:
        if operation.id == wanted:
            return operation
    near = get_close_matches(wanted[:64], [operation.id for operation in operations])
    raise UsageError(
        "there is no such operation, or this source does not allow its method",
        evidence=wanted[:100],
        fix=f"did you mean {', '.join(near)}?" if near else "list the operations first",
    )


def _checked(operation: ApiOperation, given: Mapping[str, Any]) -> Mapping[str, Any]:
    known = {parameter.name: parameter for parameter in operation.parameters}
    missing = [name for name, parameter in known.items() if parameter.required and name not in given]
    unknown = sorted(set(given) - set(known))
    if missing or unknown:
        raise UsageError(
            "the parameters do not fit the operation",
            where=operation.id,
            evidence=f"missing: {missing}, unknown: {unknown}",
            fix="give what is required, and only what the operation lists",
        )
    for name, value in given.items():
        _check_value(operation, known[name], value)
    return given


def _check_value(operation: ApiOperation, parameter: OperationParameter, value: Any) -> None:
    import jsonschema_rs  # noqa: PLC0415 -- a library of its own, and only who calls operations needs it

    if isinstance(value, Mapping) or value is None or _is_of_none(value):
        raise UsageError(f"{parameter.name} is a text, a number, true or false, or a list of them", where=operation.id)
    try:
        jsonschema_rs.validator_for(dict(parameter.schema)).validate(value)
    except jsonschema_rs.ValidationError as error:
        reason = error.message
    except ValueError as error:
        reason = f"its schema cannot be used: {str(error)[:200]}"
    else:
        return
    raise UsageError(f"{parameter.name} does not fit", where=operation.id, evidence=reason)


def _is_of_none(value: Any) -> bool:
    items: list[Any] = [*value] if isinstance(value, list | tuple) else [value]
    return not all(isinstance(item, str | int | float) for item in items)


def _path(operation: ApiOperation, given: Mapping[str, Any]) -> str:
    """With every value as one part of the path, which it can neither leave nor split."""

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        known = any(each.name == name and each.place == "path" for each in operation.parameters)
        value = str(given[name]).lower() if known and isinstance(given[name], bool) else str(given.get(name, ""))
        if not known or not value or set(value) == {"."}:
            raise UsageError(f"{name} cannot be a part of a path", where=operation.id, evidence=value[:40])
        return quote(value, safe="")

    return _BLANK.sub(filled, operation.path)


def _is_given(parameter: OperationParameter, place: str, given: Mapping[str, Any]) -> bool:
    if parameter.place != place or parameter.name not in given:
        return False
    if place == "header" and (parameter.name.lower() in _OURS or not _HEADER.fullmatch(parameter.name)):
        raise UsageError("a parameter does not set this header", evidence=parameter.name[:64])
    return True


def _header(value: Any) -> str:
    text = str(value)
    if not text.isascii() or not text.isprintable():
        raise UsageError("the value of a header is one line of plain letters", evidence=ascii(text)[:80])
    return text
