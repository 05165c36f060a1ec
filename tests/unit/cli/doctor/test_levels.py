"""Health checks of sensitivity levels and of tool pinning."""

from pathlib import Path

import pytest

from bascule.catalog.pinning.lock import Approved, Lock
from bascule.cli.doctor.levels import SHOWN, footing_check, key_check, lock_checks, store_checks, waits
from bascule.config import ServerConfig, StdioTransport
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus
from bascule.store.null_store import UnkeptLevels
from bascule.store.sqlite.store import SqliteStore


def server(**keys: object) -> ServerConfig:
    return ServerConfig(name="files", transport=StdioTransport("files"), **keys)  # pyright: ignore[reportArgumentType]


def test_a_confined_server_is_in_order():
    check = footing_check(server(isolated=StdioTransport("twin"), twin="eager"), boxed=False)

    assert (check.subject, check.status) == ("footing files", "ok")
    assert check.message == (
        "confined: its twin is declared (stdio), and opened with the server itself; every tool goes on there"
    )


def test_a_server_whose_own_command_stands_in_for_it_is_in_order():
    check = footing_check(server(), boxed=True)

    assert check.message == (
        "confined: its twin is the same in a tighter box, and opened when it is first needed; every tool goes on there"
    )


def test_a_loose_server_is_in_order_and_told_what_it_would_need():
    check = footing_check(server(), boxed=False)

    assert (check.status, check.message) == ("ok", "loose: from CONFIDENTIAL on it is asked nothing")
    assert "url_isolated" in check.fix


@pytest.mark.parametrize("level", [DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET])
def test_a_vouched_server_is_a_warning_since_nothing_checks_the_word(level: DataSensitivity):
    check = footing_check(server(vouched=level), boxed=False)

    assert check.status == "warn"
    assert check.message.startswith(f"vouched: {level.name.lower()}: ")
    assert "the operator's word" in check.message
    assert check.evidence == f"up to {level.name} it is asked all that does not connect"


def test_a_key_is_made_when_it_is_needed_and_not_by_looking(tmp_path: Path):
    assert key_check(tmp_path).status == "ok"
    assert not list(tmp_path.iterdir())


async def test_a_key_that_only_its_owner_can_read_is_in_order_and_any_other_is_not(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db", tmp_path)
    await store.levels.sessions()
    await store.close()
    key = tmp_path / "keys/levels.key"

    assert (key_check(tmp_path).status, key.stat().st_mode & 0o777) == ("ok", 0o600)
    for mode in (0o640, 0o604, 0o700):
        key.chmod(mode)
        check = key_check(tmp_path)
        assert (check.status, check.evidence) == ("fail", f"mode {mode:04o}")
        assert "chmod 600" in check.fix


def test_a_key_that_is_no_file_or_cannot_be_looked_at_is_told(tmp_path: Path):
    (tmp_path / "keys/levels.key").mkdir(parents=True, mode=0o700)
    assert key_check(tmp_path).status == "fail"
    (tmp_path / "other").write_text("a file in the way")
    assert "cannot be looked at" in key_check(tmp_path / "other").message


async def test_levels_that_are_kept_and_runtimes_that_follow_them_are_counted(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db", tmp_path)
    await store.levels.begin(Principal("alice", "s-1"), 1.0)
    await store.levels.raise_level(Principal("bob", "s-1"), DataSensitivity.SECRET, Cause("test"), 1.0)
    none = await store_checks(store.levels)
    await store.levels.register("one", 1.0)
    one = await store_checks(store.levels)
    await store.close()

    assert [check.status for check in none] == ["ok", "ok"]
    assert none[0].message == "2 agent sessions are kept, 1 of them private"
    assert none[1].message == "none is registered"
    assert one[1].message.startswith("1 registered")


async def test_agent_sessions_in_doubt_are_a_warning_that_names_some(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db", tmp_path)
    for number in range(SHOWN + 2):
        await store.levels.begin(Principal("alice", f"s-{number}"), float(number))
    (tmp_path / "bascule.db-raises").unlink()
    _, doubted, _ = await store_checks(store.levels)
    await store.close()

    assert doubted.status == "warn"
    assert doubted.message.startswith(f"{SHOWN + 2} agent sessions are SECRET")
    assert doubted.evidence.splitlines()[0] == "alice/s-6: the journal says nothing of it, and the database does"
    assert doubted.evidence.splitlines()[-1] == "and 2 more"
    assert "bascule sessions declassify" in doubted.fix


async def test_levels_that_cannot_be_read_at_all_are_a_failure():
    (check,) = await store_checks(UnkeptLevels())

    assert (check.subject, check.status) == ("levels", "fail")
    assert check.message.startswith("BSC-650")


CHANGED = ToolSpec("work_act", ToolKey("work", "act"), "d", status=ToolStatus.QUARANTINED, problem="its title; remedy")
NEW = ToolSpec("work_new", ToolKey("work", "new"), "d", status=ToolStatus.QUARANTINED, problem="it is new; remedy")
LOCK = Lock({"work": {"act": Approved("other", {})}})


def test_what_changed_is_told_from_what_is_new():
    _, changed, new = lock_checks(RuntimeConfig({}, path=Path("bascule.yaml")), LOCK, (CHANGED, NEW))

    assert changed.message == "1 tool is changed since approved, and kept from agents"
    assert changed.evidence == "work_act: its title"
    assert new.message == "1 tool is new since approved, and kept from agents"
    assert "`bascule approve work`" in new.fix


def test_only_what_a_lock_covers_waits_for_it():
    assert waits(CHANGED, LOCK)
    assert not waits(CHANGED, Lock({"other": {}}))
