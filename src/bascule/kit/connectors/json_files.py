"""JSON connector: files of the workspace, read at a JSON Pointer, so that a part can be shown."""

from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import msgspec

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.file_lines import MAX_SHOWN
from bascule.kit.connectors.files import MAX_WRITTEN
from bascule.kit.connectors.source import FileSource, path_of
from bascule.wire.json_limits import nests_deeper_than

MAX_FILE = 16 * 1024 * 1024
MAX_DEPTH = 64
MOST_KEYS = 1000


@dataclass(frozen=True, slots=True)
class JsonKey:
    """What stands at one place. `size` is how many things are in it, or how long a text is."""

    key: str
    kind: str
    size: int | None


class JsonConnector(Connector):
    """Places are named as in RFC 6901: `/people/0/name`, and nothing for the whole."""

    @staticmethod
    def read(file: str | FileSource, pointer: str = "", offset: int = 0, limit: int | None = None) -> Any:
        """What stands there. Of a list, `limit` things from the number `offset` on."""
        found = _at(_content(file), pointer)
        if isinstance(found, list):
            if offset < 0 or (limit is not None and limit < 0):
                raise UsageError("offset and limit are not negative")
            found = cast("list[Any]", found)[offset : None if limit is None else offset + limit]
        if len(msgspec.json.encode(found)) > MAX_SHOWN:
            raise UsageError(
                "this is too much to be shown at once",
                where=pointer or "the whole file",
                evidence=f"more than {MAX_SHOWN} bytes",
                fix="look at its keys, then read what is below one of them, or a part of a list with limit",
            )
        return found

    @staticmethod
    def keys(file: str | FileSource, pointer: str = "") -> tuple[JsonKey, ...]:
        """What is in an object or a list, of each the first thousand."""
        found = _at(_content(file), pointer)
        pairs = cast("dict[str, Any]", found).items() if isinstance(found, dict) else enumerate(_list(found, pointer))
        return tuple(JsonKey(str(key)[:200], _kind(value), _size(value)) for key, value in islice(pairs, MOST_KEYS))

    @staticmethod
    def write(path: str, value: Any) -> int:
        """The whole file, in one step. Gives the bytes written."""
        try:
            data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError("this is nothing that JSON could hold", evidence=str(error)[:200]) from None
        if len(data) > MAX_WRITTEN or nests_deeper_than(data, MAX_DEPTH):
            raise UsageError(
                "this is too much, or nests too deep", evidence=f"{len(data)} bytes; {MAX_DEPTH} levels may be"
            )
        Connector.workspace().write_bytes(path, data)
        return len(data)


def _content(file: str | FileSource) -> Any:
    path = path_of(file)
    with Connector.workspace().open(path, "rb") as opened:
        data = opened.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise UsageError(f"{path} is too large to be read as JSON", where=path, evidence=f"more than {MAX_FILE} bytes")
    if nests_deeper_than(data, MAX_DEPTH):
        raise UsageError(f"{path} nests deeper than {MAX_DEPTH} levels", where=path)
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
    raise UsageError(f"{path} is no JSON", where=path, evidence=reason[:200], fix="read it as a text")


def _at(value: Any, pointer: str) -> Any:
    if pointer and not pointer.startswith("/"):
        raise UsageError("a place begins with a slash", evidence=pointer[:100], fix="write /people/0/name")
    done = ""
    for raw in pointer.split("/")[1:]:
        value = _below(value, raw.replace("~1", "/").replace("~0", "~"), done)
        done += f"/{raw}"
    return value


def _below(value: Any, key: str, above: str) -> Any:
    where = above or "the whole file"
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        if key in known:
            return known[key]
        raise UsageError(
            "there is no such key", where=where, evidence=key[:100], fix=f"there are: {', '.join(known)[:300]}"
        )
    items = _list(value, where)
    if key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(items):
        return items[int(key)]
    raise UsageError("there is no such place in this list", where=where, evidence=key[:100], fix=f"it has {len(items)}")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError("there is nothing inside of this", where=where, evidence=f"it is a {_kind(value)}")
    return cast("list[Any]", value)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case list():
            return "list"
        case _:
            return "object"


def _size(value: Any) -> int | None:
    return len(cast("Any", value)) if isinstance(value, str | list | dict) else None
