"""OpenAPI document parser: operations and their parameters. References to other documents are never fetched."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from bascule.config.loading.yaml_reader import parse_yaml
from bascule.config.problems import Problems
from bascule.core.errors import ConfigError, UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.source import FileSource, path_of

MAX_DOCUMENT = 4 * 1024 * 1024
"""Bytes. The largest that are published have some more, and most of it is prose."""

MAX_OPERATIONS = 2000

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_PLACES = frozenset(["path", "query", "header"])
_WORDS = """
    type enum const minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems multipleOf
"""
_KEPT = frozenset(_WORDS.split())
"""What is held of a parameter's schema: what takes no time, whoever wrote it. The service looks at the rest itself."""

Place = Literal["path", "query", "header"]


@dataclass(frozen=True, slots=True)
class OperationParameter:
    name: str
    place: Place
    required: bool
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One thing that can be asked of the service."""

    id: str
    method: str
    path: str
    summary: str
    parameters: tuple[OperationParameter, ...]
    takes_body: bool
    needs_body: bool


Document = str | FileSource | Mapping[str, Any]


def operations_of(document: Document) -> dict[str, ApiOperation]:
    """By their ids; one without an id is called by its method and path."""
    content = _content(document)
    found: dict[str, ApiOperation] = {}
    for path, method, item, shared in _raw_operations(content):
        operation = _operation(content, path, method, item, shared)
        if operation.id in found:
            raise UsageError("two operations of this document have the same id", evidence=operation.id)
        found[operation.id] = operation
        if len(found) > MAX_OPERATIONS:
            raise UsageError(f"this document has more than {MAX_OPERATIONS} operations")
    return found


def _content(document: Document) -> Mapping[str, Any]:
    read: Any = document if isinstance(document, Mapping) else _parsed(path_of(document))
    content = cast("Mapping[str, Any]", read if isinstance(read, Mapping) else {})
    if not isinstance(content.get("paths"), Mapping):
        raise UsageError("this is no OpenAPI document: it has no paths", fix="name a file with an OpenAPI 3 document")
    return content


def _parsed(path: str) -> Any:
    with Connector.workspace().open(path, "rb") as file:
        data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise UsageError("this document is too large", where=path, evidence=f"more than {MAX_DOCUMENT} bytes")
    try:
        text = data.decode()
        if text.lstrip().startswith("{"):
            return json.loads(text)
        problems = Problems(path)
        content = parse_yaml(text, problems)
    except (ValueError, RecursionError, ConfigError) as error:
        reason = str(error)
    else:
        return content
    raise UsageError("this document cannot be read", where=path, evidence=reason, fix="write it as JSON, or plain YAML")


def _raw_operations(content: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], list[Any]]]:
    for path, item in content["paths"].items():
        if not isinstance(item, Mapping) or not isinstance(path, str) or not path.startswith("/"):
            continue
        known = cast("Mapping[str, Any]", item)
        for method in _METHODS:
            operation = known.get(method)
            if isinstance(operation, Mapping):
                yield path, method, cast("Mapping[str, Any]", operation), _list(known.get("parameters"))


def _operation(
    content: Mapping[str, Any], path: str, method: str, item: Mapping[str, Any], shared: list[Any]
) -> ApiOperation:
    # What an operation says itself stands above what is said for all of that path.
    parameters = {
        (parameter.place, parameter.name): parameter
        for raw in (*shared, *_list(item.get("parameters")))
        if (parameter := _parameter(_meant(content, raw))) is not None
    }
    body = _meant(content, item.get("requestBody"))
    name = item.get("operationId")
    return ApiOperation(
        id=name if isinstance(name, str) and name else f"{method} {path}",
        method=method.upper(),
        path=path,
        summary=str(item.get("summary") or item.get("description") or "")[:200],
        parameters=tuple(parameters.values()),
        takes_body=bool(body),
        needs_body=body.get("required") is True,
    )


def _parameter(raw: Mapping[str, Any]) -> OperationParameter | None:
    name, place = raw.get("name"), raw.get("in")
    if not isinstance(name, str) or place not in _PLACES:
        return None
    schema = raw.get("schema")
    return OperationParameter(
        name=name,
        place=cast("Place", place),
        required=raw.get("required") is True or place == "path",
        description=str(raw.get("description") or "")[:200],
        schema=_reduced(cast("Mapping[str, Any]", schema)) if isinstance(schema, Mapping) else {},
    )


def _reduced(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    items = schema.get("items")
    if isinstance(items, Mapping):
        inner = cast("Mapping[str, Any]", items)
        kept["items"] = {key: value for key, value in inner.items() if key in _KEPT}
    if schema.get("nullable") is True and isinstance(kept.get("type"), str):
        kept["type"] = [kept["type"], "null"]
    return kept


def _meant(content: Mapping[str, Any], raw: Any) -> Mapping[str, Any]:
    """What a reference inside of this document leads to, if it does in a few turns."""
    for _ in range(8):
        if not isinstance(raw, Mapping):
            return {}
        found = cast("Mapping[str, Any]", raw)
        reference = found.get("$ref")
        if not isinstance(reference, str):
            return found
        raw = _at(content, reference)
    return {}


def _at(content: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#/"):
        return None
    found: Any = content
    for part in reference[2:].split("/"):
        if not isinstance(found, Mapping):
            return None
        found = cast("Mapping[str, Any]", found).get(part.replace("~1", "/").replace("~0", "~"))
    return found


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
