"""Entry program of a sandbox: probes the isolation from inside, and only then becomes the server.

    python -I -S entry.py '{"mode": …, "isolated": …, …}' [server's argv …]

Failed probes go to stderr, with exit code 97. Runs outside the package: standard library only.
"""

import contextlib
import fcntl
import importlib
import json
import os
import resource
import signal
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time it would take as long as all the rest
    from typing import Any, NoReturn

LEAKS = 97
"""The exit code of a box that is not tight, or does not become so. No server of anybody's is known to use it."""

TIGHT = "bascule: the box is tight"
"""What is said by one that stays, for who waits until the box can be used."""

NOT_THERE = 127
NOT_RUN = 126
"""What shells end with when a program is missing, or cannot be run."""

ENDINGS = (signal.SIGTERM, signal.SIGINT)
AWAITED = {signal.SIGCHLD, signal.SIGIO, *ENDINGS}

PR_SET_DUMPABLE = 4
"""Of prctl(2), Linux's number for it."""

FORWARDER_WITHIN = 10.0
"""Seconds until the way to the proxy must be open. It takes milliseconds, on a busy machine some more."""


def main(argv: "list[str]") -> "NoReturn":
    told = json.loads(argv[1])
    # What else lies in this folder. Nothing was there to be found before: -I and -S leave all but the library out.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 -- pathlib takes too long
    proofs = importlib.import_module("probes")
    for reason in proofs.leaks(isolated=told["isolated"]):
        refuse(reason)
    if told["forwarding"] != "none":
        lead_to_proxy(told)
    limit(told["limits"])
    if told["mode"] == "become":
        become(argv[2:], told["cwd"])
    if told["mode"] == "stay":
        pipe = follow_runtime(told["liveness"])
        sys.stdout.write(f"{TIGHT}\n")
        sys.stdout.flush()
        stay(pipe)
    sys.exit(0)


def refuse(reason: str) -> "NoReturn":
    sys.stderr.write(f"bascule: this box is not tight: {reason}\n")
    sys.stderr.flush()
    os._exit(LEAKS)


# The way to the proxy


def lead_to_proxy(told: "dict[str, Any]") -> None:
    """Have something listen on the loopback that hands all it is given to the proxy's socket."""
    if told["forwarding"] == "start":
        try:
            forward = importlib.import_module("proxy_forwarder")  # it lies beside this file
        except ImportError as error:
            refuse(f"there is nothing that leads to the proxy: {error}")
        _start_beside(forward.serve, told["port"], told["socket"])
    deadline = time.monotonic() + FORWARDER_WITHIN
    while not _listens(told["port"]):
        if time.monotonic() > deadline:
            refuse(f"nothing leads to the proxy: nobody listens on port {told['port']}")
        time.sleep(0.005)


def _start_beside(serve: "Any", port: int, path: str) -> None:
    """In a grandchild: the server must not find a child that it has not started."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _let_go_of_pipes()
            serve(port, path)
    finally:
        os._exit(LEAKS)


def _let_go_of_pipes() -> None:
    """What the server says and hears is its own; and whoever listens hears the end only when the last has let go."""
    nowhere = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _listens(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.settimeout(FORWARDER_WITHIN)
        return tried.connect_ex(("127.0.0.1", port)) == 0


# The server


def limit(limits: "dict[str, int]") -> None:
    for name, value in limits.items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (most, most))


def become(argv: "list[str]", cwd: str) -> "NoReturn":
    # Python ignores these, and what is ignored stays so in the program it becomes.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(cwd)
        env = given_environment()
        os.execve(found(argv[0], env), argv, env)  # noqa: S606 -- no shell is wanted
    except FileNotFoundError as error:
        fail(NOT_THERE, argv[0], error)
    except (OSError, ValueError) as error:
        fail(NOT_RUN, argv[0], error)


def found(program: str, env: "dict[bytes, bytes]") -> str:
    """The whole path of a program. In an image of its own, only what runs there can tell where it lies."""
    if "/" in program:
        return program
    for folder in os.fsdecode(env.get(b"PATH", b"")).split(":"):
        path = f"{folder}/{program}"
        if folder.startswith("/") and os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            return path
    raise FileNotFoundError(f"it is on none of {os.fsdecode(env.get(b'PATH', b'')) or 'no PATH'}")


def given_environment() -> "dict[bytes, bytes]":
    """The environment as we were given it. Python may have added to its own: a locale, where there was none."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        lines = file.read().split(b"\0")
    return {name: value for name, found, value in (line.partition(b"=") for line in lines) if found}


def fail(code: int, program: str, error: Exception) -> "NoReturn":
    sys.stderr.write(f"bascule: {program} could not be started in its box: {error}\n")
    sys.stderr.flush()
    os._exit(code)


def follow_runtime(path: str) -> int:
    """The read end of the runtime's liveness pipe, as a descriptor that sends SIGIO to this process when the runtime,
    its only writer, has ended. The kernel sends it: no container engine is needed for that."""
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    try:
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        fail(NOT_RUN, "the first program", error)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
    if _ended(pipe):
        fail(NOT_RUN, "the first program", ValueError(f"no runtime holds the liveness pipe {path} open"))
    _close_to_the_server()
    return pipe


def _close_to_the_server() -> None:
    """Makes this process non-dumpable. The server is the same user, and could otherwise write to its memory
    (`/proc/1/mem`) and outlive the runtime."""
    try:
        import ctypes  # noqa: PLC0415 -- a first program that becomes the server does without

        if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0:
            return
        reason = "prctl failed"
    except (ImportError, OSError) as error:
        reason = f"this Python has no ctypes: {error}"
    refuse(f"the server could change its first process: {reason}")


def _ended(pipe: int) -> bool:
    """True if the pipe has no writer any more."""
    try:
        return not os.read(pipe, 1)
    except BlockingIOError:
        return False


def stay(pipe: int) -> "NoReturn":
    """The life of a container's first process: it reaps orphans until the runtime ends. All else in the container ends
    with it."""
    while (number := signal.sigwait(AWAITED)) not in ENDINGS:
        if number == signal.SIGIO and _ended(pipe):
            break
        _reap()
    os._exit(0)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main(sys.argv)
