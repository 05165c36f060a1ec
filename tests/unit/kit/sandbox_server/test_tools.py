"""Tools of the sandbox server, on a workspace."""

import base64
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import BasculeError, InvalidArguments, PathRefused, UsageError, WorkspaceError
from bascule.kit.sandbox_server.shell import Shell, Ticket
from bascule.kit.sandbox_server.tools import MOST_LISTED, MOST_READ, SandboxTools
from bascule.workspace.workspace import Workspace

ENVIRON = {
    "PATH": os.environ["PATH"],
    "BASCULE_TOKEN": "secret",
    "BASCULE_RAISE_SOCKET": "/x",
    "BASCULE_RAISE_DESCRIPTOR": "3",
    "BASCULE_LANE": "open",
    "HTTP_PROXY": "http://127.0.0.1:3128",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shown").mkdir()
    return tmp_path / "shown"


@pytest.fixture
def tools(folder: Path) -> Generator[SandboxTools]:
    shell = Shell(4)
    with Workspace(folder, bare=True) as workspace:
        yield SandboxTools(workspace, shell, ENVIRON)
    shell.close()


def did(tools: SandboxTools, tool: str, **arguments: Any) -> dict[str, Any]:
    return tools.acts[tool](arguments, Ticket())


def test_they_say_what_they_may_do(tools: SandboxTools):
    assert {tool.name: tool.permissions for tool in tools.tools} == {
        "run": ("write", "connect"),
        "read": ("read",),
        "write": ("write",),
        "list": ("read",),
    }
    assert {tool.name for tool in tools.tools} == tools.acts.keys()
    for tool in tools.tools:
        assert tool.definition()["_meta"] == {"dev.bascule/permissions": [*tool.permissions]}
    writing = next(tool for tool in tools.tools if tool.name == "write")
    assert writing.run(path="a", text="x") == {"path": "a", "written": 1}


def test_a_command_runs_in_the_workspace_or_below_it(tools: SandboxTools, folder: Path):
    (folder / "sub").mkdir()
    assert did(tools, "run", argv=["pwd"])["stdout"] == f"{folder}\n"
    assert did(tools, "run", line="pwd | cat", folder="/workspace/sub")["stdout"] == f"{folder}/sub\n"
    assert did(tools, "run", line="exit 7") == {
        "exit_code": 7,
        "stdout": "",
        "stderr": "",
        "timed_out": False,
        "omitted": 0,
    }


def test_a_command_finds_nothing_in_its_environment_to_speak_for_its_agent_session_with(tools: SandboxTools):
    told = did(tools, "run", argv=["env"])["stdout"]
    assert "HTTP_PROXY=http://127.0.0.1:3128" in told
    assert "BASCULE_LANE=open" in told
    assert "secret" not in told
    assert "BASCULE_RAISE" not in told


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"argv": []},
        {"argv": ["true"], "line": "true"},
        {"argv": "true"},
        {"argv": ["a", 1]},
        {"argv": ["true\0"]},
        {"line": "a\0b"},
        {"line": "true", "timeout": 0},
        {"line": "true", "timeout": -1},
        {"line": "true", "timeout": float("nan")},
        {"line": "true", "timeout": 3601},
        {"line": "true", "shell": "bash"},
    ],
)
def test_what_is_no_command_is_refused(tools: SandboxTools, arguments: dict[str, Any]):
    with pytest.raises(InvalidArguments):
        did(tools, "run", **arguments)


@pytest.mark.parametrize("path", ["/", "..", "/etc", "/workspace/../..", "out", "sub/../../x"])
@pytest.mark.parametrize("tool", ["run", "read", "write", "list"])
def test_no_path_leads_out(tools: SandboxTools, folder: Path, tool: str, path: str):
    (folder / "out").symlink_to("/etc")
    more = {"run": {"line": "pwd", "folder": path}, "write": {"path": f"{path}/f", "text": "x"}}
    with pytest.raises(PathRefused):
        did(tools, tool, **more.get(tool, {"path": path}))


def test_a_folder_that_is_none_is_said(tools: SandboxTools, folder: Path):
    (folder / "f").write_text("x")
    with pytest.raises(UsageError, match="no folder"):
        did(tools, "run", line="pwd", folder="f")
    with pytest.raises(WorkspaceError):
        did(tools, "run", line="pwd", folder="gone")


def test_what_is_written_is_read(tools: SandboxTools, folder: Path):
    assert did(tools, "write", path="/workspace/a/b.txt", text="grüß") == {"path": "/workspace/a/b.txt", "written": 6}
    did(tools, "write", path="a/b.txt", text="!", mode="append")
    assert did(tools, "read", path="a/b.txt") == {"text": "grüß!", "size": 7}
    assert (folder / "a/b.txt").read_text() == "grüß!"

    raw = bytes(range(256))
    did(tools, "write", path="raw", base64=base64.b64encode(raw).decode())
    assert base64.b64decode(did(tools, "read", path="raw")["base64"]) == raw


def test_a_long_file_is_read_in_parts_and_no_letter_is_cut(tools: SandboxTools, folder: Path):
    text = "ä€😀x" * 100_000
    (folder / "long").write_text(text)
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = did(tools, "read", path="long", offset=offset)
        assert len(part["text"].encode()) <= MOST_READ
        parts.append(part["text"])
        offset = part.get("next_offset")
    assert "".join(parts) == text
    assert did(tools, "read", path="long", offset=2, limit=4)["text"] == "€"
    assert did(tools, "read", path="long", offset=10**12) == {"text": "", "size": len(text.encode())}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {}),
        ("read", {"path": 1}),
        ("read", {"path": "a", "offset": -1}),
        ("read", {"path": "a", "limit": 0}),
        ("read", {"path": "a", "limit": MOST_READ + 1}),
        ("write", {"path": "a"}),
        ("write", {"path": "a", "text": "x", "base64": "eA=="}),
        ("write", {"path": "a", "base64": "%%"}),
        ("write", {"path": "a", "text": "\ud800"}),
        ("write", {"path": "a", "text": "x", "mode": "truncate"}),
        ("list", {"folder": "/workspace"}),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tools: SandboxTools, folder: Path, tool: str, arguments: dict[str, Any]):
    with pytest.raises(InvalidArguments):
        did(tools, tool, **arguments)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("arguments", [[1], "path", 7])
def test_what_is_no_object_is_refused(tools: SandboxTools, arguments: Any):
    with pytest.raises(InvalidArguments):
        tools.read(arguments, Ticket())


def test_a_folder_is_listed_up_to_a_bound(tools: SandboxTools, folder: Path):
    (folder / "d").mkdir()
    (folder / "f").write_text("abc")
    (folder / "l").symlink_to("f")
    assert did(tools, "list")["entries"] == [
        {"name": "d", "kind": "folder", "size": 0},
        {"name": "f", "kind": "file", "size": 3},
        {"name": "l", "kind": "link", "size": 0},
    ]
    for number in range(MOST_LISTED + 5):
        (folder / "d" / f"{number:04}").touch()
    listed = did(tools, "list", path="/workspace/d")
    assert (len(listed["entries"]), listed["left_out"]) == (MOST_LISTED, 5)


@pytest.mark.parametrize("tool", ["read", "list"])
def test_what_is_not_there_is_said_as_the_agent_calls_it(tools: SandboxTools, folder: Path, tool: str):
    with pytest.raises(BasculeError, match="/workspace/gone") as caught:
        did(tools, tool, path="gone")
    assert str(folder) not in caught.value.message
