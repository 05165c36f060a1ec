"""Health checks of the audit log, of folders and of the state store."""

import time
from pathlib import Path

import pytest

from bascule.cli.doctor import storage as checks
from bascule.cli.doctor.storage import audit_check, audit_checks, folder_checks, kept_checks
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.store.secrets.keys import AUDIT_KEY
from support.runtime import at_work, good, obeying


def test_an_empty_log_is_in_order(tmp_path: Path):
    assert audit_check(tmp_path, 0.0).message == "nothing is logged yet"


async def logged(state: Path) -> RuntimeConfig:
    """A state folder with a log in it, and who has it."""
    async with at_work(obeying(state.parent / "heard")) as session:
        good(await session.call("work_act"))
    return RuntimeConfig(servers={})


async def test_a_log_that_is_long_is_not_verified_here_and_it_is_said_how_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    config = await logged(tmp_path / "state")
    for log in (tmp_path / "state" / "audit").glob("*.log"):
        log.write_bytes(log.read_bytes().replace(b"work", b"wort"))
    (_, damaged) = await audit_checks(config, tmp_path / "state", time.time())
    monkeypatch.setattr(checks, "MOST_VERIFIED", 10)
    (_, left) = await audit_checks(config, tmp_path / "state", time.time())

    assert (damaged.status, left.status) == ("warn", "ok")
    assert "`bascule audit verify`" in left.message


async def test_a_log_whose_key_is_gone_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    config = await logged(tmp_path / "state")
    assert [check.status for check in await audit_checks(config, tmp_path / "state", time.time())] == ["ok"]
    (tmp_path / "state" / "keys" / AUDIT_KEY).unlink()
    (_, gone) = await audit_checks(config, tmp_path / "state", time.time())

    assert gone.status == "fail"
    assert gone.fix


def test_a_folder_that_is_not_there_yet_is_on_the_disk_of_the_one_above(tmp_path: Path):
    config = RuntimeConfig({}, workspace_root=str(tmp_path / "a/b"))
    checks = folder_checks(config, {"BASCULE_HOME": str(tmp_path / "c/d")})

    assert [(check.subject, check.status) for check in checks] == [("disk", "ok"), ("disk", "ok")]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_can_read_is_a_warning(tmp_path: Path):
    tmp_path.chmod(0o755)
    first, _ = folder_checks(RuntimeConfig({}), {"BASCULE_HOME": str(tmp_path)})

    assert (first.status, first.fix) == ("warn", f"run `chmod 700 {tmp_path}`")


async def test_a_file_is_told_by_its_folder(tmp_path: Path):
    first, *rest = await kept_checks(RuntimeConfig({}), {"BASCULE_HOME": str(tmp_path)})

    assert (first.subject, first.message) == ("state", f"kept in {tmp_path}")
    assert [check.subject for check in rest] == ["levels", "runtimes"]


@pytest.mark.long
async def test_a_database_is_told_with_its_version(tmp_path: Path, database: str):
    first, *_ = await kept_checks(RuntimeConfig({}, store=database), {"BASCULE_HOME": str(tmp_path)})

    assert "(PostgreSQL " in first.message
