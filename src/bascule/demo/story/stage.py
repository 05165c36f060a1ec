"""Stage of `bascule demo`: a temporary folder with state, files and two servers, and a TCP receiver on the loopback for
the messages sent."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import bascule
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig, Timeouts
from bascule.config.model.sandbox import NONE
from bascule.config.model.transport import StdioTransport
from bascule.config.state_dir import HOME_VARIABLE
from bascule.core.permission import Permission
from bascule.sandbox.engines import CHOICE

ENGINE = "bubblewrap"
"""What boxes are made by here: it needs no daemon, and nothing that would have to be fetched."""

PUBLIC_FILE, PRIVATE_FILE = "menu.txt", "patients.csv"

FILES = {
    PUBLIC_FILE: "Soup of the day: leek.\n",
    PRIVATE_FILE: "classification: secret\nname,diagnosis\nAda Lane,asthma\nBen Okoro,migraine\n",
}

PACKAGE = Path(bascule.__file__).parents[1]
"""Servers run from here, so that they are of this very version, wherever it was installed."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where state is kept, and which servers there are."""

    folder: Path
    config: RuntimeConfig

    @property
    def home(self) -> Path:
        return home_in(self.folder)


def home_in(folder: Path) -> Path:
    return folder / "state"


@contextmanager
def stage() -> Generator[Stage]:
    """One with the two servers of the story."""
    with ground() as folder:
        yield Stage(folder, RuntimeConfig(servers(folder / "files")))


@contextmanager
def ground() -> Generator[Path]:
    """A folder with files. Until the end of the block state is kept in it, whatever the environment says."""
    with TemporaryDirectory(prefix="bascule-demo-") as name:
        folder = Path(name)
        files = folder / "files"
        files.mkdir()
        for file, text in FILES.items():
            (files / file).write_text(text, encoding="utf-8")
        engine = NONE if os.environ.get(CHOICE) == NONE else ENGINE
        with surrounded({HOME_VARIABLE: str(home_in(folder)), CHOICE: engine}):
            yield folder


def servers(files: Path) -> dict[str, ServerConfig]:
    """One that reads files, and is believed where it says how private one is; one that sends."""
    return {
        "files": ServerConfig(
            name="files",
            transport=built_in("files", str(files)),
            permissions={name: frozenset({Permission.READ}) for name in ("list", "read")},
            trust=frozenset({"labels"}),
            timeouts=Timeouts(connect=20, call=10, close=2),
        ),
        "post": ServerConfig(
            name="post",
            transport=built_in("post"),
            permissions={"send": frozenset({Permission.WRITE, Permission.CONNECT})},
            timeouts=Timeouts(connect=20, call=10, close=2),
        ),
    }


def built_in(name: str, *args: str) -> StdioTransport:
    """How a built-in server is started."""
    return StdioTransport(command=sys.executable, args=("-m", f"bascule.demo.{name}", *args), cwd=str(PACKAGE))


@contextmanager
def surrounded(variables: Mapping[str, str]) -> Generator[None]:
    """With these variables in the environment, and afterwards with those that were there before."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


MOST = 64 * 1024
"""Bytes that are kept of one message."""

MOST_MESSAGES = 1000
"""Messages that are kept. More are taken, and forgotten."""

THANKS = b"+"
"""What a sender waits for, to know that all of it is here."""


class Receiver:
    """TCP receiver that accepts every message until it is closed, so that a send that fails had a real destination."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.address = ""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            data = await reader.read(MOST)
            while more := await reader.read(MOST):
                data = (data + more)[:MOST]
            if len(self.messages) < MOST_MESSAGES:
                self.messages.append(data)
            writer.write(THANKS)
            await writer.drain()
        except OSError:
            # Whoever hung up is not to be thanked.
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncGenerator[Receiver]:
    """A receiver at a free port, for as long as the block lasts."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.take, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    receiver.address = f"{host}:{port}"
    try:
        yield receiver
    finally:
        server.close()
        await server.wait_closed()
