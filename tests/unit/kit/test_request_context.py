import asyncio
import os
from collections.abc import Generator
from pathlib import Path
from threading import Thread

import anyio.to_thread
import pytest

from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import WORKSPACE_VARIABLE
from bascule.core.errors import NotIdentified, UsageError, WorkspaceError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.identity.current import CURRENT as WHO
from bascule.identity.current import get_session_id, get_user_id
from bascule.kit.request_context import IDLE, Home
from bascule.sensitivity.private_data import CURRENT as SEEN
from bascule.sensitivity.private_data import PrivateData
from bascule.workspace.host_paths import CURRENT as WORKSPACE
from bascule.workspace.host_paths import current_workspace
from support.kit import ALICE, BOB


@pytest.fixture
def home(tmp_path: Path) -> Generator[Home]:
    made = Home("records", folder=tmp_path)
    yield made
    made.close()


def nothing_is_set() -> bool:
    return (WHO.get(), WORKSPACE.get(), SEEN.get()) == (None, None, None)


def write(text: str) -> str:
    workspace = current_workspace()
    assert workspace is not None
    workspace.write_text("note", text)
    return workspace.read_text("note")


def test_in_its_course_a_request_has_a_user_files_and_what_was_seen(home: Home) -> None:
    with home.course_of(ALICE):
        assert (get_user_id(), get_session_id(), write("hers")) == ("alice", "s-1", "hers")
        PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
        assert PrivateData().sensitivity is DataSensitivity.CONFIDENTIAL
    with home.course_of(BOB):
        assert PrivateData().sensitivity is DataSensitivity.PUBLIC
        assert write("his") == "his"
    with home.course_of(ALICE):
        assert (found := current_workspace()) is not None
        assert found.read_text("note") == "hers"


def test_after_it_nothing_is_left_whatever_it_raised(home: Home) -> None:
    with pytest.raises(ZeroDivisionError), home.course_of(ALICE):
        raise ZeroDivisionError

    assert nothing_is_set()
    with pytest.raises(NotIdentified):
        get_user_id()
    with pytest.raises(UsageError):
        PrivateData().add_private_dataset("patients", DataSensitivity.SECRET)


def test_a_course_in_a_course_is_its_own(home: Home) -> None:
    with home.course_of(ALICE):
        with home.course_of(BOB):
            assert get_user_id() == "bob"
            write("his")
        assert get_user_id() == "alice"
        assert (mine := current_workspace()) is not None
        assert not mine.exists("note")


def test_a_workspace_that_is_at_hand_for_the_same_principal_is_used(home: Home, tmp_path: Path) -> None:
    other = Home("another", folder=tmp_path / "other")
    with other.course_of(ALICE), home.course_of(ALICE):
        write("in the agent's")
    with other.course_of(ALICE), home.course_of(BOB):
        write("in his own")
    with other.course_of(ALICE):
        assert (at_hand := current_workspace()) is not None
        assert at_hand.read_text("note") == "in the agent's"
    other.close()


async def test_it_reaches_threads_and_subtasks_and_nobody_beside(home: Home) -> None:
    async def subtask() -> str:
        await asyncio.sleep(0)
        return get_user_id()

    beside: list[bool] = []
    with home.course_of(ALICE):
        outside = Thread(target=lambda: beside.append(nothing_is_set()))
        outside.start()
        await asyncio.to_thread(outside.join)
        assert [
            await asyncio.to_thread(get_user_id),
            await anyio.to_thread.run_sync(get_user_id),
            *await asyncio.gather(subtask(), subtask()),
        ] == ["alice"] * 4
    assert beside == [True]
    assert nothing_is_set()


def test_of_many_agent_sessions_some_stay_open_and_no_file_is_lost(home: Home) -> None:
    home.levels.look_now(ALICE)  # opens the store of levels
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 -- a folder that changes while it is read
    with home.course_of(ALICE):
        first = current_workspace()
        with home.course_of(ALICE):
            # Another request of hers, which ends before this one.
            assert current_workspace() is first
        for number in range(2 * IDLE):
            with home.course_of(Principal(f"user-{number}", "s")):
                write(str(number))
        # Whose request still goes on keeps it.
        assert current_workspace() is first
        write("still open")

    assert len(os.listdir("/proc/self/fd")) - before <= 3 * (IDLE + 1)  # noqa: PTH208
    for number in range(2 * IDLE):
        with home.course_of(Principal(f"user-{number}", "s")):
            assert (found := current_workspace()) is not None
            assert found.read_text("note") == str(number)


@pytest.mark.parametrize("name", ["", "..", "../../etc", "a/b", "a\\b", "Ärzte", "a" * 500, "x\0y"])
def test_levels_of_a_server_lie_in_its_own_folder_whatever_its_name(tmp_path: Path, name: str) -> None:
    home = Home(name, folder=tmp_path)
    with home.course_of(ALICE):
        PrivateData().add_private_dataset("patients", DataSensitivity.SECRET)
    home.close()

    kept = [*(tmp_path / "servers").iterdir()]
    assert len(kept) == 1
    assert (kept[0] / "bascule.db").is_file()


def test_names_that_look_alike_share_no_levels(tmp_path: Path) -> None:
    one, other = Home("a/b", folder=tmp_path), Home("a-b", folder=tmp_path)
    with one.course_of(ALICE):
        PrivateData().add_private_dataset("patients", DataSensitivity.SECRET)
    with other.course_of(ALICE):
        assert PrivateData().sensitivity is DataSensitivity.PUBLIC
    one.close()
    other.close()


def test_without_a_folder_it_is_in_the_state_folder(tmp_path: Path) -> None:
    home = Home("records", environ={"BASCULE_HOME": str(tmp_path)}, workspaces=str(tmp_path / "files"))
    with home.course_of(ALICE):
        write("here")
    home.close()

    assert [*tmp_path.glob("files/*/files/note")]
    assert home.folder == tmp_path


def test_elsewhere_it_neither_touches_nor_finds_what_it_keeps(home: Home, tmp_path: Path) -> None:
    before = home.folder, home.workspaces
    with home.course_of(ALICE):
        PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
    with home.elsewhere(tmp_path / "test"):
        with home.course_of(ALICE):
            assert PrivateData().sensitivity is DataSensitivity.PUBLIC
            assert write("a test's") == "a test's"
        assert (home.folder, home.workspaces.of(ALICE).exists("note")) == (tmp_path / "test", True)

    assert (home.folder, home.workspaces) == before
    with home.course_of(ALICE):
        assert PrivateData().sensitivity is DataSensitivity.CONFIDENTIAL
        assert (found := current_workspace()) is not None
        assert not found.exists("note")


def test_several_may_have_it_in_one_place_elsewhere_and_the_last_puts_it_back(home: Home, tmp_path: Path) -> None:
    before = home.folder
    first, second = home.elsewhere(tmp_path / "test"), home.elsewhere(tmp_path / "test")
    first.__enter__()
    second.__enter__()
    with pytest.raises(UsageError, match="already, for another test"), home.elsewhere(tmp_path / "other"):
        pass
    # Whoever came first need not go last.
    first.__exit__(None, None, None)
    assert home.folder == tmp_path / "test"
    second.__exit__(None, None, None)

    assert home.folder == before


def test_in_a_box_the_workspace_is_the_folder_that_is_shown(tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    made = Home("records", environ={WORKSPACE_VARIABLE: str(tmp_path / "shown"), "HOME": str(tmp_path / "home")})
    made.follow(RuntimeConfig(servers={}, workspace_root=str(tmp_path / "elsewhere")))
    with made.course_of(ALICE):
        write("hers")
    with made.course_of(BOB), pytest.raises(WorkspaceError, match="another agent session"):
        write("his")
    made.close()

    assert (tmp_path / "shown/note").read_text() == "hers"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shown"]
