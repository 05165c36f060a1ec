"""Reaper: the process between the runtime and one server, which starts the server, adopts its orphans (subreaper), and
ends all of them with it, on command, or when the runtime is gone. Runs outside the package: standard library only; its
messages are in `reaper_protocol`."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import socket
import time
from contextlib import suppress

from bascule.sandbox.process import tree
from bascule.sandbox.process.reaper_protocol import KILL, TERM, Letterbox, carried, given, letter
from bascule.sandbox.process.wait import Watch, hear_again

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time it would be the largest thing here
    from typing import Any, NoReturn

POLITE = 1.0
"""Seconds that servers have to end by themselves once we are gone."""

KILLING = 1.5
"""Seconds for killing all that is left. After that it is said what could not be killed."""


class Keeper:
    """One server and everything beneath it. `run` returns when nothing of it is left."""

    def __init__(self, control: socket.socket, owner: int, *, sees_all: bool) -> None:
        self._control = control
        self._watch = Watch(owner)
        self._watch.on(control.fileno())
        self._letters = Letterbox()
        self._pipes: list[int] = []
        self._whole_tree = tree.adopt_orphans() and sees_all
        self._server = 0
        self._code: int | None = None
        self._over = False
        self.left: list[int] = []
        """What could not be ended."""

    def run(self) -> None:
        self._say(b'{"keeper":%d,"reach":"%s"}' % (os.getpid(), b"tree" if self._whole_tree else b"group"))
        while not self._over:
            ready = self._watch.wait()
            if self._watch.bereft(ready) or (self._control.fileno() in ready and not self._listen()):
                self._end_politely()
            elif self._server_ended():
                self._kill()
        if self._server:
            # One that not even KILL has ended waits for something in the kernel, and is among those left.
            code = -signal.SIGKILL if self._code is None else self._code
            self._say(b'{"exit":%d,"left":[%s]}' % (code, b",".join(b"%d" % pid for pid in self.left)))

    def _listen(self) -> bool:
        """Read what came. False if nothing will come any more."""
        try:
            data, pipes, _, _ = socket.recv_fds(self._control, 1 << 16, 3 - len(self._pipes), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for pipe in pipes:
            os.set_inheritable(pipe, False)  # noqa: FBT003 -- the system's own order of words
        self._pipes += pipes
        for text in self._letters.feed(data):
            if text == TERM:
                self._tell_group(signal.SIGTERM)
            elif text == KILL:
                self._kill()
            else:
                self._start(text)
        return bool(data)

    def _say(self, text: bytes) -> None:
        # Whoever does not want to hear it any more has hung up, and the end of the stream tells the rest.
        with suppress(OSError):
            self._control.sendall(letter(text))

    # The server

    def _start(self, order: bytes) -> None:
        if len(self._pipes) < 3:
            self._refuse(refusal(OSError(errno.EMFILE, os.strerror(errno.EMFILE))))
            return
        me = os.getpid()
        told, telling = os.pipe()
        try:
            self._server = os.fork()
        except OSError as error:
            self._refuse(refusal(error))
            return
        if self._server == 0:
            become(order, self._pipes, telling, me)
        for descriptor in (telling, *self._pipes):
            os.close(descriptor)
        # It ends without a word once the program runs: that closes the writing end.
        trouble = b""
        while more := os.read(told, 4096):
            trouble += more
        os.close(told)
        if trouble:
            os.waitpid(self._server, 0)
            self._server = 0
            self._refuse(trouble)
        else:
            self._say(b'{"server":%d}' % self._server)

    def _refuse(self, trouble: bytes) -> None:
        self._say(trouble)
        self._over = True

    def _server_ended(self) -> bool:
        """Reap what has ended, all but the server: dead, it still holds its pid, and with it the name of its group."""
        if not self._server or self._over:
            return False
        if not hasattr(os, "waitid"):
            return self._reap_server(os.WNOHANG)
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == self._server:
                return True
            os.waitpid(ended.si_pid, 0)
        return False

    def _reap_server(self, options: int) -> bool:
        pid, status = os.waitpid(self._server, options)
        if pid:
            self._tell_group(signal.SIGKILL)
            self._reaped(pid, os.waitstatus_to_exitcode(status))
        return bool(pid)

    def _tell_group(self, number: int) -> None:
        if self._server and self._code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._server, number)

    # Ending

    def _reaped(self, pid: int, code: int) -> None:
        if pid == self._server:
            self._code = code

    def _kill(self) -> None:
        """End everything, the server included."""
        if self._whole_tree:
            self.left = tree.clear(self._reaped, KILLING)
        elif self._server and self._code is None:
            self._tell_group(signal.SIGKILL)
            self._reap_server(0)
        self._over = True

    def _end_politely(self) -> None:
        """We are gone. Whatever is there may end by itself, but not take long."""
        self._tell_group(signal.SIGTERM)
        if self._whole_tree:
            me = os.getpid()
            there = tree.beneath(me)
            tree.tell(there, signal.SIGTERM, {me, *there})
        self._watch.only_children()
        deadline = time.monotonic() + POLITE
        while self._something_lives() and (rest := deadline - time.monotonic()) > 0:
            self._watch.wait(rest)
        self._kill()

    def _something_lives(self) -> bool:
        if self._whole_tree:
            return tree.reap(self._reaped)
        return bool(self._server) and not self._server_ended()


def become(order: bytes, pipes: list[int], telling: int, keeper: int) -> NoReturn:
    """Turn this fork of the keeper into the server. What is in the way is told to the keeper. The order is read here:
    the memory that takes is gone with the rest of the fork when the program starts."""
    try:
        how = json.loads(order)["start"]
        tree.die_with_parent()
        if os.getppid() != keeper:
            os._exit(1)  # it ended before we had asked to be told
        os.setsid()
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
        _be_as_we_are(how)
        os.chdir(given(how["cwd"]))
        argv = [given(word) for word in how["argv"]]
        os.execve(argv[0], argv, {given(name): given(value) for name, value in how["env"].items()})  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(telling, refusal(error))
    os._exit(1)


def _be_as_we_are(how: dict[str, Any]) -> None:
    """What a process gets from whoever starts it, and the keeper has had from us too long ago, or never."""
    hear_again()
    if how["umask"] is not None:
        os.umask(how["umask"])
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, how["nice"])
    for number, soft, hard in how["limits"]:
        with suppress(OSError, ValueError):
            resource.setrlimit(number, (soft, hard))


def refusal(error: OSError | ValueError) -> bytes:
    number, text, path = 0, str(error), b""
    if isinstance(error, OSError):
        number, text, path = error.errno, error.strerror, os.fsencode(error.filename or b"")
    return json.dumps({"refused": [number, text, carried(path)]}).encode()
