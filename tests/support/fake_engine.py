"""A container engine with one container, which is this machine: what is run there are real processes, on real pipes.

It answers as Docker does, as far as we ask.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from support.http_servers import Asked, read_request, socket_file

BOX = "box"


@dataclass
class FakeRun:
    """One process, prepared or begun."""

    asked: dict[str, Any]
    running: bool = False
    code: int | None = None
    process: asyncio.subprocess.Process | None = None

    @property
    def told(self) -> dict[str, Any]:
        pid = self.process.pid if self.process is not None else 0
        return {"Running": self.running, "ExitCode": self.code, "Pid": pid}


@dataclass
class FakeEngine:
    """One engine, at `socket`. What is in `instead` is answered to a path that ends so, whatever is asked."""

    socket: str
    up: bool = True
    instead: dict[str, bytes] = field(default_factory=dict[str, bytes])
    runs: list[FakeRun] = field(default_factory=list[FakeRun])
    paths: list[str] = field(default_factory=list[str])
    has_shell: bool = True
    path: str = "/usr/bin:/bin"
    """Where it finds programs."""
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(lambda _: writer.close())

    async def stop(self) -> None:
        for run in self.runs:
            if run.process is not None and run.process.returncode is None:
                run.process.kill()
                await run.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await read_request(reader)
        self.paths.append(asked.path)
        for end, answer in self.instead.items():
            if asked.path.endswith(end):
                writer.write(answer)
                await writer.drain()
                return
        with suppress(ConnectionError):
            await self._answer(asked, reader, writer)

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match asked.path.strip("/").split("/"):
            case ["containers", name, _] if name != BOX:
                writer.write(answer(404, {"message": f"No such container: {name}"}))
            case ["containers", _, "json"]:
                writer.write(answer(200, {"State": {"Running": self.up}}))
            case ["containers", name, "exec"] if not self.up:
                writer.write(answer(409, {"message": f"Container {name} is not running"}))
            case ["containers", _, "exec"]:
                self.runs.append(FakeRun(json.loads(asked.body)))
                writer.write(answer(201, {"Id": str(len(self.runs) - 1)}))
            case ["exec", number, "json"]:
                writer.write(answer(200, self.runs[int(number)].told))
            case ["exec", number, "start"]:
                await self._start(self.runs[int(number)], json.loads(asked.body)["Detach"], (reader, writer))
            case _:
                writer.write(answer(404, {"message": "page not found"}))

    async def _start(
        self, run: FakeRun, detached: bool, ends: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:
        reader, writer = ends
        if not detached:
            writer.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        run.running = True
        env = dict(each.split("=", 1) for each in run.asked["Env"])
        argv = run.asked["Cmd"]
        try:
            if argv[0] == "sh" and not self.has_shell:
                raise FileNotFoundError("sh")
            run.process = await asyncio.create_subprocess_exec(
                *argv,
                env={"PATH": self.path, **env},
                cwd=run.asked.get("WorkingDir"),
                stdin=-1,
                stdout=-1,
                stderr=-1,
            )
        except OSError as error:
            run.running, run.code = False, 126
            told = f"OCI runtime exec failed: {error}"
            writer.write(answer(400, {"message": told}) if detached else frame(1, told.encode()))
            return
        if detached:
            writer.write(answer(200, {}))
            writer.close()
            await _until_over(run, None, None)
        else:
            await _until_over(run, reader, writer)


async def _until_over(run: FakeRun, reader: asyncio.StreamReader | None, writer: asyncio.StreamWriter | None) -> None:
    process = run.process
    assert process is not None
    assert process.stdout is not None
    assert process.stderr is not None
    taking = asyncio.ensure_future(_take(reader, process))
    await asyncio.gather(_carry(1, process.stdout, writer), _carry(2, process.stderr, writer))
    code = await process.wait()
    taking.cancel()
    run.running, run.code = False, code if code >= 0 else 128 - code


async def _take(reader: asyncio.StreamReader | None, process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):
        while reader is not None and (data := await reader.read(1 << 16)):
            process.stdin.write(data)
            await process.stdin.drain()
    process.stdin.close()


async def _carry(output: int, pipe: asyncio.StreamReader, writer: asyncio.StreamWriter | None) -> None:
    while data := await pipe.read(1 << 15):
        with suppress(ConnectionError):
            if writer is not None:
                writer.write(frame(output, data))
                await writer.drain()


def frame(output: int, data: bytes) -> bytes:
    return bytes((output, 0, 0, 0)) + len(data).to_bytes(4) + data


def answer(status: int, said: dict[str, Any]) -> bytes:
    body = json.dumps(said).encode()
    return b"HTTP/1.0 %d Said\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


@asynccontextmanager
async def fake_engine() -> AsyncGenerator[FakeEngine]:
    with socket_file() as path:
        engine = FakeEngine(path)
        async with await asyncio.start_unix_server(engine.connected, path):
            try:
                yield engine
            finally:
                await engine.stop()
