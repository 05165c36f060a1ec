"""MCP server loop of `bascule sandbox serve`: reads requests from stdin and runs tool calls in a thread pool.

The server has no code for levels: it runs in the sandbox of its agent session, and the lane of that sandbox decides
which network it reaches.
"""

import json
import os
import signal
import sys
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock, Thread
from typing import IO, Any

from bascule.config.state_dir import LANE_VARIABLE, WORKSPACE_VARIABLE
from bascule.core.errors import BasculeError, ConfigError, UsageError
from bascule.core.json_types import JsonObject, as_object, is_object
from bascule.core.sensitivity import Lane
from bascule.kit.sandbox_server.shell import Shell, Ticket
from bascule.kit.sandbox_server.tools import Act, SandboxTools
from bascule.kit.stdio_server import Server, answer, succeeded
from bascule.workspace.workspace import Workspace

NAME = "sandbox"

AT_ONCE = 16
"""Calls that run at the same time."""

MOST = 64
"""Calls that run or wait. A runtime sends fewer; a further call gets an error."""

LONGEST = 16 * 1024 * 1024
"""Bytes of a message. Without a limit, a line without an end would fill the memory."""

FOLDER = "/workspace"


def folder_of(environ: Mapping[str, str], unboxed: str | None) -> Path:
    """The folder that agents see as /workspace. Outside of a sandbox, raises `ConfigError` without `unboxed`."""
    if unboxed is not None:
        folder = Path(unboxed).absolute()
        if not folder.is_dir():
            raise ConfigError(f"{folder} is no folder, so there is nothing to work in", fix="name one that is there")
        return folder
    if environ.get(LANE_VARIABLE) not in {*Lane}:
        raise ConfigError(
            "the sandbox server runs whatever it is told, and here is no box around it",
            fix="let a runtime start it, with `command: bascule` and `args: [sandbox, serve]`; "
            "to try it out on a folder as yourself: `bascule sandbox serve --unboxed FOLDER`",
        )
    folder = Path(environ.get(WORKSPACE_VARIABLE) or FOLDER)
    # A runtime that only lists the tools starts the server without an agent session, so without a workspace.
    return folder if folder.is_dir() else Path(mkdtemp(prefix="workspace-"))


class SandboxServer:
    """One MCP connection over two byte streams. Calls run in threads: a long call does not delay the next request."""

    def __init__(self, folder: Path, environ: Mapping[str, str], out: IO[bytes]) -> None:
        self._workspace = Workspace(folder, bare=True)
        self._shell = Shell(AT_ONCE)
        self._tools = SandboxTools(self._workspace, self._shell, environ)
        self._server = Server(NAME, self._tools.tools, {})
        self._out = out
        self._lock = Lock()
        self._under_way: dict[Any, Ticket] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="call")

    def serve(self, into: IO[bytes]) -> None:
        """Answers requests until the input ends. Kills the commands that still run then."""
        try:
            while line := into.readline(LONGEST + 1):
                self._take(line)
                if not line.endswith(b"\n") and len(line) > LONGEST:
                    _skip_rest(into)
        finally:
            self._shell.close()
            self._pool.shutdown()
            self._workspace.close()

    def end(self) -> None:
        """Kills the commands that run, and rejects new ones."""
        self._shell.close()

    def _take(self, line: bytes) -> None:
        try:
            message: Any = json.loads(line) if len(line) <= LONGEST else None
        except (ValueError, RecursionError):
            message = None
        if not is_object(message):
            self._send(
                {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not a message of JSON-RPC"}}
            )
        elif "id" not in message:
            self._receive_notification(message)
        elif message.get("method") == "tools/call":
            self._call(message["id"], as_object(message.get("params")))
        else:
            self._reply(message["id"], answer(self._server, {**message, "params": as_object(message.get("params"))}))

    def _receive_notification(self, notice: JsonObject) -> None:
        if notice.get("method") == "notifications/cancelled":
            with self._lock:
                ticket = self._under_way.get(_key(as_object(notice.get("params")).get("requestId")))
            if ticket is not None:
                self._shell.cancel(ticket)

    def _call(self, number: Any, params: JsonObject) -> None:
        act = self._tools.acts.get(str(params.get("name")))
        if act is None:
            self._reply(number, {"error": {"code": -32602, "message": f"there is no tool {params.get('name')!r:.100}"}})
            return
        ticket = Ticket()
        with self._lock:
            taken = len(self._under_way) < MOST and self._under_way.setdefault(_key(number), ticket) is ticket
        if taken:
            self._pool.submit(self._carry_out, act, params.get("arguments") or {}, number, ticket)
        else:
            self._reply(number, {"error": {"code": -32603, "message": "too many calls at once, or one id for two"}})

    def _carry_out(self, act: Act, arguments: Any, number: Any, ticket: Ticket) -> None:
        body: Mapping[str, Any] = {"error": {"code": -32603, "message": "the sandbox server has failed at this"}}
        try:
            body = {"result": succeeded(act(arguments, ticket))}
        except BasculeError as error:
            body = {"result": _failed(error)}
        except OSError as error:
            body = {"result": _failed(UsageError(f"the system says: {error.strerror or type(error).__name__}"))}
        finally:
            with self._lock:
                del self._under_way[_key(number)]
            # MCP: a cancelled request gets no response.
            if not ticket.cancelled:
                self._reply(number, body)

    def _reply(self, number: Any, body: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": number, **body})

    def _send(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            self._out.write(json.dumps(message).encode() + b"\n")
            self._out.flush()


def serve(unboxed: str | None = None) -> None:
    """Serves stdin and stdout until stdin ends or a signal comes."""
    server = SandboxServer(folder_of(os.environ, unboxed), os.environ, sys.stdout.buffer)
    with _stop_on_signals(server):
        server.serve(sys.stdin.buffer)


@contextmanager
def _stop_on_signals(server: SandboxServer) -> Generator[None]:
    """SIGTERM and SIGINT kill the commands, then exit; a plain exit would leave the commands running. A signal handler
    alone is not enough: Python runs it between two bytecodes of the main thread, so a signal just before a blocking
    `readline()` would be handled after the next line, or never. A thread reads the wakeup fd instead."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    before = {number: signal.signal(number, _do_nothing) for number in (signal.SIGTERM, signal.SIGINT)}
    others = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    waiting = Thread(target=_wait_for_signal, args=(server, read_end), daemon=True)
    waiting.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(others)
        for number, handler in before.items():
            signal.signal(number, handler)
        # The thread reads end-of-file, and returns.
        os.close(write_end)
        waiting.join()


def _do_nothing(_number: int, _frame: object) -> None:
    """Empty on purpose: with a Python handler, the interpreter writes the signal to the wakeup fd and does not exit."""


def _wait_for_signal(server: SandboxServer, read_end: int) -> None:
    number = os.read(read_end, 1)
    os.close(read_end)
    if number:
        server.end()
        os._exit(128 + signal.SIGINT if number[0] == signal.SIGINT else 0)


def _skip_rest(into: IO[bytes]) -> None:
    while (more := into.readline(LONGEST)) and not more.endswith(b"\n"):
        pass


def _key(number: Any) -> str:
    """A request id as a dictionary key: 7 and "7" are two requests."""
    return json.dumps(number)


def _failed(error: BasculeError) -> dict[str, Any]:
    text = f"{error.message}; {error.fix}" if error.fix else error.message
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"code": error.code, "message": error.message},
        "isError": True,
        "resultType": "complete",
    }
