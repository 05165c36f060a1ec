"""Started in the place of Python: hands its program over to the warm process at `ADDRESS`, and stands for it.

It is what others see of the program: signals sent to it go on to the program, its end is the program's end, and when it
is killed the program is killed too. It holds none of the streams, so that they end when the program ends them. What
cannot be handed over is started as ever. Only what Python has built in is imported: starting is all that this is for.
"""

import _signal  # pyright: ignore[reportMissingImports] -- what `signal` is made of
import _socket
import marshal
import os
import sys

PASSED_ON = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2, _signal.SIGTERM)
READ_AT_START = ("PYTHON", "LC_", "LANG", "FASTMCP_", "MALLOC_", "LD_", "SSL_")
"""How variables begin that are read before or while a program is loaded."""

LARGEST = 1 << 20
"""Bytes of what is handed over."""

LOST = 127
"""The exit code where the warm process is gone."""


def start(address: str, python: str, told: "dict[str, str]", first: "list[str]") -> None:
    words = first + sys.argv[1:]
    alike = all(told.get(name) == value for name, value in os.environ.items() if name.startswith(READ_AT_START))
    flags = words[:1] != ["-m"] and words[:1] != ["-c"] and words[0][:1] == "-" if words else True
    connection = None if flags or not alike else _connected(address)
    if connection is None:
        os.execv(python, [python, *words])
    _stand_for(connection, words)


def _connected(address: str) -> "_socket.socket | None":
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        connection.connect(address)
    except OSError:  # in a box, say, where nothing of this machine is to be seen
        return None
    return connection


def _stand_for(connection: "_socket.socket", words: "list[str]") -> None:
    program: list[int] = []
    early: list[int] = []

    def pass_on(signal: int, _: object) -> None:
        if program:
            os.kill(program[0], signal)
        else:
            early.append(signal)

    # Before anybody can know that the program runs.
    for signal in PASSED_ON:
        if _signal.getsignal(signal) != _signal.SIG_IGN:
            _signal.signal(signal, pass_on)
    _hand_over(connection, words)
    program.append(_told(connection))
    for signal in early:
        os.kill(program[0], signal)
    _end_like(_told(connection))


def _hand_over(connection: "_socket.socket", words: "list[str]") -> None:
    folder = os.open(".", os.O_RDONLY)
    given = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (0, 1, 2, folder))
    connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, LARGEST)
    job = marshal.dumps((words, dict(os.environ)))
    connection.sendmsg([job], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
    os.close(folder)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _told(connection: "_socket.socket") -> int:
    """The number of the process, and later how it ended."""
    told = connection.recv(64)
    if not told:
        os._exit(LOST)
    number: int = marshal.loads(told)
    return number


def _end_like(status: int) -> None:
    if os.WIFSIGNALED(status):
        signal = os.WTERMSIG(status)
        if signal != _signal.SIGKILL:
            _signal.signal(signal, _signal.SIG_DFL)
        os.kill(os.getpid(), signal)
    os._exit(os.WEXITSTATUS(status))
