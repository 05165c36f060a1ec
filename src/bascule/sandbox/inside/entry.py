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

_DUMPABLE, _SECCOMP, _FILTER = 4, 22, 2
"""Numbers of <linux/prctl.h> and <linux/seccomp.h>: PR_SET_DUMPABLE, PR_SET_SECCOMP, SECCOMP_MODE_FILTER."""

FORWARDER_WITHIN = 10.0
"""Seconds until the way to the proxy must be open. It takes milliseconds, on a busy machine some more."""


def main(argv: "list[str]") -> "NoReturn":
    told = json.loads(argv[1])
    # The other programs of this folder: -I and -S have left only the library until here.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 -- pathlib takes too long
    proofs = importlib.import_module("probes")
    for reason in proofs.leaks(isolated=told["isolated"]):
        refuse(reason)
    env = given_environment()
    if told["mode"] == "become":
        prepare_server(told)
    else:
        prepare(told)
    if told["filter"]:
        refuse_calls(told["filter"])
        for reason in proofs.ways_out(told["lane"], told["decoys"]):
            refuse(reason)
    limit(told["limits"])
    if told["mode"] == "become":
        become(argv[2:], told["cwd"], env)
    if told["mode"] == "stay":
        pipe = follow_runtime(told["liveness"])
        sys.stdout.write(f"{TIGHT}\n")
        sys.stdout.flush()
        stay(pipe)
    sys.exit(0)


def prepare(told: "dict[str, Any]") -> None:
    """All that has to be done before the second filter."""
    if told["lane"] != "open" or told["mode"] == "stay":
        # The server runs as the same user. It must not write to a process without the second filter, nor to the first
        # process of a container, which ends with the runtime.
        hide_memory()
    if told["forwarding"] == "start":
        _start_beside(told)
    if told["forwarding"] != "none":
        wait_for_forwarder(told["port"])


def prepare_server(told: "dict[str, Any]") -> None:
    if told["init"]:
        hide_memory()
        fork_server(told)
        prepare({**told, "forwarding": "none" if told["forwarding"] == "none" else "wait"})
    else:
        prepare(told)
    if told["raising"]:
        inherit_connection(told["raising"], told["descriptor"])


def refuse(reason: str) -> "NoReturn":
    sys.stderr.write(f"bascule: this box is not tight: {reason}\n")
    sys.stderr.flush()
    os._exit(LEAKS)


# The first process


def fork_server(told: "dict[str, Any]") -> None:
    """Returns in a child, which goes on to become the server. This process stays the first one of its process
    namespace: it forwards to the proxy, reaps orphans, and ends with the exit code of the server.

    bubblewrap's own first process would not do. It runs without the second filter, and the server could write to it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    server = os.fork()
    if server == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return
    _let_go_of_pipes()
    if told["forwarding"] == "start":

        def reap(_number: int, _frame: object) -> None:
            end_with(server)

        signal.signal(signal.SIGCHLD, reap)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        _forward(told)
    refuse_calls(told["filter"])
    while True:
        end_with(server)
        signal.sigwait({signal.SIGCHLD})


def end_with(server: int) -> None:
    """Reaps the children that have ended, and ends this process if the server is one of them."""
    for pid, status in _ended():
        if pid == server:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _ended() -> "list[tuple[int, int]]":
    """The children that have ended, with their exit statuses."""
    ended: list[tuple[int, int]] = []
    with contextlib.suppress(ChildProcessError):
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            ended.append(child)
    return ended


# The way to the proxy


def wait_for_forwarder(port: int) -> None:
    deadline = time.monotonic() + FORWARDER_WITHIN
    while not _listens(port):
        if time.monotonic() > deadline:
            refuse(f"nothing leads to the proxy: nobody listens on port {port}")
        time.sleep(0.005)


def _forward(told: "dict[str, Any]") -> "NoReturn":
    """Listens on the loopback, and forwards each connection to the proxy's socket."""
    try:
        importlib.import_module("proxy_forwarder").serve(told["port"], told["socket"])  # it lies beside this file
    finally:
        os._exit(LEAKS)


def _start_beside(told: "dict[str, Any]") -> None:
    """In a grandchild: the server must not find a child that it has not started."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _let_go_of_pipes()
            _forward(told)
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


# Private lanes


def inherit_connection(path: str, descriptor: int) -> None:
    """Connects to the raise socket, at a file descriptor that the server inherits. A runtime that has gone leaves the
    server without one, so that its level cannot be read."""
    connection = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(OSError):
        connection.connect(path)
        number = connection.detach()
        if number == descriptor:
            os.set_inheritable(number, True)  # noqa: FBT003
        else:
            os.dup2(number, descriptor)
            os.close(number)


def refuse_calls(code: str) -> None:
    """Installs a seccomp filter, written in hex, for this process and all that it starts."""
    import ctypes  # noqa: PLC0415 -- the open lane does without

    class _Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    program = bytes.fromhex(code)
    whole = _Program(len(program) // 8, program)
    if error := _prctl(_SECCOMP, _FILTER, ctypes.addressof(whole)):
        refuse(f"the kernel did not take the filter of system calls: {os.strerror(error)}")


def hide_memory() -> None:
    """Closes /proc/PID/mem and the tracing of this process to processes of the same user."""
    if error := _prctl(_DUMPABLE, 0, 0):
        refuse(f"the memory of this process cannot be hidden: {os.strerror(error)}")


def _prctl(option: int, value: int, pointer: int) -> int:
    """The error number of the call, or 0."""
    import ctypes  # noqa: PLC0415 -- the open lane does without

    call = ctypes.CDLL(None, use_errno=True).prctl
    call.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    return ctypes.get_errno() if call(option, value, pointer, 0, 0) else 0


# The server


def limit(limits: "dict[str, int]") -> None:
    for name, value in limits.items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (most, most))


def become(argv: "list[str]", cwd: str, env: "dict[bytes, bytes]") -> "NoReturn":
    # Python ignores these, and what is ignored stays so in the program it becomes.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(cwd)
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
    if has_ended(pipe):
        fail(NOT_RUN, "the first program", ValueError(f"no runtime holds the liveness pipe {path} open"))
    return pipe


def has_ended(pipe: int) -> bool:
    """True if the pipe has no writer any more."""
    try:
        return not os.read(pipe, 1)
    except BlockingIOError:
        return False


def stay(pipe: int) -> "NoReturn":
    """The life of a container's first process: it reaps orphans until the runtime ends. All else in the container ends
    with it."""
    while (number := signal.sigwait(AWAITED)) not in ENDINGS:
        if number == signal.SIGIO and has_ended(pipe):
            break
        _ended()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv)
