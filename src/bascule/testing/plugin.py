"""Pytest plugin with fixtures for test clients. Every pytest run with Bascule installed loads it, so it imports nothing
of Bascule before a fixture is used."""

from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from bascule.testing.calls import Calls
    from bascule.testing.clients import Client


class MakesClients(Protocol):
    """`bascule_client(server, user="alice", session="s-1", **rules)`: see `bascule.testing.clients`."""

    def __call__(
        self, server: object, *, user: str = ..., session: str = ..., **rules: object
    ) -> "AbstractAsyncContextManager[Client]": ...


@pytest.fixture
def bascule_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, which all of Bascule uses in the test, commands that it starts included."""
    folder = tmp_path / "bascule-home"
    monkeypatch.setenv("BASCULE_HOME", str(folder))
    return folder


@pytest.fixture
def bascule_calls() -> "Calls":
    """What was called by all clients of the test, in order."""
    from bascule.testing.calls import Calls  # noqa: PLC0415 -- see above

    return Calls()


@pytest.fixture
def bascule_client(bascule_home: Path, bascule_calls: "Calls") -> MakesClients:
    """Makes clients: `async with bascule_client(server, user="alice", session="s-1") as c:`."""
    from bascule.testing.clients import client  # noqa: PLC0415 -- see above

    return partial(client, home=bascule_home, calls=bascule_calls)
