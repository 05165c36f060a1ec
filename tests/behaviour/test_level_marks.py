"""A level mark beside the files of each agent session: no other store begins a session with private files lower, and only a
declassification lowers it."""

import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.config import ServerConfig, StdioTransport
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.kit import PrivateData, ToolPermission, create_mcp_server, tool_permission
from bascule.testing import client
from bascule.workspace import current_workspace
from support.command import bascule
from support.marked import ALICE, BOB, Project, at_least, copied_keys, of, project, remove_database
from support.recorded import recorded
from support.runtime import good, running
from support.waiting import fail_after, until
from support.warm import python

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


@pytest.fixture
def work(tmp_path: Path) -> Project:
    return project(tmp_path)


# Another store


def another_home(work: Project, _: str | None) -> Mapping[str, str]:
    copied_keys(work.state, work.folder / "second")
    return {"BASCULE_HOME": str(work.folder / "second")}


def removed_database(work: Project, _: str | None) -> Mapping[str, str]:
    remove_database(work.state)
    return {}


def moved_to_postgres(work: Project, address: str | None) -> Mapping[str, str]:
    work.configure(store=address)
    return {}


def store_of_a_project(work: Project, _: str | None) -> Mapping[str, str]:
    work.configure(store=str(work.folder / "own.db"))
    return {}


OTHER_STORES = {
    "another BASCULE_HOME": another_home,
    "rm bascule.db*": removed_database,
    "a store moved to PostgreSQL": moved_to_postgres,
    "a project's own store": store_of_a_project,
}


@pytest.mark.requirement("RAT-20")
@pytest.mark.parametrize("level", ["internal", "confidential", "secret"])
@pytest.mark.parametrize("other", OTHER_STORES)
async def test_a_session_with_private_files_is_as_private_in_another_store(
    work: Project, other: str, level: str, request: pytest.FixtureRequest
):
    await work.write()
    await work.raise_to(level)
    address = request.getfixturevalue("database") if "PostgreSQL" in other else None
    env = OTHER_STORES[other](work, address)

    ran = await work.used(env=env)
    if ran.code != 0:
        # A start on a store that has lost sessions may be refused as a whole.
        assert ran.json["code"] == "BSC-650"
        return
    shown = await work.shown(env=env)

    assert at_least(shown["level"], level)
    assert (ran.json["lane"] == "open") is (level == "internal")
    causes = [receipt["cause"]["by"] for receipt in shown["receipts"]]
    assert causes == ["level mark"]
    # The mark is that of the new store from here on.
    again = await work.used(env=env)
    assert (again.code, (await work.shown(env=env))["receipts"]) == (0, shown["receipts"])


@pytest.mark.requirement("RAT-20")
async def test_a_session_that_a_call_in_a_sandbox_has_raised_is_as_private_in_another_store(work: Project):
    work.configure(raises={"read": "confidential"})
    await work.write()
    assert (await work.used()).json["lane"] == "proxied"
    remove_database(work.state)
    work.configure()
    used = await work.used()
    assert used.code != 0 or used.json["lane"] == "proxied"


@pytest.mark.requirement("RAT-20")
async def test_a_program_begins_as_private_in_another_store(work: Project, monkeypatch: pytest.MonkeyPatch):
    await work.write()
    await work.raise_to("internal")
    copied_keys(work.state, work.folder / "second")
    monkeypatch.setenv("BASCULE_HOME", str(work.folder / "second"))
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")

    async with fail_after(60), Runtime.from_file(work.folder / "bascule.yaml") as runtime:
        session, other = runtime.session("alice", "s-1"), runtime.session("bob", "s-1")
        await session.begin()
        await other.begin()
        assert (session.sensitivity, other.sensitivity) == (INTERNAL, PUBLIC)
        (receipt,) = session.receipts
        assert (receipt.before, receipt.after, receipt.cause.by) == (PUBLIC, INTERNAL, "level mark")


@pytest.mark.requirement("RAT-20")
async def test_a_public_session_stays_public_in_another_store(work: Project):
    await work.write()
    remove_database(work.state)

    assert (await work.used()).json["lane"] == "open"
    assert (await work.shown())["level"] == "public"


@pytest.mark.requirement("RAT-20")
async def test_a_raise_beside_a_new_workspace_is_in_its_mark(tmp_path: Path):
    """The workspace is opened while, and after, the level rises."""
    root = tmp_path / "workspaces"
    async with running(workspace_root=str(root)) as runtime:
        before, after, unknown = (runtime.session("alice", name) for name in ("before", "after", "unknown"))
        await before.begin()
        before.workspace.write_text("notes.md", "private")
        await before.add_private_dataset("payroll", CONFIDENTIAL)
        await after.add_private_dataset("payroll", INTERNAL)
        after.workspace.write_text("notes.md", "private")
        # Its level is not known yet: it may be any.
        unknown.workspace.write_text("notes.md", "private")
    remove_database(Path(os.environ["BASCULE_HOME"]))
    async with running(workspace_root=str(root)) as runtime:
        found: list[DataSensitivity] = []
        for name in ("before", "after", "unknown"):
            session = runtime.session("alice", name)
            await session.begin()
            found.append(session.sensitivity)
    assert found == [CONFIDENTIAL, INTERNAL, SECRET]


@pytest.mark.requirement("RAT-20")
async def test_a_workspace_that_was_opened_before_its_session_began_stays_as_the_store_has_it(tmp_path: Path):
    for _ in range(2):
        async with running(workspace_root=str(tmp_path / "workspaces")) as runtime:
            session = runtime.session("alice", "s-1")
            session.workspace.write_text("notes.md", "text")
    async with running(workspace_root=str(tmp_path / "workspaces")) as runtime:
        await runtime.session("alice", "s-1").begin()
        assert runtime.session("alice", "s-1").sensitivity is PUBLIC


# Written before a raise returns


@pytest.mark.requirement("RAT-22")
async def test_a_raise_is_in_the_mark_of_every_runtime_that_has_the_workspace(
    store_address: str | None, tmp_path: Path
):
    """Two machines with one store, each with workspaces of its own."""
    roots = [tmp_path / name for name in ("here", "there")]
    async with (
        running(store=store_address, workspace_root=str(roots[0])) as here,
        running(store=store_address, workspace_root=str(roots[1])) as there,
    ):
        for runtime in (here, there):
            session = runtime.session("alice", "s-1")
            await session.begin()
            session.workspace.write_text("notes.md", "private")
        await here.session("alice", "s-1").add_private_dataset("payroll", CONFIDENTIAL)

        marks = [path for root in roots for path in root.glob("*/level")]
        assert ['"s-1",2,1' in mark.read_text() for mark in marks] == [True, True]


@pytest.mark.requirement("RAT-22")
async def test_a_raise_whose_mark_cannot_be_written_withholds_the_outcome(work: Project):
    await work.write()
    lock = work.home() / "level.lock"
    lock.unlink()
    lock.mkdir()

    ran = await work.run("sessions", "raise", *of(ALICE), "--to", "secret")
    assert (ran.code, "level mark cannot be written" in ran.err) == (1, True)
    assert str(lock) in ran.err
    assert (await work.shown())["level"] == "secret"
    lock.rmdir()


# Only a declassification lowers it


@pytest.mark.requirement("RAT-22")
async def test_a_declassification_lowers_the_mark_of_another_store_too(work: Project):
    await work.write()
    await work.raise_to("secret")
    remove_database(work.state)
    await work.used()

    lowered = await work.declassify("internal")
    assert (lowered["level"], lowered["receipt"]["from"]) == ("internal", "secret")
    remove_database(work.state)
    await work.used()
    assert (await work.shown())["level"] == "internal"


@pytest.mark.requirement("RAT-22")
@pytest.mark.parametrize("damaged", [False, True])
async def test_a_running_runtime_follows_a_declassification_of_session_and_mark(
    work: Project, damaged: bool, monkeypatch: pytest.MonkeyPatch
):
    await work.write()
    if damaged:
        work.mark().write_bytes(b"")
    monkeypatch.setenv("BASCULE_HOME", str(work.state))
    async with running(workspace_root=str(work.folder / "workspaces")) as runtime:
        session = runtime.session("alice", "s-1")
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        assert session.sensitivity is (SECRET if damaged else CONFIDENTIAL)
        await work.declassify()
        await until(lambda: session.sensitivity is PUBLIC)


@pytest.mark.requirement("RAT-22")
async def test_a_declassification_on_another_machine_lowers_the_mark_when_it_is_read_next(tmp_path: Path):
    store, roots = str(tmp_path / "one.db"), [str(tmp_path / name) for name in ("here", "there")]
    async with running(store=store, workspace_root=roots[0]) as runtime:
        session = runtime.session("alice", "s-1")
        session.workspace.write_text("notes.md", "private")
        await session.add_private_dataset("payroll", CONFIDENTIAL)
    there = {"mcp_servers": {"work": {"command": "python"}}, "store": store, "workspace": {"root": roots[1]}}
    (tmp_path / "bascule.yaml").write_text(json.dumps(there))
    argv = ("sessions", "declassify", *of(ALICE), "--to", "public", "--reason", "test data", "--yes")
    ran = await bascule(tmp_path, *argv, env={"BASCULE_HOME": os.environ["BASCULE_HOME"]})
    assert ran.code == 0, ran.err

    async with running(store=store, workspace_root=roots[0]) as runtime:
        await runtime.session("alice", "s-1").begin()
        assert runtime.session("alice", "s-1").sensitivity is PUBLIC
    async with running(store=str(tmp_path / "two.db"), workspace_root=roots[0]) as runtime:
        await runtime.session("alice", "s-1").begin()
        assert runtime.session("alice", "s-1").sensitivity is PUBLIC


@pytest.mark.requirement("RAT-22")
async def test_a_mark_stays_where_a_session_only_ended(work: Project):
    await work.write()
    await work.raise_to("confidential")
    await work.json("sessions", "end", *of(ALICE), "--yes")
    remove_database(work.state)
    await work.used()
    assert (await work.shown())["level"] == "confidential"


# Workspaces that are older than marks


@pytest.mark.requirement("RAT-23")
@pytest.mark.parametrize(("store", "workspaces"), [("sqlite", 2), ("postgres", 1)])
async def test_workspaces_of_0_1_0_get_their_marks_at_the_first_start(
    tmp_path: Path, store: Any, workspaces: int, request: pytest.FixtureRequest
):
    old = recorded(tmp_path, store, request.getfixturevalue("database") if store == "postgres" else "")
    before = (await old.json("audit", "show", "--last", "100000"))["records"]
    assert list(old.state.glob("workspaces/*/level")) == []
    for _ in range(2):
        await old.json("list")

    marks = [mark.read_text() for mark in old.state.glob("workspaces/*/level")]
    assert len([mark for mark in marks if '"wren","s-workspace",' in mark]) == 1
    records = (await old.json("audit", "show", "--last", "100000"))["records"]
    marked = [each for each in records[len(before) :] if each["kind"] == "marked"]
    assert [each["count"] for each in marked] == [workspaces]
    sessions = (await old.json("sessions"))["sessions"]
    wanted = old.expected["sessions"]["sessions"]
    levels = {(each["user"], each["session"]): each["level"] for each in sessions}
    assert levels.items() >= {(each["user"], each["session"]): each["level"] for each in wanted}.items()


@pytest.mark.requirement("RAT-23")
async def test_a_new_state_folder_begins_without_an_audit_record_of_marks(work: Project):
    await work.write()
    records = (await work.json("audit", "show"))["records"]
    assert [each for each in records if each["kind"] == "marked"] == []


# Servers of the kit


KIT = Path(__file__).parent.parent / "servers/kit_who.py"


@asynccontextmanager
async def kit(root: Path) -> AsyncGenerator[Runtime]:
    """A server of the kit without a sandbox, which keeps levels itself. The runtime does not trust its labels."""
    permissions: Any = {"keep": ("write",), "salaries": ("read",), "publish": ("connect",)}
    transport = StdioTransport(command=python(), args=(str(KIT),))
    server = ServerConfig(name="who", transport=transport, kit=True, permissions=permissions)
    async with fail_after(60), running(server, workspace_root=str(root), within=60) as runtime:
        yield runtime


@pytest.mark.requirement("RAT-20")
async def test_what_a_kit_server_has_seen_is_in_the_mark(tmp_path: Path):
    async with kit(tmp_path / "workspaces") as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("who_keep", {"name": "notes.md", "text": "private"}))
        good(await session.call("who_salaries"))
    for path in Path(os.environ["BASCULE_HOME"]).rglob("bascule.db*"):
        path.unlink()

    async with kit(tmp_path / "workspaces") as runtime:
        session = runtime.session("alice", "s-1")
        await session.begin()
        assert session.sensitivity is CONFIDENTIAL


@pytest.mark.requirement("RAT-20")
@pytest.mark.requirement("RAT-21")
@pytest.mark.parametrize("damaged", [False, True])
async def test_a_kit_server_that_runs_alone_reads_the_mark(tmp_path: Path, damaged: bool):
    home = tmp_path / "state"
    mcp = create_mcp_server("alone")

    @mcp.tool
    @tool_permission(ToolPermission.WRITE)
    def keep(text: str) -> str:
        workspace = current_workspace()
        assert workspace is not None
        workspace.write_text("notes.md", text)
        PrivateData().add_private_dataset("salaries", CONFIDENTIAL)
        return PrivateData().sensitivity.name

    async with client(mcp, user="test", session="s-1", home=home) as agent:
        assert (await agent.result("keep", {"text": "private"})).structured == {"result": "CONFIDENTIAL"}
    for path in home.rglob("bascule.db*"):
        path.unlink()
    if damaged:
        (mark,) = home.glob("workspaces/*/level")
        mark.unlink()

    with mcp.home.elsewhere(home), mcp.home.course_of(Principal("test", "s-1")):
        assert PrivateData().sensitivity is (SECRET if damaged else CONFIDENTIAL)


# Sandboxes


LOOK = """
import os, sys
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = set(folders) - {"proc", "sys"}
    for name in {"level", "level.lock", "level.new"} & {*folders, *files}:
        path = os.path.join(folder, name)
        if not os.path.isfile(path) or name != "level" or sys.argv[1] in open(path, errors="replace").read():
            print("found", path)
for path in ("../level", "/proc/1/root/workspace/../level", "/proc/1/cwd/../level"):
    for act in (os.stat, os.unlink, lambda path: open(path, "w")):
        try:
            act(path)
            print("reached", path)
        except OSError:
            pass
print(*sorted(os.listdir("/workspace")))
"""


@pytest.mark.requirement("RAT-24")
@pytest.mark.parametrize("level", ["public", "secret"])
async def test_a_sandbox_shows_the_files_and_no_mark(work: Project, level: str):
    await work.write()
    if level != "public":
        await work.raise_to(level)
    before = work.mark().read_bytes()
    (work.home() / "files/look.py").write_text(LOOK)

    mac = before[:64].decode()
    outcome = await work.json("call", "box_run", f"line=python3 look.py {mac} | sort >found", *of(ALICE))
    assert outcome["lane"] == ("open" if level == "public" else "sealed")
    assert (work.home() / "files/found").read_text() == ".bascule found look.py notes.md\n"
    assert work.mark().read_bytes() == before


@pytest.mark.requirement("RAT-24")
async def test_the_marks_of_two_sessions_are_each_their_own(work: Project):
    await work.write(ALICE)
    await work.write(BOB)
    await work.raise_to("secret", ALICE)
    shutil.copy(work.mark(BOB), work.folder / "kept")
    remove_database(work.state)
    for who in (ALICE, BOB):
        await work.used(who)
    assert [(await work.shown(who))["level"] for who in (ALICE, BOB)] == ["secret", "public"]
