"""The files of an agent session, as agents and programs meet them."""

import asyncio
import os
import random
import threading
from pathlib import Path

import pytest
from mcp.server import MCPServer

from bascule import Runtime
from bascule.config import InProcessTransport, RuntimeConfig, ServerConfig
from bascule.core.errors import NoRoom, PathRefused, UsageError, WorkspaceError
from bascule.core.principal import Principal
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace, current_workspace, host_to_workspace_path, workspace_to_host_path
from support.runtime import good
from support.waiting import fail_after
from support.workspaces import SECRET, canary, in_call, texts, tree

ALICE = Principal("alice", "s-1")


@pytest.mark.requirement("WSP-1")
def test_an_agent_sees_its_workspace_and_no_host_path(tmp_path: Path):
    with Workspace.of(ALICE, tmp_path) as workspace:
        workspace.write_text("/workspace/notes/a.txt", "by its whole path")
        workspace.write_text("notes/b.txt", "relative")
        assert workspace.read_text("/workspace/notes/b.txt") == "relative"
        assert [entry.name for entry in workspace.list("notes")] == ["a.txt", "b.txt"]
        with workspace.open("notes/a.txt") as file:
            assert file.name == "/workspace/notes/a.txt"
        with pytest.raises(WorkspaceError, match=r"/workspace/notes/c\.txt was not found") as caught:
            workspace.read_text("notes/c.txt")
    assert not [text for text in texts(caught.value) if str(tmp_path) in text]


@pytest.mark.requirement("WSP-1")
def test_paths_are_translated_for_whoever_mounts_or_shows_them(tmp_path: Path):
    with Workspace.of(ALICE, tmp_path) as workspace:
        workspace.write_text("a", "x")
        host = workspace_to_host_path("/workspace/a", workspace)
        assert Path(host).read_text() == "x"
        assert host_to_workspace_path(host, workspace) == "/workspace/a"
        with pytest.raises(PathRefused):
            host_to_workspace_path("/etc/passwd", workspace)
    with pytest.raises(UsageError):
        workspace_to_host_path("/workspace/a")


@pytest.mark.requirement("WSP-1", "WSP-3")
@pytest.mark.parametrize("id_", ["alice@example.org", "auth0|123", "../../evil", "a/b", "ü" * 255, "."])
def test_every_user_and_agent_session_has_its_own_files(tmp_path: Path, id_: str):
    owners = [Principal(id_, "s"), Principal("s", id_), Principal(id_, id_)]
    for number, owner in enumerate(owners):
        with Workspace.of(owner, tmp_path) as workspace:
            assert workspace.list() == ()
            workspace.write_text("mine", str(number))
    for number, owner in enumerate(owners):
        with Workspace.of(owner, tmp_path) as workspace:
            assert workspace.read_text("mine") == str(number)
    assert all(set(path.name) <= set("0123456789abcdef") for path in tmp_path.iterdir())


@pytest.mark.requirement("WSP-2")
@pytest.mark.parametrize(
    "path",
    [
        *("../outside/secret.txt", "/etc/passwd", "/workspacex", "/workspace/../../etc/passwd", "a/../../b", "~/../.."),
        *("/proc/self/root/etc/passwd", "up/outside/secret.txt", "out/secret.txt", "file", "hard", "a\0b", "", "/"),
    ],
)
def test_no_path_leads_out(tmp_path: Path, path: str):
    before = canary(tmp_path / "outside")
    with Workspace.of(ALICE, tmp_path / "root") as workspace:
        files = Path(workspace.host_path("/workspace"))
        (files / "up").symlink_to("../../..")
        (files / "out").symlink_to(tmp_path / "outside")
        (files / "file").symlink_to(tmp_path / "outside" / "secret.txt")
        os.link(tmp_path / "outside" / "secret.txt", files / "hard")
        for act in (
            lambda: workspace.read_text(path),
            lambda: workspace.write_text(path, "x"),
            lambda: workspace.open(path, "a"),
            lambda: workspace.list(path),
        ):
            with pytest.raises(WorkspaceError) as caught:
                act()
            assert not [text for text in texts(caught.value) if str(tmp_path) in text or SECRET in text]
    assert tree(tmp_path / "outside") == before


@pytest.mark.requirement("WSP-2")
def test_a_pipe_is_refused_and_nobody_waits_for_it(tmp_path: Path):
    with Workspace.of(ALICE, tmp_path) as workspace:
        os.mkfifo(workspace.host_path("pipe"))
        for mode in ("r", "w", "a"):
            with pytest.raises(PathRefused, match="no file"):
                workspace.open("pipe", mode)


@pytest.mark.requirement("WSP-4")
def test_a_full_quota_is_a_clear_error_and_loses_nothing(tmp_path: Path):
    with Workspace.of(ALICE, tmp_path, quota=64 * 1024) as workspace:
        workspace.write_bytes("a", b"a" * 30_000)
        with workspace.open("log", "a") as log:
            log.write("kept\n")
        with pytest.raises(NoRoom, match="quota") as caught:
            workspace.write_bytes("a", b"b" * 70_000)
        assert "workspace.quota" in caught.value.fix
        with workspace.open("log", "a") as log, pytest.raises(NoRoom):
            log.write("x" * 70_000)
        assert workspace.read_bytes("a") == b"a" * 30_000
        assert workspace.read_text("log") == "kept\n"
        workspace.delete("a")
        workspace.write_bytes("b", b"b" * 50_000)


@pytest.mark.requirement("EXE-5")
def test_a_call_that_failed_leaves_the_workspace_as_it_was(tmp_path: Path):
    with Workspace.of(ALICE, tmp_path) as workspace:
        workspace.write_text("a", "old")
        workspace.write_text("d/b", "old too")
        files = Path(workspace.host_path("/workspace"))
        before = tree(files)
        call = Transaction()
        with in_call(call):
            workspace.write_text("a", "new")
            workspace.rename("d", "e")
            workspace.write_text("e/c", "more")
            workspace.delete("a")
        assert call.rollback() == (Ending.RESTORED, ())
        assert tree(files) == before


@pytest.mark.requirement("EXE-5")
def test_parallel_calls_do_not_undo_each_other(tmp_path: Path, scale: int):
    """Each call has files of its own, and one that all of them change. Half of them fail."""
    kept: dict[int, bool] = {}
    with Workspace.of(ALICE, tmp_path) as workspace:
        workspace.write_text("shared", "start")

        def call(number: int) -> None:
            chance = random.Random(number)
            transaction = Transaction()
            with in_call(transaction):
                for step in range(5):
                    workspace.write_text(f"own/{number}/{step}", f"{number}")
                    workspace.write_text("shared", f"by {number}")
            kept[number] = chance.random() < 0.5
            ending, problems = transaction.commit() if kept[number] else transaction.rollback()
            assert (ending, problems) == (Ending.KEPT if kept[number] else Ending.RESTORED, ())

        for begin in range(0, 20 * scale, 5):
            threads = [threading.Thread(target=call, args=(begin + each,)) for each in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        shared = workspace.read_text("shared")
        own = {number: workspace.exists(f"own/{number}") for number in kept}

    assert own == kept
    assert shared == "start" or kept[int(shared.removeprefix("by "))]


@pytest.mark.requirement("WSP-1")
async def test_a_server_in_this_process_works_in_the_workspace_of_whoever_calls(tmp_path: Path):
    server = MCPServer("work", log_level="CRITICAL")

    @server.tool()
    def write(text: str) -> str:  # pyright: ignore[reportUnusedFunction] -- the server has it
        workspace = current_workspace()
        assert workspace is not None
        workspace.write_text("note.txt", text)
        return workspace_to_host_path("/workspace/note.txt")

    config = ServerConfig("work", InProcessTransport(server))
    root = tmp_path / "files"
    async with fail_after(20), Runtime(RuntimeConfig({"work": config}, workspace_root=str(root))) as runtime:
        sessions = [runtime.session(user, "s-1") for user in ("alice", "bob")]
        answers = await asyncio.gather(
            *(session.call("work_write", {"text": session.principal.user_id}) for session in sessions)
        )
        told = [good(answer).structured["result"] for answer in answers]

        assert [session.workspace.read_text("note.txt") for session in sessions] == ["alice", "bob"]
        assert told == [session.workspace.host_path("note.txt") for session in sessions]
        assert all(path.startswith(str(root)) for path in told)
    with pytest.raises(UsageError, match="whose workspace"):
        workspace_to_host_path("note.txt")
