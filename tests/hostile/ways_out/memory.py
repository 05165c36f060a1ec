"""Ways out by shared memory, message queues, semaphores and keys of the kernel."""

import ctypes
import os
from pathlib import Path

from hostile.ways_out.way import To, checked, libc, syscall, way

CREATE = 0o1000
USER_KEYRING = -4


@way("ipc", "Sends a message to a POSIX message queue.")
def posix_queue(to: To, token: str) -> None:
    queue = checked(_realtime().mq_open(to["queue"].encode(), os.O_WRONLY | os.O_NONBLOCK))
    checked(_realtime().mq_send(queue, token.encode(), 8, 0))


def _realtime() -> ctypes.CDLL:
    """The library with message queues: libc itself from glibc 2.34 on."""
    return libc if hasattr(libc, "mq_open") else ctypes.CDLL("librt.so.1", use_errno=True)


@way("ipc", "Sends a message to a System V message queue.")
def system_v_queue(to: To, token: str) -> None:
    queue = checked(libc.msgget(to["key"], 0))
    message = ctypes.create_string_buffer((1).to_bytes(8, "little") + token.encode())
    checked(libc.msgsnd(queue, message, 8, 0o4000))


@way("ipc", "Writes to a System V shared memory segment.")
def system_v_memory(to: To, token: str) -> None:
    segment = checked(libc.shmget(to["key"], 4096, 0))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(segment, None, 0)
    ctypes.memmove(address, token.encode(), 8)


@way("ipc", "Sets System V semaphores to numbers.")
def system_v_semaphores(to: To, token: str) -> None:
    semaphores = checked(libc.semget(to["key"], 8, 0))
    values = (ctypes.c_ushort * 8)(*(int(digit, 16) for digit in token))
    checked(libc.semctl(semaphores, 0, 17, values))


@way("ipc", "Writes a file in the shared memory folder of the machine.")
def shared_memory_file(to: To, token: str) -> None:
    Path(to["shared"]).write_text(token)


@way("keys", "Adds a key to the keyring of its user.")
def user_keyring(to: To, token: str) -> None:
    syscall("add_key", b"user", to["key_name"].encode(), token.encode(), 8, USER_KEYRING)


@way("bpf", "Makes a map whose name contains the data.", held=True)
def bpf_map(to: To, token: str) -> int:
    attributes = bytearray(72)
    attributes[0:16] = b"".join(number.to_bytes(4, "little") for number in (2, 4, 4, 1))
    attributes[28:36] = token.encode()
    buffer = (ctypes.c_char * 72).from_buffer(attributes)
    return syscall("bpf", 0, buffer, 72)
