"""Every block of every page is of a kind that is known, and holds: configs load, commands are those of the parser, programs run.

What a page's own tests run they run; this is what holds for all pages.
"""

import ast
import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule.config import load_file
from support import warm
from support.activated import activated
from support.command import bascule, environment, started
from support.pages import MARKS, ROOT, Block, every_block, parses
from support.ports import free_port
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("UX-5")

BLOCKS = every_block()
SHELLS = {"bash", "zsh", "fish"}
"""What only one of them takes: typed there, by test_completion.py."""

LANGUAGES = {"python", "sh", "console", "yaml", "json", "text", *SHELLS}
OTHERS = {"python", "cd", "make", ".", "pip", "claude", "head", "docker", "curl", "eval"}
"""Programs that pages name beside ours."""

AT_ONCE = 2
BUILT_IN = {name: {"command": "python", "args": ["-m", f"bascule.demo.{name}"]} for name in ("notes", "clock")}


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": BUILT_IN}))
    return tmp_path


def test_every_block_is_of_a_kind_that_is_known():
    unknown = [f"{block}: {block.language or 'no language'}" for block in BLOCKS if block.language not in LANGUAGES]
    unmarked = [f"{block}: {set(block.marks) - set(MARKS)}" for block in BLOCKS if not set(block.marks) <= set(MARKS)]

    assert not unknown, f"say what it is behind the fence, one of {sorted(LANGUAGES)}: {unknown}"
    assert not unmarked, f"a block may say of itself {MARKS}: {unmarked}"


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_a_config_that_is_shown_loads(block: Block, tmp_path: Path):
    written: dict[str, Any] = yaml.safe_load(block.text)
    servers: dict[str, Any] = written.setdefault("mcp_servers", {})
    for server in servers.values():
        # A part of an entry: what it is about is shown, and not how the server is reached.
        if not {"command", "url", "type"} & set(server):
            server["command"] = "python"
    path = tmp_path / "bascule.yaml"
    path.write_text(yaml.safe_dump(written))
    secret = "Zr9uQ2fXwL7mT4vKpD8sHc3nYb6gJe1aNqR5xUoWtSiPzMkV"
    given = {name: "/run" if name.endswith("_RUN") else secret for name in re.findall(r"\$\{(\w+)", block.text)}

    config = load_file(path, given)

    assert {name: reason for name, server in config.servers.items() if (reason := server.unavailable_reason)} == {}


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_what_is_shown_as_json_is_json_and_a_config_unless_it_says_what_else(block: Block, tmp_path: Path):
    value = json.loads(block.text)

    if "mcpServers" in value:
        (tmp_path / ".mcp.json").write_text(block.text)
        assert load_file(tmp_path / ".mcp.json").servers
    else:
        assert "of" in block.marks, 'a config, or marked: ```json of="…"'


@pytest.mark.parametrize("block", of("sh", "console"), ids=str)
def test_a_command_that_is_shown_is_one_that_the_parser_takes(block: Block):
    programs = {words[0] for words in block.commands if not re.fullmatch(r"[A-Z_]+=.*", words[0])}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert programs <= {"bascule", *OTHERS}
    for words in block.commands:
        if words[0] == "bascule":
            end = next((at for at, word in enumerate(words) if word in {"|", ">"}), len(words))
            ours = words[1:end]
            assert parses(ours) is None, " ".join(words)
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), words


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_python_that_is_shown_is_python(block: Block):
    compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


@pytest.mark.long
async def test_the_programs_shown_on_the_built_in_servers_run(folder: Path):
    """All of them, some at once: what takes time is to start."""
    programs = [
        block for block in of("python") if '.from_file(".mcp.json"' in block.text and "asyncio.run(" in block.text
    ]
    few = asyncio.Semaphore(AT_ONCE)

    async def run(number: int, block: Block) -> str:
        path = folder / f"program{number}.py"
        path.write_text(block.text)
        env = environment(folder, {**activated(), "BASCULE_HOME": str(folder / f"state{number}")})
        async with few:
            process = await asyncio.create_subprocess_exec(
                *(warm.python(), path.name), cwd=folder, env=env, stdout=-1, stderr=asyncio.subprocess.STDOUT
            )
            out, _ = await process.communicate()
        return "" if process.returncode == 0 else f"{block}: {out.decode()}"

    async with fail_after(120, "programs"):
        said = await asyncio.gather(*(run(number, block) for number, block in enumerate(programs)))

    assert len(programs) >= 6
    assert [words for words in said if words] == []


@pytest.mark.long
async def test_the_first_five_minutes_are_as_the_page_says(folder: Path):
    for block in [block for block in BLOCKS if block.page == "get-started.md"]:
        if block.language in {"json", "yaml"}:
            (folder / block.marks["of"]).write_text(block.text)
        elif "endless" in block.marks:
            await serves(folder, block.commands[0][1:])
        elif block.language == "sh" and "of" not in block.marks:
            for words in block.commands:
                ran = await bascule(folder, *words[1:], env=activated())
                assert ran.code == int(block.marks.get("exits", 0)), (words, ran.err)
                assert ran.out or ran.err


async def serves(folder: Path, words: list[str]) -> None:
    async with (
        fail_after(60, "a gateway"),
        started(folder, *words, "--port", str(free_port()), env=activated()) as process,
    ):
        assert process.stderr is not None
        while b"are served at" not in (line := await process.stderr.readline()):
            assert line, "it ended"
