"""Process under a reaper, from the runtime's side: pipes, pid, exit code, and the messages that end it. The server's
umask, niceness and limits are the runtime's, although a reaper starts it."""

import asyncio
import json
import logging
import os
import resource
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from bascule.core.errors import SandboxError
from bascule.sandbox.process.fork_server import Nursery, greeted, never_greeted, nursery
from bascule.sandbox.process.pipe_end import PipeEnd
from bascule.sandbox.process.reaper_protocol import KILL, TERM, Letterbox, carried, letter

_log = logging.getLogger("bascule.sandbox")

AnyValue = TypeVar("AnyValue")

LASTING = ("Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:", "Seccomp")
"""Lines of a process's status that say what it may do."""

NAMESPACES = ("mnt", "net", "pid_for_children", "user")

_PROC = "/proc/self"
_LIMITS = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))


class Inheritance(NamedTuple):
    """Attributes that a process inherits from its parent, as they are in the runtime now. Servers are started by
    reapers, and still get the runtime's."""

    standing: tuple[Any, ...]
    """Who we are, what we may do, and in which part of the system we live. A nursery has this from the moment in which
    it was started; once we have given up a right, or moved, servers must not come from there any more."""
    passing: dict[str, Any]
    """What may change at any time without much ado, and so goes along with every start."""


def inheritance() -> Inheritance:
    status = _read("status").splitlines()
    root = os.stat("/")  # noqa: PTH116 -- this is done for every server, and pathlib would take most of the time
    standing = (
        os.getpid(),
        (os.getuid(), os.geteuid(), os.getgid(), os.getegid()),
        (root.st_dev, root.st_ino),
        tuple(line for line in status if line.startswith(LASTING)),
        tuple(map(_namespace, NAMESPACES)),
        _read("cgroup"),
    )
    passing = {
        "umask": next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "limits": [(number, *resource.getrlimit(number)) for number in _LIMITS],
    }
    return Inheritance(standing, passing)


def _read(name: str) -> str:
    try:
        with open(f"{_PROC}/{name}") as file:  # noqa: PTH123
            return file.read()
    except (FileNotFoundError, PermissionError):  # not Linux; what is only not to be had just now is no answer
        return ""


def _namespace(name: str) -> str:
    try:
        return os.readlink(f"{_PROC}/ns/{name}")  # noqa: PTH115
    except (FileNotFoundError, PermissionError):
        return ""


HATCHING = 20.0
"""Seconds until a keeper must have answered. It takes milliseconds, and some ten more with the start of a nursery."""

ATTEMPTS = 3
"""How often a start is tried when a keeper was killed in the middle of it."""

KILLING = 5.0
"""Seconds for a keeper to kill all that is beneath it. It gives up after less; one that says nothing then is killed."""

PAUSE = 0.001
"""Seconds between two attempts to hand a nursery more than it has come to yet."""


class _KeeperGone(Exception):
    """The keeper ended before the server ran."""


class Kept:
    """One process and its keeper. `exited` is done, with the exit code (negative for a signal), when nothing is left of
    it and of all that it ever started."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.pid = 0
        self.keeper = 0
        self.orphaned = False
        """Whether its keeper ended first, and it with the keeper."""
        self.exited: asyncio.Future[int] = loop.create_future()
        self._greeted: asyncio.Future[None] = loop.create_future()
        self._started: asyncio.Future[Exception | None] = loop.create_future()
        self._asked = False
        self._letters = Letterbox()
        (stdin, ours_in), (ours_out, stdout), (ours_err, stderr) = _three_pipes()
        self._given = [stdin, stdout, stderr]
        self.stdin, self.stdout, self.stderr = PipeEnd(ours_in, "wb"), PipeEnd(ours_out, "rb"), PipeEnd(ours_err, "rb")
        try:
            self._control, self._theirs = socket.socketpair()
        except OSError:
            self._close_pipes()
            raise
        self._control.setblocking(False)  # noqa: FBT003

    async def start(self, keepers: Nursery, how: dict[str, Any]) -> None:
        """Have a keeper made, and the process by it."""
        try:
            async with asyncio.timeout(HATCHING):
                await self._ask(keepers, how)
                await self._greeted
        except OSError as error:
            # TimeoutError is one of these, and is for those to hear who wait.
            if isinstance(error, TimeoutError):
                raise
            raise _KeeperGone from error
        if trouble := await self._started:
            raise trouble

    async def _ask(self, keepers: Nursery, how: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        while not keepers.order(self._theirs):  # noqa: ASYNC110 -- a socket that several loops write to
            await asyncio.sleep(PAUSE)
        self._theirs.close()
        loop.add_reader(self._control.fileno(), self._read)
        text = letter(json.dumps({"start": how}).encode())
        sent = socket.send_fds(self._control, [text], self._given)
        self._close_given()
        if sent < len(text):
            await loop.sock_sendall(self._control, text[sent:])
        self._asked = True

    def terminate(self) -> None:
        """Ask it to end, and its group."""
        self._say(TERM)

    async def kill(self) -> None:
        """End everything beneath the keeper, and wait until that is done. It takes as long as the kernel needs."""
        if self._theirs.fileno() >= 0 or self.exited.done():
            return  # there never was a keeper, or it is gone
        self.strike()
        done, _ = await asyncio.wait((self.exited,), timeout=KILLING)
        if not done:
            self._give_up()

    def let_go(self) -> None:
        """Close whatever of ours is still open."""
        self._hang_up()
        self._theirs.close()
        self._close_pipes()

    async def discard(self) -> None:
        await self.kill()
        self.let_go()

    def strike(self) -> None:
        """The same, without waiting."""
        if self._asked:
            self._say(KILL)
        else:
            with suppress(OSError):
                # It has half a letter. The end of the stream tells it that the rest will not come.
                self._control.shutdown(socket.SHUT_WR)

    def _give_up(self) -> None:
        """The keeper does nothing any more. Without it, the kernel ends the server, and the nursery the rest."""
        if self.keeper:
            # The stream has not ended, so it lives, and the pid is its own.
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.keeper, signal.SIGKILL)
        self._gone()

    def _say(self, text: bytes) -> None:
        if self._control.fileno() >= 0:
            with suppress(OSError):
                self._control.send(letter(text))

    def _read(self) -> None:
        try:
            data = self._control.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._gone()
        for text in self._letters.feed(data):
            self._hear(json.loads(text))

    def _hear(self, said: dict[str, Any]) -> None:
        match said:
            case {"keeper": pid, "reach": reach}:
                self.keeper = pid
                greeted(reach)
                _settle(self._greeted, None)
            case {"server": pid}:
                self.pid = pid
                _settle(self._started, None)
            case {"refused": [number, text, path]}:
                trouble = OSError(number, text, path or None) if number else ValueError(text)
                _settle(self._started, trouble)
                _settle(self._greeted, None)
            case {"exit": code, "left": left}:
                if left:
                    _log.warning("the processes %s could not be ended", ", ".join(map(str, left)))
                _settle(self.exited, code)
                self._gone()
            case _:
                self._gone()

    def _gone(self) -> None:
        """Nothing more will come."""
        self._hang_up()
        if not self.exited.done():
            self.orphaned = True
        _settle(self._greeted, None)
        _settle(self._started, _KeeperGone())
        _settle(self.exited, -signal.SIGKILL)

    def _hang_up(self) -> None:
        if self._control.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._control.close()

    def _close_given(self) -> None:
        while self._given:
            os.close(self._given.pop())

    def _close_pipes(self) -> None:
        self._close_given()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.discard()


async def keep(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> Kept | None:
    """Start a process under a keeper of its own. None where there can be no keepers. Whoever stops waiting for it has
    nothing to clean up."""
    now = inheritance()
    how = {
        "argv": [carried(os.fsencode(word)) for word in argv],
        "env": {carried(os.fsencode(name)): carried(os.fsencode(value)) for name, value in env.items()},
        "cwd": carried(os.fsencode(os.path.join(_here(), cwd or ""))),  # noqa: PTH118 -- a dot in it would be lost
        **now.passing,
    }
    for _ in range(ATTEMPTS):
        keepers = nursery(now.standing)
        if keepers is None:
            return None
        process = Kept()
        try:
            await process.start(keepers, how)
        except _KeeperGone:
            await process.discard()
        except TimeoutError:
            # Should a keeper come to life after all, the end of the stream is the first thing it meets.
            process.let_go()
            break
        except BaseException:
            await asyncio.shield(process.discard())
            raise
        else:
            return process
    if never_greeted("no keeper has come to life"):
        return None
    raise SandboxError(
        "no keeper could be made for it",
        cause="they are ended by something else before they have done anything",
        fix="look for what ends processes here: the system's log tells if memory has run out",
    )


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 -- a folder that was removed has no path
    except OSError:
        return "/"


def _three_pipes() -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    try:
        for _ in range(3):
            made.append(os.pipe())  # noqa: PERF401 -- those made before one that failed are to be closed
    except OSError:
        for end in (end for pair in made for end in pair):
            os.close(end)
        raise
    return made


def _settle(future: asyncio.Future[AnyValue], value: AnyValue) -> None:
    if not future.done():
        future.set_result(value)
