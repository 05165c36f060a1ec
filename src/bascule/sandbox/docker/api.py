"""Client of the Docker Engine API over its Unix socket, for Docker and podman. Paths carry no version: no single one is
known to both the oldest and the newest engine in use."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bascule.core.errors import ConnectFailed
from bascule.core.json_types import JsonObject, as_array, as_object
from bascule.sandbox.spec.engine import Run

DEFAULT_SOCKET = "/var/run/docker.sock"

ANSWER_WITHIN = 10.0
"""Seconds for an engine to answer. It does so in milliseconds, unless it hangs."""

LONGEST_ANSWER = 4 * 1024 * 1024
"""Bytes of an answer. The longest we ask for lists the containers of one label, a kilobyte each."""


@dataclass(frozen=True, slots=True)
class RunState:
    """How far something that runs in a container is."""

    running: bool
    code: int | None
    """Its exit code, once it has ended. After a signal it is 128 and the signal's number."""
    pid: int
    """Its number on the engine's machine, or 0 if it never started. It is kept after the end."""

    @property
    def started(self) -> bool:
        return self.pid > 0

    @property
    def ended(self) -> bool:
        # An engine says `running` before the program is found, and not yet `running` before it has begun to look.
        return not self.running and self.code is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine answered: a status of HTTP, and JSON, or None where there is none to be read."""

    status: int
    said: Any

    @property
    def message(self) -> str:
        """Why it says no."""
        return str(as_object(self.said).get("message", ""))


class EngineRefused(ConnectFailed):
    """The engine answered, and said no."""

    def __init__(self, status: int, said: str, **told: str) -> None:
        super().__init__(f"the container engine refused: {said or f'HTTP {status}'}", **told)
        self.status = status
        self.said = said


def socket_of(environ: Mapping[str, str]) -> str:
    """The engine's socket, as every Docker client finds it."""
    host = environ.get("DOCKER_HOST", "").strip()
    if not host:
        return DEFAULT_SOCKET
    scheme, _, path = host.partition("://")
    if scheme != "unix" or not path.startswith("/"):
        raise ConnectFailed(
            "DOCKER_HOST names no socket on this machine",
            where="connect",
            cause="a container is reached over the socket of an engine that runs here",
            fix="set DOCKER_HOST=unix:///path/to/docker.sock, or unset it",
        )
    return path


class Engine:
    """One engine. It has no connection of its own: each question opens one, and ends with it."""

    __slots__ = ("socket",)

    def __init__(self, socket: str) -> None:
        self.socket = socket

    async def prepare(self, run: Run) -> str:
        """Make ready to run something, with its three streams attached. Gives the engine's name for it."""
        asked = {
            "AttachStdin": True,
            "AttachStdout": True,
            "AttachStderr": True,
            # On a terminal both outputs would be one, and what we write would come back.
            "Tty": False,
            "Cmd": list(run.argv),
            "Env": [f"{name}={value}" for name, value in run.env.items()],
            **({"WorkingDir": run.cwd} if run.cwd is not None else {}),
        }
        made = await self.ask("POST", f"/containers/{run.container}/exec", asked)
        return str(made.get("Id", ""))

    async def look(self, run_id: str) -> RunState:
        told = await self.ask("GET", f"/exec/{run_id}/json")
        code, pid = told.get("ExitCode"), told.get("Pid")
        return RunState(
            told.get("Running") is True,
            code if isinstance(code, int) else None,
            pid if isinstance(pid, int) else 0,
        )

    async def is_up(self, container: str) -> bool:
        """Whether a container runs. One that is unknown does not."""
        told = await self.find(f"/containers/{container}/json")
        return as_object(as_object(told).get("State")).get("Running") is True

    async def find(self, path: str) -> JsonObject | None:
        """What there is at a path, or None if the engine knows nothing of it."""
        try:
            return await self.ask("GET", path)
        except EngineRefused as error:
            if error.status == 404:
                return None
            raise

    async def listed(self, path: str) -> list[JsonObject]:
        """The items of a list."""
        return [as_object(each) for each in as_array((await self._asked("GET", path, b"", ANSWER_WITHIN)).said)]

    async def ask(
        self, method: str, path: str, body: JsonObject | bytes | None = None, *, within: float | None = None
    ) -> JsonObject:
        """What the engine answers: an object, empty if it says nothing. Raises `EngineRefused` if it says no."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        return as_object((await self._asked(method, path, data, ANSWER_WITHIN if within is None else within)).said)

    async def _asked(self, method: str, path: str, data: bytes, within: float) -> Answer:
        # By HTTP/1.0, whose answers come in one piece and end with the connection.
        head = request_head(f"{method} {path} HTTP/1.0", len(data))
        try:
            async with asyncio.timeout(within):
                answer = read_answer(await self._exchange(head + data))
        except TimeoutError as error:
            raise ConnectFailed(
                f"the container engine did not answer within {within:g} s",
                where="connect",
                fix="look whether `docker ps` answers",
            ) from error
        except OSError as error:
            raise unreachable(self.socket, error) from error
        if not 200 <= answer.status < 300:
            raise EngineRefused(answer.status, answer.message, where="connect")
        return answer

    async def _exchange(self, data: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self.socket)
        try:
            writer.write(data)
            answer = bytearray()
            while piece := await reader.read(64 * 1024):
                answer += piece
                if len(answer) > LONGEST_ANSWER:
                    raise ConnectFailed(f"the container engine's answer is longer than {LONGEST_ANSWER} bytes")
            return bytes(answer)
        finally:
            writer.close()


def started(run_id: str) -> tuple[str, bytes]:
    """Where and with what an engine is asked to start what was prepared, and to put us through to it."""
    return f"/exec/{run_id}/start", b'{"Detach":false,"Tty":false}'


def request_head(line: str, size: int, *more: str) -> bytes:
    lines = (line, "Host: engine", "Content-Type: application/json", f"Content-Length: {size}", *more)
    return "".join(f"{each}\r\n" for each in (*lines, "")).encode()


def read_answer(answer: bytes) -> Answer:
    """The parts of an answer. What is not an answer at all has the status 0."""
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(b"\r\n")[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        return Answer(0, {"message": "it does not speak HTTP"})
    try:
        return Answer(int(words[1]), json.loads(body))
    except ValueError:
        return Answer(int(words[1]), None)


def unreachable(socket: str, error: OSError) -> ConnectFailed:
    cause, fix = _reason(socket, error)
    return ConnectFailed(
        f"the container engine at {socket} cannot be reached",
        where="connect",
        evidence=str(error),
        cause=cause,
        fix=fix,
    )


def _reason(socket: str, error: OSError) -> tuple[str, str]:
    if isinstance(error, PermissionError):
        fix = "run `sudo usermod -aG docker $USER` and log in again (the group of the socket), or use a rootless engine"
        return "this user may not use its socket", fix
    start = "start Docker (`sudo systemctl start docker`), or set DOCKER_HOST to the socket of your engine"
    if isinstance(error, ConnectionRefusedError) and Path(socket).exists():
        return "nobody listens at its socket: Docker has stopped", start
    return "there is no such socket: Docker is not installed, does not run, or has its socket elsewhere", start
