"""A small internet in two network namespaces: in one the proxy runs as it does on a machine, with its own addresses and
name server; in the other is everybody else, those of private networks too. Nothing of it can reach anything outside.

Made-up names lead to addresses that are for documentation; so what is tried is what is in use, without exceptions."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pytest

from bascule.sandbox.egress.proxy import Surroundings, find_envoy, own_addresses

PROGRAM = Path(__file__).with_name("internet_hosts.py")

LONGEST = 20.0
"""Seconds for anything to come up."""

MISSING = "no network namespaces can be made (it needs root, ip, unshare and nsenter)"

HERE, HERE_SIX = "198.51.100.1", "2001:db8::1"
"""The addresses of the machine that the proxy runs on."""

ALLOWED, WILD, DENIED, NAMES = "198.51.100.10", "198.51.100.11", "198.51.100.20", "198.51.100.53"
ALLOWED_SIX = "2001:db8::10"

NOBODY = "198.51.100.99"
"""Of the internet, and not there."""

PRIVATE = (
    "10.9.9.9", "192.168.9.9", "172.16.9.9", "100.64.9.9", "169.254.169.254", "168.63.129.16", "192.0.0.9", "198.18.0.9",
)  # fmt: skip
PRIVATE_SIX = ("fd00::9", "fec0::9", "64:ff9b::a09:909", "2002:a09:909::9", "2001::9")

CLOSED: dict[str, list[str]] = {
    "loopback": ["127.0.0.1"],
    "other-loopback": ["127.8.8.8"],
    "unspecified": ["0.0.0.0"],
    "this-machine": [HERE],
    "this-machine-six": [HERE_SIX],
    "loopback-six": ["::1"],
    "unspecified-six": ["::"],
    "mapped": ["::ffff:127.0.0.1"],
    "mapped-private": ["::ffff:10.9.9.9"],
    "compatible": ["::127.0.0.1"],
    "link-local-six": ["fe80::1"],
    "multicast": ["224.0.0.1"],
    "multicast-six": ["ff02::1"],
    "broadcast": ["255.255.255.255"],
    "several": ["10.9.9.9", "169.254.169.254", "127.0.0.1"],
    **{f"private-{number}": [address] for number, address in enumerate((*PRIVATE, *PRIVATE_SIX))},
}
"""Names of an allowed domain that lead where no box may come, each below `.wild.test`."""

TABLE: dict[str, list[str]] = {
    "allowed.test": [ALLOWED],
    "six.allowed.test": [ALLOWED_SIX],
    "denied.test": [DENIED],
    "evilallowed.test": [DENIED],
    "allowed.test.denied.test": [DENIED],
    "wild.test": [DENIED],
    "evilwild.test": [DENIED],
    "a.wild.test": [WILD],
    "a.b.wild.test": [WILD],
    "mixed.wild.test": ["127.0.0.1", WILD, "10.9.9.9"],
    "nobody.wild.test": [NOBODY, "10.9.9.9"],
    **{f"{name}.wild.test": addresses for name, addresses in CLOSED.items()},
}


class Neighbourhood:
    """One namespace, and who listens in it. `events` are all that it has told."""

    def __init__(self, argv: list[str]) -> None:
        self.events: list[dict[str, Any]] = []
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin: IO[str] = self._process.stdin
        self._reading = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reading.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self, stdout: IO[str]) -> None:
        for line in stdout:
            self.events.append(json.loads(line))

    def wait_for(self, key: str, count: int = 1) -> None:
        deadline = time.monotonic() + LONGEST
        while len(self.told(key)) < count:
            assert time.monotonic() < deadline, f"nothing was told of {key}: {self.events}"
            assert self._process.poll() is None, "it has ended"
            time.sleep(0.005)

    def told(self, key: str) -> list[dict[str, Any]]:
        return [event for event in tuple(self.events) if key in event]

    def name(self, names: Mapping[str, list[str]]) -> None:
        self._set(names=names)

    def challenge(self, header: str, then: Mapping[str, list[str]]) -> None:
        """Answer a path with `/challenge` by a 401 with this header, and change these names as it is sent."""
        self._set(challenge={"header": header, "then": then})

    def _set(self, **told: Any) -> None:
        count = len(self.told("named"))
        self._stdin.write(json.dumps(told) + "\n")
        self._stdin.flush()
        self.wait_for("named", count + 1)

    def run(self, *argv: str) -> None:
        subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *argv], check=True, cwd="/")

    def close(self) -> None:
        self._stdin.close()
        try:
            self._process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reading.join(LONGEST)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Internet:
    """`near` is the machine of the proxy with traps on all its ports, `far` is the rest of the world."""

    def __init__(self, near: Neighbourhood, far: Neighbourhood, certificate: Path) -> None:
        self.near = near
        self.far = far
        self.certificate = certificate

    def surroundings(self, folder: str) -> Surroundings:
        """Where a proxy with this folder runs, to run here."""
        inside = f"/proc/{self.near.pid}"
        enter = ("nsenter", f"--net={inside}/ns/net", f"--mount={inside}/ns/mnt", f"--wd={folder}", "--")
        return Surroundings((*enter, find_envoy()), lambda: own_addresses(Path(inside, "net")))

    def reached(self) -> set[tuple[str, int]]:
        """Whoever was connected to until now, by address and port."""
        events = (*self.near.told("connected"), *self.far.told("connected"))
        return {(event["connected"], event["port"]) for event in events}

    def asked(self) -> list[dict[str, Any]]:
        return [event["asked"] for event in (*self.near.told("asked"), *self.far.told("asked"))]

    def looked_up(self) -> set[str]:
        return {event["looked_up"].lower() for event in self.far.told("looked_up")}


@contextmanager
def internet() -> Generator[Internet]:
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "nsenter", "openssl"))):
        pytest.skip(MISSING)
    with TemporaryDirectory(prefix="internet") as name:
        folder = Path(name)
        certificate = _certificate(folder)
        resolv, hosts = folder / "resolv.conf", folder / "hosts"
        resolv.write_text(f"nameserver {NAMES}\nsearch denied.test\n")
        hosts.write_text("127.0.0.1 localhost\n")
        program = [sys.executable, "-I", str(PROGRAM)]
        script = 'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'
        near = Neighbourhood(
            ["unshare", "--net", "--mount", "--", "sh", "-c", script, "sh", str(resolv), str(hosts), *program, "{}"]
        )
        try:
            told = json.dumps({"names": TABLE, "certificate": str(certificate)})
            far = Neighbourhood(["unshare", "--net", "--", *program, told])
            try:
                near.wait_for("ready")
                far.wait_for("ready")
                _connect(near, far)
                yield Internet(near, far, certificate)
            finally:
                far.close()
        finally:
            near.close()


def _connect(near: Neighbourhood, far: Neighbourhood) -> None:
    for each in (near, far):
        each.run("ip", "link", "set", "lo", "up")
    near.run("ip", "link", "add", "out", "type", "veth", "peer", "name", "in", "netns", str(far.pid))
    for address in (f"{HERE}/24", f"{HERE_SIX}/64"):
        near.run("ip", "address", "add", address, "dev", "out", *_at_once(address))
    addresses = (
        # The first is what is answered from, and who looks up a name takes answers from no other.
        *(f"{host}/24" for host in (NAMES, ALLOWED, WILD, DENIED, "198.51.100.254")),
        f"{ALLOWED_SIX}/64",
        "2001:db8::254/64",
        *(f"{host}/32" for host in PRIVATE),
        *(f"{host}/128" for host in PRIVATE_SIX),
    )
    for address in addresses:
        far.run("ip", "address", "add", address, "dev", "in", *_at_once(address))
    near.run("ip", "link", "set", "out", "up")
    far.run("ip", "link", "set", "in", "up")
    near.run("ip", "route", "add", "default", "via", "198.51.100.254")
    near.run("ip", "-6", "route", "add", "default", "via", "2001:db8::254")
    near.run("ip", "route", "add", "unreachable", NOBODY)


def _at_once(address: str) -> tuple[str, ...]:
    return ("nodad",) if ":" in address else ()


def _certificate(folder: Path) -> Path:
    path = folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = "subjectAltName=DNS:allowed.test,DNS:denied.test"
    subprocess.run(
        [*command, "-keyout", str(path), "-out", str(folder / "c.pem"), "-subj", "/CN=allowed.test", "-addext", names],
        check=True, capture_output=True, cwd="/",
    )  # fmt: skip
    path.write_text(path.read_text() + (folder / "c.pem").read_text())
    return path
