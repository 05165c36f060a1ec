"""What can die of a box while a server in it is asked: the box, the server, the engine that made it, and the proxy that
leads out of it."""

import os
import random
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from bascule.config.model.egress import Egress
from bascule.sandbox.egress import proxy
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.egress.proxy import EgressProxy
from support.children import descendants, name_of
from support.docker import WHOLE_LINES, DockerEngine, as_found, engine_of_its_own
from support.internet import Internet

Way = Callable[[random.Random], bool]
"""Kills one that chance picks. False: there was none."""


def killed(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


# Containers


@contextmanager
def victims_in_docker(server: str) -> Generator[dict[str, Way]]:
    """With an engine that may be crashed. Nothing of ours is left in it at the end."""
    with engine_of_its_own() as engine, as_found(engine):
        yield {
            "container": partial(_kill_a_container, engine),
            "server": partial(_kill_a_run, engine, server),
            "engine": partial(_crash_the_engine, engine),
        }
        assert _containers(engine) == []


def _containers(engine: DockerEngine) -> list[str]:
    """Of ours. None, while the engine does not answer."""
    listed = engine.tried("ps", "--all", "--quiet", "--filter=label=dev.bascule.owner")
    return listed.stdout.split()


def _kill_a_container(engine: DockerEngine, chance: random.Random) -> bool:
    found = _containers(engine)
    return bool(found) and engine.tried("kill", chance.choice(found)).returncode == 0


def _kill_a_run(engine: DockerEngine, server: str, chance: random.Random) -> bool:
    """The server itself, which is not the container's own process."""
    for name in chance.sample(found := _containers(engine), len(found)):
        listed = engine.tried("top", name, *WHOLE_LINES).stdout.splitlines()[1:]
        servers = [int(line.split()[0]) for line in listed if server in line and "entry.py" not in line]
        if any(map(killed, servers)):
            return True
    return False


def _crash_the_engine(engine: DockerEngine, chance: random.Random) -> bool:
    del chance
    engine.until_up()
    engine.crash()
    engine.until_up()
    return True


# Bubbles


@contextmanager
def victims_in_bubblewrap(server: str) -> Generator[dict[str, Way]]:
    yield {"box": _kill_a_bubble, "server": partial(_kill_a_child, server)}
    assert "bwrap" not in map(name_of, descendants())


def _kill_a_bubble(chance: random.Random) -> bool:
    """The process around a box, or the first one inside."""
    found = [pid for pid in descendants() if name_of(pid) == "bwrap"]
    return bool(found) and killed(chance.choice(found))


def _kill_a_child(server: str, chance: random.Random) -> bool:
    found = list(_running(server))
    return bool(found) and killed(chance.choice(found))


def _running(server: str) -> Iterator[int]:
    """Those that are the server, and not on the way to become it."""
    for pid in descendants():
        with suppress(OSError):
            argv = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if server in " ".join(argv) and "python" in argv[0] and not any("entry.py" in each for each in argv):
                yield pid


VICTIMS = {"docker": victims_in_docker, "bubblewrap": victims_in_bubblewrap}


# The proxy


class Proxies:
    """Those that a runtime here starts, in a small internet."""

    def __init__(self, net: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
        self._net = net
        self._made: list[EgressProxy] = []
        monkeypatch.setattr(proxy, "EgressProxy", self._make)

    def _make(self, egress: Egress, folder: str, on_access: Callable[[Access], None]) -> EgressProxy:
        self._made.append(EgressProxy(egress, folder, on_access, self._net.surroundings(folder)))
        return self._made[-1]

    def kill(self, chance: random.Random) -> bool:
        pid = chance.choice(self._made).pid if self._made else None
        return pid is not None and killed(pid)
