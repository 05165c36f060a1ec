"""Insertion of a server into YAML text. Every other character stays, above all the comments."""

import json
import re
from typing import Any

from bascule.config.editing.errors import Unsafe
from bascule.config.loading.yaml_reader import plain_scalar
from bascule.core.json_types import JsonObject, is_array, is_object

KEY = "mcp_servers"

_PLAIN = re.compile(r"-{0,2}[A-Za-z_./][\w./@-]*")
"""What needs no quotes wherever it stands."""

_EMPTY = frozenset({"", "~", "null", "Null", "NULL"})
_INDENT = "  "


def yaml_with(text: str, name: str, entry: JsonObject, *, replace: bool = False) -> str:
    """The text of a file of ours with one more server in it, or another one of this name."""
    if text and not text.endswith("\n"):
        text += "\n"
    root = _composed(text)
    pairs = _pairs(root)
    found = next((pair for pair in pairs if pair[0].value == KEY), None)
    if found is None:
        if pairs and root.flow_style:
            raise Unsafe(f"it is written in braces and has no {KEY} yet")
        between = "\n" if text.strip() else ""
        return f"{text}{between}{KEY}:\n{written(name, entry, _INDENT)}"
    key, servers = found
    if servers.start_mark.index < key.end_mark.index:
        raise Unsafe(f"its {KEY} is an alias")
    if _is_empty(servers):
        return _first(text, key, servers, written(name, entry, " " * key.start_mark.column + _INDENT))
    if servers.id != "mapping":
        raise Unsafe(f"its {KEY} is no mapping")
    old = next((pair for pair in servers.value if pair[0].value == name), None) if replace else None
    return (_in_braces if servers.flow_style else _in_lines)(text, servers, old, (name, entry))


def written(name: str, entry: JsonObject, indent: str) -> str:
    """A server as people write it."""
    lines = [f"{indent}{scalar(name)}:"]
    inner = indent + _INDENT
    for key, value in entry.items():
        if is_object(value):
            lines.append(f"{inner}{scalar(key)}:")
            lines += [f"{inner}{_INDENT}{scalar(each)}: {_flow(given)}" for each, given in value.items()]
        else:
            lines.append(f"{inner}{scalar(key)}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and plain_scalar(text) == text else json.dumps(text, ensure_ascii=False)


def _flow(value: Any) -> str:
    if is_array(value):
        return f"[{', '.join(map(_flow, value))}]"
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def _composed(text: str) -> Any:
    import yaml  # noqa: PLC0415 -- a tenth of a second, and many configurations are JSON

    loader: Any = yaml.SafeLoader(text)
    return loader.get_single_node()


def _pairs(root: Any) -> list[tuple[Any, Any]]:
    if root is None:
        return []
    if root.id != "mapping":
        raise Unsafe("it does not hold a mapping")
    return root.value


def _is_empty(node: Any) -> bool:
    return (node.id == "scalar" and node.style is None and node.value in _EMPTY) or (
        node.id == "mapping" and not node.value
    )


def _first(text: str, key: Any, empty: Any, lines: str) -> str:
    """The first server, where there was nothing, or `{}`, or `null`."""
    bare = text[: empty.start_mark.index] + text[empty.end_mark.index :]
    start = empty.start_mark.index if empty.start_mark.line == key.start_mark.line else key.end_mark.index
    end = bare.index("\n", start)
    rest = bare[key.end_mark.index + 1 : end].strip()
    if rest and not rest.startswith("#"):
        raise Unsafe(f"something stands beside its {KEY}")
    return f"{bare[:end].rstrip()}\n{lines}{bare[end + 1 :]}"


def _in_braces(text: str, servers: Any, old: Any, new: tuple[str, JsonObject]) -> str:
    name, entry = new
    member = f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
    if old is not None:
        return text[: old[0].start_mark.index] + member + text[old[1].end_mark.index :]
    end = servers.value[-1][1].end_mark.index
    return f"{text[:end]}, {member}{text[end:]}"


def _in_lines(text: str, servers: Any, old: Any, new: tuple[str, JsonObject]) -> str:
    lines = text.splitlines(keepends=True)
    column = servers.value[0][0].start_mark.column
    added = written(*new, " " * column)
    if old is None:
        end = _end(lines, servers.end_mark.line, column)
        return "".join([*lines[:end], added, *lines[end:]])
    following = next((pair for pair in servers.value if pair[0].start_mark.line > old[0].start_mark.line), None)
    limit = following[0].start_mark.line if following is not None else servers.end_mark.line
    end = _end(lines, limit, column + 1)
    return "".join([*lines[: old[0].start_mark.line], added, *lines[end:]])


def _end(lines: list[str], limit: int, column: int) -> int:
    """Behind the last line that belongs to what stands this deep: blank lines, and comments further out, do not."""
    end = limit
    while end > 0:
        line = lines[end - 1]
        depth = len(line) - len(line.lstrip())
        if line.strip() and not (line.lstrip().startswith("#") and depth < column):
            break
        end -= 1
    return end
