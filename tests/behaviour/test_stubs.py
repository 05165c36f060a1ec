"""`bascule stubs`: a module that an editor completes, a checker accepts, and a program calls its tools through."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from support.command import bascule, configured, entry
from support.runtime import a_tool, at_work, bad, calls_in, obeying

pytestmark = pytest.mark.requirement("TYP-3")

ME = ("--user", "alice", "--session", "s-1")
ROOT = Path(__file__).parents[2]

CREATE = a_tool(
    "create-issue",
    {
        "properties": {
            "title": {"type": "string", "description": 'The title.\n"""\nimport os'},
            "class": {"enum": ["bug", "idea"]},
            "author": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "parent": {"$ref": "#/$defs/Node"},
            "result": {"type": "object"},
        },
        "required": ["title"],
        "additionalProperties": False,
        "$defs": {"Node": {"type": ["object", "null"], "properties": {"up": {"$ref": "#/$defs/Node"}}}},
    },
    description='Creates an issue. """ + exit() + """ \\',
    outputSchema={
        "type": "object",
        "properties": {"number": {"type": "integer"}, "from": {"$ref": "#/$defs/User"}},
        "required": ["number"],
        "$defs": {"User": {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]}},
    },
)
AWKWARD = a_tool("import", {"properties": {name: {"type": "string"} for name in ("session", "str", "a-b", "a_b", "")}})
TOOLS = [CREATE, AWKWARD, a_tool("act"), a_tool("open", {"additionalProperties": {"type": "integer"}})]

USES = """
from bascule import AgentSession, ToolFailure
import tools

async def use(session: AgentSession) -> str:
    author = tools.WorkCreateIssueParamsAuthor(id=7)
    made = await tools.work_create_issue(session, title="t", class_="bug", author=author)
    if isinstance(made, ToolFailure):
        return made.message
    user = made.from_
    return user.login if user else str(made.number + 1)
"""

MISUSES = """
from bascule import AgentSession
import tools

async def misuse(session: AgentSession) -> None:
    await tools.work_create_issue(session)
    await tools.work_create_issue(session, title=7)
    await tools.work_create_issue(session, title="t", class_="wish")
    await tools.work_create_issue(session, title="t", lables=["x"])
"""


@pytest.fixture
def module(tmp_path: Path) -> Generator[Path]:
    """The module of the stand-in's tools, which can be imported as `tools`."""
    yield tmp_path / "tools.py"
    sys.modules.pop("tools", None)


async def write(folder: Path, tools: list[Any], *flags: str) -> Any:
    config = configured(folder, work=entry("obeying", folder / "cli.log", json.dumps(tools)))
    return await bascule(folder, "stubs", "--config", config, *ME, "--out", "tools.py", *flags)


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tools"] = module
    spec.loader.exec_module(module)
    return module


def checked(folder: Path, *files: str) -> list[list[dict[str, Any]]]:
    """What a strict type checker has to say of each of these files in this folder. It reads what they import only once."""
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    checker = Path(sys.executable).with_name("basedpyright")
    ran = subprocess.run(
        [checker, "--outputjson", *files], check=False, cwd=folder, capture_output=True, text=True, timeout=120
    )
    told = json.loads(ran.stdout)
    assert told["summary"]["filesAnalyzed"] == len(files)
    by_file = {file: [each for each in told["generalDiagnostics"] if Path(each["file"]).name == file] for file in files}
    assert sum(map(len, by_file.values())) == len(told["generalDiagnostics"])
    return [*by_file.values()]


@pytest.mark.long
async def test_a_strict_checker_accepts_the_module_and_sees_what_it_is_for(tmp_path: Path, module: Path):
    assert (await write(tmp_path, TOOLS)).code == 0
    (tmp_path / "uses.py").write_text(USES)
    (tmp_path / "misuses.py").write_text(MISUSES)
    linter = Path(sys.executable).with_name("ruff")

    of_tools, used, misused = checked(tmp_path, "tools.py", "uses.py", "misuses.py")
    assert of_tools == []
    assert used == []
    assert [found["range"]["start"]["line"] for found in misused if found["severity"] == "error"] == [5, 6, 7, 8]
    subprocess.run([linter, "check", "--isolated", "tools.py"], cwd=tmp_path, check=True, timeout=60)


async def test_tools_are_called_through_it(tmp_path: Path, module: Path):
    await write(tmp_path, TOOLS)
    tools: Any = imported(module)
    log = tmp_path / "log"
    reply = {"content": [], "structuredContent": {"number": 7, "from": {"login": "ada"}}, "resultType": "complete"}
    async with at_work(obeying(log, *TOOLS)) as session:
        parent = tools.WorkCreateIssueParamsNode(up=tools.WorkCreateIssueParamsNode(up=None))
        made = await tools.work_create_issue(session, title="t", class_="bug", parent=parent, result=reply)
        awkward = await tools.work_import(session, str_="s", a_b="under", a_b_2="dash", field="none", session="mine")
        more = await tools.work_open(session, additional={"x": 1})

    assert isinstance(made, tools.WorkCreateIssueResult)
    assert (made.number, made.from_.login) == (7, "ada")
    assert isinstance(awkward, ToolResult)
    assert isinstance(more, ToolResult)
    assert [call["arguments"] for call in calls_in(log)] == [
        {"title": "t", "class": "bug", "parent": {"up": {"up": None}}, "result": reply},
        {"str": "s", "a_b": "under", "a-b": "dash", "": "none", "session": "mine"},
        {"x": 1},
    ]


async def test_what_does_not_fit_is_refused_before_it_is_sent(tmp_path: Path, module: Path):
    await write(tmp_path, TOOLS)
    tools: Any = imported(module)
    log = tmp_path / "log"
    async with at_work(obeying(log, *TOOLS)) as session:
        outcome = await tools.work_create_issue(session, title="t", class_="wish")
        bad(await tools.work_open(session, additional={"x": "one"}), FailureKind.INVALID_ARGUMENTS)

    assert isinstance(outcome, ToolFailure)
    assert outcome.kind is FailureKind.INVALID_ARGUMENTS
    assert calls_in(log) == []


async def test_descriptions_are_told_and_nothing_of_them_is_run(tmp_path: Path, module: Path):
    await write(tmp_path, TOOLS)
    tools: Any = imported(module)

    assert tools.work_create_issue.__doc__.startswith('Creates an issue. """ + exit() + """ \\')
    assert 'title: The title. """ import os' in tools.work_create_issue.__doc__
    assert not hasattr(tools, "os")


@pytest.mark.long
async def test_the_same_tools_are_the_same_module_and_others_are_told(tmp_path: Path, module: Path):
    assert (await write(tmp_path, TOOLS)).code == 0
    first = module.read_text()
    assert (await write(tmp_path, TOOLS[::-1], "--check")).code == 0
    changed = [CREATE, *TOOLS[1:3]]
    assert (await write(tmp_path, changed, "--check")).code == 1
    assert module.read_text() == first
    assert (await write(tmp_path, changed)).code == 0

    assert "work_open" not in module.read_text()
    assert "bascule stubs" in first
    assert first.count("sha256:") == len(TOOLS)
