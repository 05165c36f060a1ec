"""Boxes on the internet of the tests' own, by either engine."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.docker import MISSING, DockerEngine, dockerd, installed
from support.internet import Internet


@contextmanager
def made_by(engine: str, net: Internet) -> Generator[dict[str, str]]:
    """What a runtime there has to know of an engine whose open boxes reach that internet."""
    if engine == "bubblewrap":
        yield {"BASCULE_SANDBOX": engine}
        return
    if not installed():
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="bascule-docker-"))
    daemon = DockerEngine(folder, dockerd(folder), [*entering(net), "unshare", "--mount"])
    try:
        daemon.until_up()
        yield {"BASCULE_SANDBOX": engine, "DOCKER_HOST": daemon.host}
    finally:
        daemon.stop()


def entering(net: Internet) -> list[str]:
    """By which a program is started there, on the machine of the proxy."""
    inside = f"/proc/{net.near.pid}/ns"
    return ["nsenter", f"--net={inside}/net", f"--mount={inside}/mnt", "--"]
