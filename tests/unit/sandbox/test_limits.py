"""When a box has used up what it may."""

import asyncio
from pathlib import Path

import pytest

from bascule.config.model.sandbox import Sandbox
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox import limits
from bascule.sandbox.limits import spent, taken
from bascule.sandbox.mounts.masks import identity
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.launch_request import Order


def an_order(folder: Path, room: int | None, limit: float) -> Order:
    settings = Sandbox(session_limit=limit)
    return Order("files", Lane.OPEN, Principal("alice", "s-1"), Command(("x",), {}), settings, str(folder), room)


async def test_a_box_that_has_lived_long_enough_is_told_so(tmp_path: Path):
    assert "sandbox.session_limit" in await spent(an_order(tmp_path, 10_000, 0.01), {})
    assert "sandbox.session_limit" in await spent(an_order(tmp_path, None, 0.01), {})


async def test_a_box_that_fills_the_workspace_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "PAUSE", 0.01)
    waiting = asyncio.create_task(spent(an_order(tmp_path, 10_000, 60), {}))
    (tmp_path / "small").write_bytes(b"x" * 100)
    done, _ = await asyncio.wait((waiting,), timeout=0.1)
    assert not done

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/large").write_bytes(b"x" * 20_000)
    async with asyncio.timeout(10):
        assert "workspace.quota" in await waiting


async def test_a_replaced_file_under_a_mask_ends_the_box_and_a_removed_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(limits, "PAUSE", 0.01)
    file, fresh = tmp_path / ".env", tmp_path / "fresh"
    file.touch()
    waiting = asyncio.create_task(spent(an_order(tmp_path, None, 60), {str(file): identity(str(file))}))
    fresh.touch()
    file.unlink()
    done, _ = await asyncio.wait((waiting,), timeout=0.1)
    assert not done

    fresh.replace(file)
    async with asyncio.timeout(10):
        assert f"{file} was replaced" in await waiting


def test_everything_counts_and_links_lead_nowhere(tmp_path: Path):
    nothing = taken(str(tmp_path))
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/usr")
    assert 0 < taken(str(tmp_path)) - nothing < 100_000
    assert taken(str(tmp_path / "missing")) == 0
