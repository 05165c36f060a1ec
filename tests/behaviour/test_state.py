"""Where state is kept: in a file, or in a database that the config names."""

import json
from pathlib import Path

import pytest

from bascule.core.events import CatalogChanged
from support.command import bascule
from support.runtime import Events, a_tool
from support.scenarios import from_file, write_yaml
from support.servers import argv


def config(folder: Path, store: str | None, *tools: str) -> Path:
    command, *args = argv("obeying", folder / "log", json.dumps([a_tool(tool) for tool in tools]))
    return write_yaml(folder, {"work": {"command": command, "args": args}}, **({"store": store} if store else {}))


async def changes(path: Path) -> list[CatalogChanged]:
    """What one run tells of changed listings."""
    events = Events()
    async with from_file(path, events) as session:
        await session.tools()
    return [event for event in events if isinstance(event, CatalogChanged)]


@pytest.mark.requirement("SCL-1", "CAT-4")
async def test_digests_survive_a_restart_in_every_engine(store_address: str | None, tmp_path: Path):
    (first,) = await changes(config(tmp_path, store_address, "read", "old"))
    assert await changes(config(tmp_path, store_address, "read", "old")) == []
    (second,) = await changes(config(tmp_path, store_address, "read", "new"))

    assert first.added == ("old", "read")
    assert (second.added, second.removed) == (("new",), ("old",))


@pytest.mark.requirement("SCL-1")
@pytest.mark.parametrize("reached", [True, False])
@pytest.mark.long
async def test_the_password_of_a_database_is_shown_nowhere(database: str, tmp_path: Path, reached: bool):
    host = database.removeprefix("postgresql://bascule@") if reached else "127.0.0.1:1/state"
    config(tmp_path, f"postgresql://bascule:hunter2@{host}?password=hunter2", "read")
    for arguments in (("doctor",), ("doctor", "--json"), ("list",)):
        ran = await bascule(tmp_path, *arguments)

        assert "hunter2" not in ran.out + ran.err
        assert (ran.code == 0) == reached
        if arguments[0] == "doctor":
            assert host.rpartition("/")[2] in ran.out
