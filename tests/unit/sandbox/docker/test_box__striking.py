"""What runs in a container, seen and ended from outside."""

from pathlib import Path

import pytest

from bascule.sandbox.docker import box
from bascule.sandbox.docker.box import processes_of, strike
from support.docker import DockerEngine
from support.waiting import until


@pytest.mark.long
async def test_all_that_runs_in_one_is_killed_and_nothing_in_another(daemon: DockerEngine):
    with daemon.container() as struck, daemon.container() as spared:
        ids = [daemon.run("inspect", "--format={{.Id}}", each.name) for each in (struck, spared)]
        daemon.run("exec", "--detach", struck.name, "sleep", "600")
        assert len(processes_of(ids[0])) >= 2

        assert strike(ids[0])

        assert processes_of(ids[0]) == []
        assert processes_of(ids[1])
        await until(lambda: struck.name not in daemon.run("ps", "--format={{.Names}}").split())
        assert spared.name in daemon.run("ps", "--format={{.Names}}").split()


def test_what_cannot_be_ended_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A process that is seen and is not there: it cannot be killed, and does not go."""
    (tmp_path / "4194999").mkdir()
    (tmp_path / "4194999" / "cgroup").write_text("0::/docker/abc\n")
    (tmp_path / "4194999" / "stat").write_text("4194999 (server) S 1")
    monkeypatch.setattr(box, "PROCESSES", tmp_path)
    monkeypatch.setattr(box, "STRUCK_WITHIN", 0.05)

    assert processes_of("abc") == [4194999]
    assert not strike("abc")
    (tmp_path / "4194999" / "stat").write_text("4194999 (server) Z 1")
    assert strike("abc")
