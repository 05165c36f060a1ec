"""What runs outside our process, run by a test without a nursery, and spoken to over its sockets."""

import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bascule.sandbox.process.reaper_protocol import Letterbox, letter
from support.survivors import end_all

PATIENCE = 20.0
"""Seconds for anything to happen."""

KEEPER = """
import os, socket, sys
from bascule.sandbox.process.reaper import Keeper
from bascule.sandbox.process.wait import prick_up_ears
control, owner, sees_all, *missing = sys.argv[1:]
for name in missing:
    delattr(os, name)
prick_up_ears()
Keeper(socket.socket(fileno=int(control)), int(owner), sees_all=sees_all == "1").run()
"""

BROOD = """
import socket, sys
from bascule.sandbox.process.fork_server_main import Brood
Brood(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])).run()
"""


class Line:
    """Our end of a control socket."""

    def __init__(self, control: socket.socket) -> None:
        self.socket = control
        self.socket.settimeout(PATIENCE)
        self._letters = Letterbox()
        self._waiting: list[Any] = []
        self.mark = {"STARTED_BY": str(uuid.uuid4())}
        """Carried by every server that is started over it, and by all that that starts."""

    def hear(self) -> Any:
        """The next letter, or None at the end."""
        while not self._waiting:
            data = self.socket.recv(4096)
            if not data:
                return None
            self._waiting += [json.loads(text) for text in self._letters.feed(data)]
        return self._waiting.pop(0)

    def say(self, content: object) -> None:
        self.socket.sendall(letter(json.dumps(content, separators=(",", ":")).encode()))

    def start(self, *argv: str, env: Mapping[str, str] | None = None, cwd: str = "/", **how: Any) -> None:
        """Order a program whose three pipes lead nowhere, unless `pipes` says otherwise."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        pipes: Sequence[int] = how.pop("pipes", [nowhere] * 3)
        order = {
            "argv": argv,
            "env": {**self.mark, **(env or {})},
            "cwd": cwd,
            "umask": None,
            "nice": 0,
            "limits": [],
            **how,
        }
        text = letter(json.dumps({"start": order}).encode())
        try:
            sent = socket.send_fds(self.socket, [text], pipes) if pipes else 0
            self.socket.sendall(text[sent:])
        finally:
            os.close(nowhere)


@contextmanager
def outside(
    program: str, owner: int, *arguments: str, ends_well: bool = True
) -> Generator[tuple[Line, subprocess.Popen[bytes]]]:
    """A process that was given one end of a socket and a pidfd. It ends by itself once the socket is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(theirs.fileno()), str(owner), *arguments],
            pass_fds=[theirs.fileno(), *([owner] if owner >= 0 else [])],
        )
    line = Line(ours)
    try:
        with ours:
            yield line, process
        assert (process.wait(PATIENCE) == 0) == ends_well
    finally:
        process.kill()
        process.wait()
        end_all(f"STARTED_BY={line.mark['STARTED_BY']}")


@contextmanager
def keeper(
    owner: int = -1, *missing: str, sees_all: bool = True, ends_well: bool = True
) -> Generator[tuple[Line, subprocess.Popen[bytes]]]:
    with outside(KEEPER, owner, "1" if sees_all else "0", *missing, ends_well=ends_well) as made:
        yield made


@contextmanager
def somebody() -> Generator[tuple[int, subprocess.Popen[bytes]]]:
    """A process that lives until it is killed, and a pidfd of it."""
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        handle = os.pidfd_open(process.pid)
        try:
            yield handle, process
        finally:
            os.close(handle)
            process.kill()
