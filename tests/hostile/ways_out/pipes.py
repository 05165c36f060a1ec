"""Ways out by FIFOs in folders that a sandbox shows."""

import ctypes
import os
from pathlib import Path
from typing import Any

from hostile.ways_out.local_sockets import PLACES
from hostile.ways_out.way import To, add, bits, libc, way


def written(path: str, token: str, flags: int = os.O_WRONLY) -> None:
    handle = os.open(path, flags | os.O_NONBLOCK)
    os.write(handle, token.encode())
    os.close(handle)


def _into(place: str, flags: int) -> Any:
    return lambda to, token: written(f"{to[place]}/fifo", token, flags)


for _place, (_server, _words) in PLACES.items():
    add(f"fifo_write_{_place}", "fifo", f"Writes to a FIFO in {_words}.", _into(_place, os.O_WRONLY), server=_server)
    add(
        f"fifo_both_{_place}",
        "fifo",
        f"Opens a FIFO in {_words} for reading and writing, and writes.",
        _into(_place, os.O_RDWR),
        server=_server,
    )


@way("fifo", "Writes to a FIFO through a descriptor that was opened for its path alone.")
def fifo_path_descriptor(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/fifo", os.O_PATH)
    written(f"/proc/self/fd/{handle}", token)


@way("fifo", "Writes to a FIFO by opening its read end again through `/proc/self/fd`.")
def fifo_reopened(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/fifo", os.O_RDONLY | os.O_NONBLOCK)
    written(f"/proc/self/fd/{handle}", token)


@way("fifo", "Moves pages into a FIFO (vmsplice).")
def fifo_splice(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/fifo", os.O_WRONLY | os.O_NONBLOCK)
    data = ctypes.create_string_buffer(token.encode(), 8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(data), 8)
    if libc.vmsplice(handle, vector, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "vmsplice")


@way("fifo", "Opens some of 32 FIFOs for reading: a writer observes which of them have a reader.", held=True)
def fifo_readers(to: To, token: str) -> None:
    for position in bits(token):
        os.open(f"{to['args']}/fifos/{position:02}", os.O_RDONLY | os.O_NONBLOCK)


@way("fifo", "Reads a number of bytes from two FIFOs: their writer observes how much is left.")
def fifo_drained(to: To, token: str) -> None:
    for name, amount in (("high", int(token[:4], 16)), ("low", int(token[4:], 16))):
        handle = os.open(f"{to['args']}/drained/{name}", os.O_RDONLY | os.O_NONBLOCK)
        taken = 0
        while taken < amount:
            taken += len(os.read(handle, amount - taken))


@way("fifo", "Makes a FIFO in a writable folder, and writes to the process that opens it.",
     server="mounts", held=True, exception="A writable mount is storage that the operator shares: it holds what is written to it.",
)  # fmt: skip
def fifo_made(to: To, token: str) -> None:
    path = Path(to["rw"], "made.fifo")
    os.mkfifo(path)
    path.chmod(0o666)
    os.write(os.open(path, os.O_RDWR), token.encode())
