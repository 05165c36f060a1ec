"""What lies beyond a container engine's own network: the machine that it runs on, and a host elsewhere.

Both are namespaces of the tests' own; nothing of it is this machine's network, or leads there.
"""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.docker import DockerEngine

ELSEWHERE = "203.0.113.9"
"""An address that is nobody's, by which the host elsewhere is known."""

ROUTER = "203.0.113.1"
PORT = 8080

_SERVER = """
import socket, sys, threading
heard = open(sys.argv[1], "ab", buffering=0)
listening = socket.create_server(("0.0.0.0", int(sys.argv[2])))
print("ready", flush=True)

def serve(caller):
    caller.sendall(b"hello\\n")
    while data := caller.recv(65536):
        heard.write(data)

while True:
    caller, _ = listening.accept()
    threading.Thread(target=serve, args=(caller,), daemon=True).start()
"""

CALL = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3) as there:
        print(there.recv(100).decode().strip())
except OSError as error:
    print("no:", error)
"""
"""For inside a box: says hello if there is somebody, and why not otherwise."""


@dataclass(frozen=True)
class Host:
    """Something that listens, greets who comes, and writes down what they say."""

    address: str
    heard: Path


@contextmanager
def the_machine(engine: DockerEngine, folder: Path) -> Generator[Path]:
    """A service of the machine that the engine runs on, at all of its addresses. Gives what it has heard."""
    with _serving(["nsenter", f"--net=/proc/{engine.pid}/ns/net"], folder / "machine"):
        yield folder / "machine"


@contextmanager
def elsewhere(engine: DockerEngine, folder: Path) -> Generator[Host]:
    """A host that is reached through the machine, as the internet is."""
    heard = folder / "elsewhere"
    with _serving(["unshare", "--net"], heard) as pid:
        there, here = f"--net=/proc/{pid}/ns/net", f"--net=/proc/{engine.pid}/ns/net"
        _run(
            "nsenter", here, "ip", "link", "add", "to-host", "type", "veth", "peer", "name", "to-all", "netns", str(pid)
        )
        try:
            for ns, link, address in ((here, "to-host", ROUTER), (there, "to-all", ELSEWHERE)):
                _run("nsenter", ns, "ip", "address", "add", f"{address}/24", "dev", link)
                _run("nsenter", ns, "ip", "link", "set", link, "up")
            _run("nsenter", there, "ip", "route", "add", "default", "via", ROUTER)
            yield Host(ELSEWHERE, heard)
        finally:
            _run("nsenter", here, "ip", "link", "del", "to-host")


@contextmanager
def _serving(where: list[str], heard: Path) -> Generator[int]:
    argv = [*where, sys.executable, "-I", "-S", "-c", _SERVER, str(heard), str(PORT)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield server.pid
        finally:
            server.kill()


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=30)
