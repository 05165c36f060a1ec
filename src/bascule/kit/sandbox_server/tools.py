"""Tools of the sandbox server: `run` a command; `read`, `write` and `list` files of the workspace."""

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from bascule.config.state_dir import RAISE_DESCRIPTOR_VARIABLE, RAISE_SOCKET_VARIABLE
from bascule.core.errors import InvalidArguments, UsageError
from bascule.identity.jwt.claims import SPAWN_VARIABLE
from bascule.kit.sandbox_server.shell import Shell, Ticket
from bascule.kit.stdio_server import Tool
from bascule.workspace.workspace import Workspace

TIMEOUT = 20.0
"""Default timeout of a command, in seconds. Below the default of `timeouts.call`, so that the agent gets the output."""

LONGEST = 3600.0

MOST_READ = 256 * 1024
"""Bytes that one call reads. A longer file is read in parts."""

MOST_LISTED = 1000

OURS = frozenset({SPAWN_VARIABLE, RAISE_SOCKET_VARIABLE, RAISE_DESCRIPTOR_VARIABLE})
"""Variables with which a server acts for its agent session. Commands do not inherit them."""

A = TypeVar("A", bound=msgspec.Struct)

Act = Callable[[Mapping[str, Any], Ticket], dict[str, Any]]
"""Implementation of a tool: arguments to result. The ticket cancels the call."""


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `run`: a program with its arguments, or a line for the shell."""

    argv: list[str] | None = None
    line: str | None = None
    folder: str = "/workspace"
    timeout: float = TIMEOUT


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `read`: a part of a file."""

    path: str
    offset: int = 0
    limit: int = MOST_READ


class Write(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `write`: a file, replaced or appended to."""

    path: str
    text: str | None = None
    base64: str | None = None
    mode: Literal["replace", "append"] = "replace"


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `list`: a folder."""

    path: str = "/workspace"


class SandboxTools:
    """The four tools, on one workspace."""

    def __init__(self, workspace: Workspace, shell: Shell, environ: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._shell = shell
        self._env = {name: value for name, value in environ.items() if name not in OURS}
        self.acts: Mapping[str, Act] = {act.__name__: act for act in (self.run, self.read, self.write, self.list)}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Definitions for `tools/list`. `run` has `connect`: a command reaches the network that the lane allows."""
        runs = "Run a command in this sandbox; gives its exit code and what it wrote."
        return (
            _tool(self.run, runs, _RUN, "", "write", "connect"),
            _tool(self.read, "Read a file of the workspace.", _READ, "path", "read"),
            _tool(self.write, "Write a file of the workspace, and the folders it is in.", _WRITE, "path", "write"),
            _tool(self.list, "List a folder of the workspace.", {"path": _PATH}, "", "read"),
        )

    def run(self, arguments: Mapping[str, Any], ticket: Ticket) -> dict[str, Any]:
        asked = _read(arguments, Run)
        if (asked.argv is None) == (asked.line is None) or asked.argv == []:
            raise InvalidArguments("a command is either `argv`, a list that is not empty, or `line`")
        if not 0 < asked.timeout <= LONGEST:
            raise InvalidArguments(f"`timeout` is above 0, and {LONGEST:g} seconds at most")
        argv = asked.argv or ["sh", "-c", asked.line or ""]
        if any("\0" in word for word in argv):
            raise InvalidArguments("no argument of a command can have a zero byte in it")
        if self._workspace.stat(asked.folder).kind != "folder":
            raise UsageError(f"{asked.folder} is no folder")
        ran = self._shell.run(argv, self._workspace.host_path(asked.folder), self._env, asked.timeout, ticket)
        return msgspec.to_builtins(ran)

    def read(self, arguments: Mapping[str, Any], _ticket: Ticket) -> dict[str, Any]:
        asked = _read(arguments, Read)
        if asked.offset < 0 or not 0 < asked.limit <= MOST_READ:
            raise InvalidArguments(f"`offset` is 0 or more, and `limit` from 1 to {MOST_READ}")
        with self._workspace.open(asked.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            begin = file.seek(min(asked.offset, size))
            data = file.read(asked.limit)
        data = _whole_letters(data) if begin + len(data) < size else data
        end = begin + len(data)
        return {**_shown(data), "size": size, **({"next_offset": end} if end < size else {})}

    def write(self, arguments: Mapping[str, Any], _ticket: Ticket) -> dict[str, Any]:
        asked = _read(arguments, Write)
        data = _given(asked)
        if asked.mode == "append":
            with self._workspace.open(asked.path, "ab") as file:
                file.write(data)
        else:
            self._workspace.write_bytes(asked.path, data)
        return {"path": asked.path, "written": len(data)}

    def list(self, arguments: Mapping[str, Any], _ticket: Ticket) -> dict[str, Any]:
        entries = self._workspace.list(_read(arguments, Listed).path)
        left_out = max(len(entries) - MOST_LISTED, 0)
        shown = [{"name": entry.name, "kind": entry.kind, "size": entry.size} for entry in entries[:MOST_LISTED]]
        return {"entries": shown, **({"left_out": left_out} if left_out else {})}


def _read(arguments: Any, shape: type[A]) -> A:
    try:
        return msgspec.convert(arguments, shape)
    except msgspec.ValidationError as error:
        raise InvalidArguments(f"the arguments do not fit: {error}") from None


def _given(asked: Write) -> bytes:
    if (asked.text is None) == (asked.base64 is None):
        raise InvalidArguments("what is written is either `text` or `base64`")
    try:
        return asked.text.encode() if asked.text is not None else base64.b64decode(asked.base64 or "", validate=True)
    except UnicodeEncodeError:
        raise InvalidArguments("`text` has halves of letters in it, which stand for no bytes") from None
    except (binascii.Error, ValueError):
        raise InvalidArguments("`base64` is not base64") from None


def _whole_letters(data: bytes) -> bytes:
    """Without a last letter that is cut off: the next part begins with it."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.start and error.end == len(data) and error.reason == "unexpected end of data":
            return data[: error.start]
    return data


def _shown(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


_TEXT: Mapping[str, Any] = {"type": "string"}
_PATH: Mapping[str, Any] = {"type": "string", "description": "Such as /workspace/notes.txt."}

_RUN: Mapping[str, Any] = {
    "argv": {"type": "array", "items": _TEXT, "minItems": 1, "description": "A program and its arguments; no shell."},
    "line": {"type": "string", "description": "In place of `argv`: a line for `sh -c`."},
    "folder": {"type": "string", "description": "Where it runs; default: /workspace."},
    "timeout": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": LONGEST,
        "description": f"Seconds until it is ended with all that it started; default: {TIMEOUT:g}.",
    },
}
_READ: Mapping[str, Any] = {
    "path": _PATH,
    "offset": {"type": "integer", "minimum": 0, "description": "In bytes; default: 0."},
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_READ, "description": f"Bytes; most: {MOST_READ}."},
}
_WRITE: Mapping[str, Any] = {
    "path": _PATH,
    "text": _TEXT,
    "base64": {"type": "string", "description": "In place of `text`, for bytes."},
    "mode": {"type": "string", "enum": ["replace", "append"], "description": "Default: replace."},
}


def _tool(act: Act, description: str, properties: Mapping[str, Any], required: str, *permissions: str) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = [required]

    def run(**arguments: Any) -> dict[str, Any]:
        return act(arguments, Ticket())

    return Tool(act.__name__, description, schema, run, permissions)
