"""Which engines are found here."""

from pathlib import Path

import pytest

from bascule.sandbox.discovery import find_engines, reap
from bascule.sandbox.owner import RUN, Owner


@pytest.fixture
def owner(tmp_path: Path):
    owner = Owner(tmp_path / "state")
    yield owner
    owner.release()


async def test_an_engine_that_is_not_there_is_told_with_the_reason(owner: Owner, tmp_path: Path):
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock", "BASCULE_SANDBOX": "docker"}
    found = await find_engines(environ, owner)

    assert found.engines.found == ()
    assert "nobody.sock" in found.engines.missing["docker"]
    assert found.engines.missing["bubblewrap"] == "BASCULE_SANDBOX=docker"
    await found.close()


async def test_an_engine_on_another_machine_is_none_of_ours(owner: Owner):
    environ = {"DOCKER_HOST": "tcp://198.51.100.7:2375", "BASCULE_SANDBOX": "docker"}
    found = await find_engines(environ, owner)

    assert found.engines.found == ()
    assert "DOCKER_HOST" in found.engines.missing["docker"]


async def test_what_is_not_looked_for_is_not_tried(owner: Owner):
    found = await find_engines({"BASCULE_SANDBOX": "none"}, owner)

    assert found.engines.found == ()
    assert found.engines.missing == dict.fromkeys(("docker", "bubblewrap"), "BASCULE_SANDBOX=none")


async def test_the_folders_of_runtimes_that_were_killed_are_removed_and_of_no_other(tmp_path: Path, owner: Owner):
    state = owner.state
    (state / RUN / "abandoned").mkdir()
    (state / RUN / "abandoned" / "lock").touch()
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}

    assert await reap(state, environ) == ["the folder of abandoned"]
    assert owner.folder.is_dir()
    assert await reap(state, {"DOCKER_HOST": "tcp://198.51.100.7:2375"}) == []
