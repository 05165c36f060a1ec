"""The commands that pages show are typed, one after another, into a shell, in a folder that has what they name."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from support.activated import activated
from support.command import configured, entry, environment
from support.offers import command_of, offering
from support.pages import Block, every_block
from support.runtime import a_tool
from support.tests import is_there
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("UX-5")

PAGES = (
    *("lock.md", "snippets.md", "importing.md", "adding.md", "reference/cli.md", "reference/json.md"),
    *("gateway.md", "login.md", "demo.md"),
)
"""Whose commands are typed here. `test_page_blocks.py` says who types those of the others."""

NOT_TYPED = {
    r"bascule up$": "behaviour/test_readme.py::test_every_command_shown_that_has_no_end_works_until_it_is_stopped",
    r"bascule up --json": "behaviour/test_json_shapes.py::test_what_up_prints_is_just_what_its_shapes_declare",
    r"bascule serve$": "behaviour/test_gateway.py::test_a_caller_is_who_its_token_says_and_the_token_stays_here",
    r"bascule serve --dev$": "behaviour/test_readme.py::test_the_gateway_that_a_command_shown_is_answers",
    r"bascule serve --demo": "behaviour/test_demo.py::test_the_gateway_for_show_has_agents_at_work_and_leaves_nothing",
    r"bascule serve --stdio": "behaviour/test_readme.py::test_what_a_command_shown_speaks_is_mcp",
    r"bascule serve --host": "behaviour/test_gateway.py::test_a_gateway_is_known_as_the_address_that_it_is_given",
    r"bascule serve --internal-url": "behaviour/test_gateway_several.py::test_gateways_on_two_machines_forward_to_the_owner",
    r"bascule sandbox serve$": "behaviour/test_sandbox_server.py::test_once_private_the_same_tools_go_on_without_a_route",
    r"bascule sandbox serve --unboxed": "behaviour/test_readme.py::test_what_a_command_shown_speaks_is_mcp",
    r"bascule run records$": "behaviour/test_kit_run.py::"
    "test_a_server_of_ones_own_is_started_by_its_name_and_used_by_another",
    r"bascule run records --socket": "behaviour/test_kit_run.py::"
    "test_a_server_of_ones_own_is_served_at_a_socket_file_and_at_no_port",
    r"curl ": "behaviour/test_kit_run.py::test_the_token_of_the_page_lets_somebody_in_where_nobody_gets_in_without",
    r"bascule logs .* --follow": "unit/cli/commands/test_logs.py::test_a_log_can_be_followed",
    r"bascule login\b": "behaviour/test_login.py::test_the_commands_of_its_page_lead_in_and_out_again",
    r"bascule demo": "behaviour/test_demo.py::test_its_page_shows_what_it_prints",
    r"eval |bascule completion fish >": "behaviour/test_completion.py::test_what_the_page_does_for_good_holds_in_the_next_shell",
}
"""What begins so runs until it is stopped, or needs somebody else. Who starts it, with all that it needs."""

ENDS = {
    r"bascule approve( files(/read(_text_file)?)?)?": 2,
    r"bascule sandbox rm NAME": 2,
    r"bascule sessions (declassify|end) (?!.*--yes).*": 2,
    r"bascule audit verify --anchor WRITER:SEQUENCE:MAC": 2,
}
"""Codes other than 0. Nobody sits at a terminal who could be asked; NAME and WRITER stand for others."""

SERVER_JSON = {
    "name": "io.example/weather",
    "description": "Weather.",
    "version": "1.0.0",
    "packages": [
        {"registryType": "npm", "identifier": "weather-mcp", "version": "1.0.0", "transport": {"type": "stdio"}}
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All that the examples name: servers, files, a config of another program, and a `jq` where there is none."""
    project = tmp_path / "project"
    project.mkdir()
    text = {"properties": {"path": {"type": "string"}, "message": {"type": "string"}}}
    found = {"properties": {"tags": {"type": "array"}, "limit": {"type": "integer"}}}
    names = {
        "files": [a_tool("read", text), a_tool("read_text_file", text)],
        "everything": [a_tool("echo", text)],
        "search": [a_tool("find", found)],
        "github": [a_tool("create_issue"), a_tool("list_issues")],
    }
    servers = {name: entry("obeying", tmp_path / name, json.dumps(tools)) for name, tools in names.items()}
    notes = {"command": "python", "args": ["-m", "bascule.demo.notes"]}
    own = {"type": "server", "target": "server.py", "port": 8000}
    configured(project, **servers, notes=notes, records=own)
    (project / "server.py").touch()
    theirs = {"mcpServers": {"github": {"command": "github-mcp"}, "maps": {"command": "maps-mcp"}}}
    for path in (".cursor/mcp.json", "old/.mcp.json", ".mcp.json"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(json.dumps(theirs if "cursor" in path else {"mcpServers": {"notes": notes}}))
    (project / "server.json").write_text(json.dumps(SERVER_JSON))
    if shutil.which("jq") is None:
        (tmp_path / "jq").write_text("#!/bin/sh\nexec python -m json.tool\n")
        (tmp_path / "jq").chmod(0o755)
    return tmp_path


def lines(block: Block) -> list[str]:
    """Without what is said of them."""
    return [re.sub(r"\s+# .*$", "", line) for line in block.text.splitlines() if line.strip()]


BLOCKS = [block for block in every_block() if block.page in PAGES and block.language == "sh"]


def typed(line: str) -> bool:
    return not any(re.match(pattern, line) for pattern in NOT_TYPED)


def ending(block: Block, line: str) -> int:
    if line == "bascule approve --json":
        # Where all were approved before, nothing waits.
        return 0 if "--all --yes" in block.text else 2
    return next((code for pattern, code in ENDS.items() if re.fullmatch(pattern, line)), 0)


def test_every_page_named_here_has_commands_and_every_reason_is_needed():
    every = [line for block in BLOCKS for line in lines(block)]

    assert {block.page for block in BLOCKS} == {*PAGES}
    assert [pattern for pattern in NOT_TYPED if not any(re.match(pattern, line) for line in every)] == []
    assert [test for test in NOT_TYPED.values() if not is_there(test)] == []
    assert [pattern for pattern in ENDS if not any(re.fullmatch(pattern, line) for line in every)] == []


@pytest.mark.parametrize("block", [block for block in BLOCKS if any(map(typed, lines(block)))], ids=str)
async def test_the_commands_of_a_block_do_what_is_said(folder: Path, block: Block):
    project = folder / "project"
    if any(line.startswith(("bascule import", "bascule add", "bascule new")) for line in lines(block)):
        (project / "bascule.yaml").unlink()
        (project / "server.py").unlink()
    own = {**activated(folder), "HOME": str(folder)}
    env = environment(folder, {**own, "XDG_CONFIG_HOME": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""})
    await prepared(block, project, env)

    for line in filter(typed, lines(block)):
        code, said = await shell(line, project, env)
        assert code == ending(block, line), f"{line}\n{said}"
        assert "Traceback" not in said


async def prepared(block: Block, project: Path, env: dict[str, str]) -> None:
    """What an example takes for granted: that there were calls, and an agent session to look at."""
    asked = " ".join(lines(block))
    if "bascule logs" in asked:
        await shell("bascule list", project, env)
    if "bascule sessions" in asked:
        await shell("bascule sessions raise --user alice --session s-1 --to confidential", project, env)
    if (away := re.search(r"bascule logout (\w+)", asked)) is not None:
        configured(project, **{away[1]: {"url": "http://127.0.0.1:1/mcp"}})
    if "bascule read" in asked:
        notes = {"command": "python", "args": ["-m", "bascule.demo.notes"]}
        configured(project, notes=notes, files=command_of(offering(project, name="files", uris=("a://1",))))


async def shell(line: str, project: Path, env: dict[str, str]) -> tuple[int, str]:
    # Of a pipe, what the first of it ends with counts as well.
    process = await asyncio.create_subprocess_exec(
        *("bash", "-o", "pipefail", "-c", line),
        cwd=project,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with fail_after(90, line):
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()
