"""Ways out through other processes: inherited descriptors, `/proc`, tracing, and signals."""

import ctypes
import fcntl
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

from hostile.ways_out.way import PRIVATE, To, checked, libc, nibbles, syscall, way

POKE, ATTACH, DETACH = 5, 16, 17
SET_SIGNAL = 10
FIRST = 40
"""The first of 16 real-time signals that the receiver counts."""


def others() -> Iterator[int]:
    """Every process in sight but this one and its parent: in a sandbox the entry program and the forwarder."""
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) not in (os.getpid(), os.getppid()):
            yield int(each.name)


def victims(to: To) -> list[int]:
    """The receiver; in a sandbox all other processes in sight, since the receiver's number means nothing there."""
    return [*others()] if os.environ.get("BASCULE_LANE") in PRIVATE else [to["pid"]]


@way("descriptors", "Writes to every inherited descriptor above 2.")
def inherited(to: To, token: str) -> str:
    done: list[int] = []
    for number in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
        try:
            if number > 2 and number != to["keep"]:
                os.write(number, token.encode())
                done.append(number)
        except OSError:
            continue
    return f"wrote to {done}"


def every(to: To, token: str, path: str) -> str:
    """Writes to a path below `/proc` of each victim."""
    errors: list[OSError] = []
    for pid in victims(to):
        try:
            with Path(f"/proc/{pid}/{path}").open("wb", buffering=0) as file:
                file.write(token.encode())
        except OSError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return "written"


@way("proc", "Opens a pipe of another process through `/proc/PID/fd`.")
def proc_descriptor(to: To, token: str) -> str:
    return every(to, token, f"fd/{to['pipe']}")


@way("proc", "Opens the standard error of the first process in sight.")
def proc_first(to: To, token: str) -> None:
    pid = 1 if os.environ.get("BASCULE_LANE") in PRIVATE else to["pid"]
    with Path(f"/proc/{pid}/fd/2").open("wb", buffering=0) as file:
        file.write(token.encode())


@way("proc", "Writes a file through the root folder of another process.")
def proc_root(to: To, token: str) -> str:
    return every(to, token, f"root{to['outside']}/{'proc_root'}")


@way("proc", "Writes a file through the working folder of another process.")
def proc_cwd(to: To, token: str) -> str:
    return every(to, token, "cwd/proc_cwd")


@way("proc", "Writes to the memory of another process by `/proc/PID/mem`.")
def proc_memory(to: To, token: str) -> None:
    for pid in victims(to):
        handle = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        os.pwrite(handle, token.encode(), to["buffers"][0])


@way("proc", "Writes a number to the timer slack of another process.")
def proc_timer_slack(to: To, token: str) -> None:
    for pid in victims(to):
        Path(f"/proc/{pid}/timerslack_ns").write_text(str(int(token, 16)))


@way("proc", "Calls itself by a name that contains the data.", held=True,
     exception="15 bytes at a time, seen in `/proc` by processes that run on this machine outside of every sandbox.",
)  # fmt: skip
def proc_name(to: To, token: str) -> None:
    Path("/proc/self/comm").write_text(f"x{token}")


@way("tracing", "Attaches to another process as a debugger, and changes its memory.")
def ptrace(to: To, token: str) -> None:
    for pid in victims(to):
        arguments = [ctypes.c_long(pid), ctypes.c_void_p(0), ctypes.c_void_p(0)]
        checked(libc.ptrace(ATTACH, *arguments))
        os.waitpid(pid, 0x40000000)
        word = ctypes.c_long(int.from_bytes(token.encode(), "little"))
        checked(libc.ptrace(POKE, arguments[0], ctypes.c_void_p(to["buffers"][1]), word))
        libc.ptrace(DETACH, *arguments)


@way("tracing", "Writes to the memory of another process by process_vm_writev.")
def vm_write(to: To, token: str) -> None:
    data = ctypes.create_string_buffer(token.encode(), 8)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(data), 8)
    there = (ctypes.c_void_p * 2)(to["buffers"][2], 8)
    for pid in victims(to):
        checked(libc.process_vm_writev(pid, here, 1, there, 1, 0))


@way("tracing", "Takes a pipe of another process by pidfd_getfd.")
def pidfd_getfd(to: To, token: str) -> None:
    for pid in victims(to):
        os.write(syscall("pidfd_getfd", os.pidfd_open(pid), to["pipe"], 0), token.encode())


@way("limits", "Sets a resource limit of another process to a number.")
def prlimit(to: To, token: str) -> None:
    for pid in victims(to):
        _, hard = resource.prlimit(pid, resource.RLIMIT_RTTIME)
        resource.prlimit(pid, resource.RLIMIT_RTTIME, (int(token, 16), hard))


# Signals


class Info(ctypes.Structure):
    """Data of a queued signal (`siginfo_t`)."""

    _fields_ = (
        ("signo", ctypes.c_int),
        ("errno", ctypes.c_int),
        ("code", ctypes.c_int),
        ("pad", ctypes.c_int),
        ("pid", ctypes.c_int),
        ("uid", ctypes.c_uint),
        ("value", ctypes.c_long),
        ("rest", ctypes.c_char * 96),
    )


def carrying(token: str, number: int) -> "ctypes.Structure":
    return Info(signo=number, code=-1, pid=os.getpid(), uid=os.getuid(), value=int(token, 16))


@way("signals", "Sends signals, some of them several times, to a process outside.")
def kill(to: To, token: str) -> None:
    for place, nibble in enumerate(nibbles(token)):
        for _ in range(nibble + 1):
            os.kill(to["pid"], FIRST + place)


@way("signals", "Sends a signal with a number to a process outside.")
def sigqueue(to: To, token: str) -> None:
    syscall("rt_sigqueueinfo", to["pid"], 50, ctypes.byref(carrying(token, 50)))


@way("signals", "Sends a signal with a number to one thread of a process outside.")
def thread_sigqueue(to: To, token: str) -> None:
    syscall("rt_tgsigqueueinfo", to["pid"], to["pid"], 51, ctypes.byref(carrying(token, 51)))


@way("signals", "Sends a signal with a number through a descriptor of a process (pidfd_send_signal).")
def pidfd_signal(to: To, token: str) -> None:
    handle = os.pidfd_open(to["pid"])
    syscall("pidfd_send_signal", handle, 52, ctypes.byref(carrying(token, 52)), 0)


@way("signals", "Makes the kernel send signals to a process outside when a pipe can be read (F_SETOWN).")
def signal_owner(to: To, token: str) -> None:
    for place, nibble in enumerate(nibbles(token)):
        reading, writing = os.pipe()
        handle = 0x70 + 16 * place + nibble
        os.dup2(reading, handle)
        fcntl.fcntl(handle, SET_SIGNAL, 53)
        fcntl.fcntl(handle, fcntl.F_SETOWN, to["pid"])
        fcntl.fcntl(handle, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        os.write(writing, b"-")


@way("terminal", "Types on a terminal (TIOCSTI).")
def terminal_input(to: To, token: str) -> str:
    return each_terminal(
        to, lambda handle: [fcntl.ioctl(handle, 0x5412, bytes([byte])) for byte in f"{token}\n".encode()]
    )


@way("terminal", "Writes to a terminal.")
def terminal_output(to: To, token: str) -> str:
    return each_terminal(to, lambda handle: os.write(handle, token.encode()))


def each_terminal(to: To, act: Callable[[int], object]) -> str:
    """Acts on the receiver's terminal, or on all that a sandbox has for one. Raises the last error if there is none."""
    private = os.environ.get("BASCULE_LANE") in PRIVATE
    done, error = list[str](), OSError("no terminal")
    for path in ("/dev/tty", "/dev/console", to["terminal"]) if private else (to["terminal"],):
        try:
            act(os.open(path, os.O_RDWR | os.O_NOCTTY))
            done.append(path)
        except OSError as refused:
            error = refused
    if not done:
        raise error
    return f"acted on {done}"
