"""Level marks that are lost, damaged, old or another session's: SECRET with the reason, or refused, and never a hang."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bascule.core.sensitivity import DataSensitivity
from support.irregular import put
from support.marked import ALICE, BOB, Project, at_least, copied_keys, is_root, of, project, remove_database
from support.runtime import running

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity

pytestmark = pytest.mark.requirement("RAT-21")


@pytest.fixture
async def work(tmp_path: Path) -> Project:
    """Two agent sessions with files in their workspaces, one of them private."""
    made = project(tmp_path)
    for who in (ALICE, BOB):
        await made.write(who)
    await made.raise_to("internal")
    return made


def lost(mark: Path, _: Path) -> None:
    mark.unlink()


def emptied(mark: Path, _: Path) -> None:
    mark.write_bytes(b"")


def cut(mark: Path, _: Path) -> None:
    mark.write_bytes(mark.read_bytes()[:-5])


def altered(mark: Path, _: Path) -> None:
    mark.write_bytes(mark.read_bytes().replace(b'"s-1",1', b'"s-1",0'))


def of_another_session(mark: Path, others: Path) -> None:
    kept = mark.read_bytes()
    mark.write_bytes(others.read_bytes())
    others.write_bytes(kept)


def link(mark: Path, _: Path) -> None:
    mark.rename(mark.with_name("kept"))
    mark.symlink_to("kept")


def fifo(mark: Path, _: Path) -> None:
    put("a FIFO", mark)


def folder(mark: Path, _: Path) -> None:
    put("a folder", mark)


def socket(mark: Path, _: Path) -> None:
    put("a socket", mark)


def device(mark: Path, _: Path) -> None:
    put("a device", mark)


def of_another_user(mark: Path, _: Path) -> None:
    if not is_root():
        pytest.skip("only root can give a file away")
    os.chown(mark, 65534, 65534)


Damage = Callable[[Path, Path], None]
DAMAGES: list[Damage] = [
    *(lost, emptied, cut, altered, of_another_session, link, fifo, folder, socket, device, of_another_user)
]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_mark_is_secret_with_the_reason_until_it_is_declassified(work: Project, damage: Damage):
    damage(work.mark(), work.mark(BOB))
    listed = {each["user"]: each for each in (await work.json("sessions"))["sessions"]}
    assert (listed["alice"]["level"], listed["alice"]["doubt"] != "") == ("secret", True)
    used = await work.used()
    assert (used.code, used.json["lane"]) == (0, "sealed")
    doubt = (await work.shown())["doubt"]
    assert "workspace" in doubt
    # Another start changes nothing, and neither does a raise.
    raised = await work.json("sessions", "raise", *of(ALICE), "--to", "confidential")
    assert (raised["level"], (await work.used()).json["lane"]) == ("secret", "sealed")

    lowered = await work.declassify("public")
    assert (lowered["level"], lowered["doubt"]) == ("public", "")
    receipts = (await work.shown())["receipts"]
    assert [each["cause"]["by"].partition(" ")[0] for each in receipts] == ["operator", "operator", "level", "operator"]
    assert receipts[2]["cause"]["reason"] == doubt
    assert (await work.used()).json["lane"] == "open"
    # Nobody lowers what nobody looked at.
    other = (await work.shown(BOB))["doubt"]
    assert ("another agent session" in other) is (damage is of_another_session)


@pytest.mark.parametrize("damage", [lost, emptied, of_another_session, fifo])
async def test_a_damaged_mark_in_another_store_is_secret_or_refused(work: Project, damage: Damage):
    remove_database(work.state)
    damage(work.mark(), work.mark(BOB))
    # The note that this store has marks is not there: the files themselves tell that a mark is missing.
    used = await work.used()
    if used.code == 0:
        assert used.json["lane"] == "sealed"
        assert (await work.shown())["doubt"] != ""


async def test_marks_under_another_key_are_secret(work: Project):
    copied_keys(work.state, work.folder / "second")
    (work.folder / "second/keys/levels.key").write_bytes(b"x" * 32)
    env = {"BASCULE_HOME": str(work.folder / "second")}
    used = await work.used(env=env)
    if used.code == 0:
        assert used.json["lane"] == "sealed"
        assert "another key" in (await work.shown(env=env))["doubt"]


async def test_an_older_copy_of_a_mark_lowers_nothing(work: Project):
    older = work.mark().read_bytes()
    await work.raise_to("confidential")
    work.mark().write_bytes(older)
    used = await work.used()
    assert (used.json["lane"], (await work.shown())["level"]) == ("proxied", "confidential")
    # The mark follows the store again.
    remove_database(work.state)
    await work.used()
    assert at_least((await work.shown())["level"], "confidential")


async def test_an_older_copy_of_the_store_is_secret_or_refused(work: Project):
    (work.folder / "copy").mkdir()
    for path in work.state.glob("bascule.db*"):
        shutil.copy(path, work.folder / "copy")
    await work.raise_to("confidential")
    remove_database(work.state)
    for path in (work.folder / "copy").iterdir():
        shutil.copy(path, work.state)

    used = await work.used()
    if used.code == 0:
        assert used.json["lane"] == "sealed"
        assert "ahead of the store" in (await work.shown())["doubt"]
        # A raise in the older store does not make it newer.
        await work.run("sessions", "raise", *of(ALICE), "--to", "confidential")
        assert (await work.used()).json["lane"] in {"sealed", "proxied"}
        assert at_least((await work.shown())["level"], "confidential")


@pytest.mark.parametrize("damage", [lost, emptied, of_another_session, link, fifo, folder])
async def test_damage_while_two_runtimes_run_lowers_nothing(
    work: Project, damage: Damage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(work.state))
    keys: dict[str, Any] = {"workspace_root": str(work.folder / "workspaces")}
    async with running(**keys) as one, running(**keys) as two:
        sessions = [runtime.session("alice", "s-1") for runtime in (one, two)]
        for session in sessions:
            await session.begin()
        damage(work.mark(), work.mark(BOB))
        await sessions[0].add_private_dataset("payroll", CONFIDENTIAL)
        assert all(session.sensitivity >= CONFIDENTIAL for session in sessions)
        await sessions[1].add_private_dataset("patients", CONFIDENTIAL)
        assert all(session.sensitivity >= CONFIDENTIAL for session in sessions)
    async with running(**keys) as again:
        session = again.session("alice", "s-1")
        await session.begin()
        assert session.sensitivity is SECRET
