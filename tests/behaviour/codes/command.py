"""Errors that somebody meets at the command line."""

import asyncio
import json
import re
from itertools import takewhile
from pathlib import Path
from textwrap import dedent
from typing import Any

from behaviour.codes.table import raises
from support.command import BASCULE, bascule, configured, entry, environment, started
from support.login_server import Browser, guarded_server
from support.runtime import a_tool
from support.scenarios import log_of, write_yaml

ADA = ("--user", "ada", "--session", "s-1")
GREET = a_tool("greet", {"properties": {"name": {"type": "string"}}, "required": ["name"]}, description="Say hello.")


async def told(folder: Path, *words: str, **env: str) -> str:
    """What a command prints that fails."""
    ran = await bascule(folder, *words, env=env)
    assert ran.code not in {0, 130}, ran.out
    return part(ran.err)


def part(text: str) -> str:
    """The error in it, without how far it stands to the right."""
    lines = text[text.rfind("\n", 0, text.index("BSC-")) + 1 :].splitlines()
    return dedent("\n".join(takewhile(str.strip, lines)))


def working(folder: Path, *tools: Any, **keys: Any) -> None:
    """A config with one server, which does what the arguments of its tools say."""
    configured(folder, work=entry("obeying", folder / "log", *([json.dumps(tools)] if tools else []), **keys))


def scripted(folder: Path, **answers: Any) -> None:
    """A config with one server, which answers as told. Methods are written with `_` for `/`."""
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps({method.replace("_", "/"): [answer] for method, answer in answers.items()}))
    configured(folder, work=entry("scripted", scenario, log_of(folder)))


@raises("BSC-000")
async def the_output_has_no_room(folder: Path) -> str:
    """What stands for a full disk: a device that takes nothing. What is printed is written at once: else there would be no
    room only at the end, and no line of ours to name."""
    env = environment(folder, {"PYTHONUNBUFFERED": "1"})
    with Path("/dev/full").open("w") as full:
        process = await asyncio.create_subprocess_exec(
            *(BASCULE, "explain"), cwd=folder, env=env, stdout=full, stderr=asyncio.subprocess.PIPE
        )
        _, err = await process.communicate()
    assert process.returncode == 1
    return part(err.decode())


@raises("BSC-100")
async def a_key_is_misspelt(folder: Path) -> str:
    (folder / "bascule.yaml").write_text("mcp_servers:\n  files:\n    comand: npx\n    timeouts: {call: soon}\n")
    return await told(folder, "list")


@raises("BSC-100")
async def there_is_no_config(folder: Path) -> str:
    return await told(folder, "list")


@raises("BSC-100")
async def a_variable_is_not_set(folder: Path) -> str:
    write_yaml(folder, {"github": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}})
    ran = await bascule(folder, "list")
    return part(ran.out)


@raises("BSC-200")
async def an_argument_has_no_value(folder: Path) -> str:
    working(folder)
    return await told(folder, "call", "work_act", "hello")


@raises("BSC-200")
async def a_server_is_not_in_the_config(folder: Path) -> str:
    working(folder)
    return await told(folder, "logs", "wrok")


@raises("BSC-201")
async def a_tool_is_misspelt(folder: Path) -> str:
    working(folder, GREET)
    return await told(folder, "call", "work_gret", "name=Ada")


@raises("BSC-202")
async def an_argument_is_misspelt(folder: Path) -> str:
    working(folder, GREET)
    return await told(folder, "call", "work_greet", "nam=Ada")


@raises("BSC-203")
async def no_server_lists_a_resource(folder: Path) -> str:
    working(folder)
    return await told(folder, "read", "notes://nowhere")


@raises("BSC-204")
async def no_server_has_a_prompt(folder: Path) -> str:
    working(folder)
    return await told(folder, "prompt", "work_summary")


@raises("BSC-300")
async def private_data_came_aboard(folder: Path) -> str:
    working(folder)
    assert (await bascule(folder, "sessions", "raise", *ADA, "--to", "confidential", "--reason", "payroll")).code == 0
    return await told(folder, "call", "work_act", *ADA)


@raises("BSC-300")
async def nobody_can_be_asked(folder: Path) -> str:
    working(folder, ask=["act"])
    return await told(folder, "call", "work_act")


@raises("BSC-410")
async def a_command_is_not_there(folder: Path) -> str:
    configured(folder, files={"command": "npxx", "args": ["-y", "@modelcontextprotocol/server-filesystem"]})
    return await told(folder, "call", "files_read", PATH="/usr/bin:/bin")


@raises("BSC-401")
async def a_server_ends_at_once(folder: Path) -> str:
    configured(folder, work=entry("failing", 1, "ModuleNotFoundError: No module named 'requests'"))
    return await told(folder, "call", "work_act")


@raises("BSC-401")
async def nobody_listens_at_the_address(folder: Path) -> str:
    configured(folder, notes={"url": "http://127.0.0.1:9/mcp"})
    return await told(folder, "call", "notes_add")


@raises("BSC-402")
async def a_server_dies_under_a_call(folder: Path) -> str:
    scripted(folder, tools_call={"stderr": "Traceback: out of memory\n", "exit": 3})
    return await told(folder, "call", "work_act")


@raises("BSC-403")
async def a_call_takes_too_long(folder: Path) -> str:
    working(folder)
    return await told(folder, "call", "work_act", "silent:=true", "--timeout", "0.5")


@raises("BSC-404")
async def a_result_is_misshapen(folder: Path) -> str:
    scripted(folder, tools_call={"result": {"content": "done", "resultType": "complete"}})
    return await told(folder, "call", "work_act")


@raises("BSC-405")
async def a_server_answers_with_an_error(folder: Path) -> str:
    scripted(folder, tools_call={"error": {"code": -32603, "message": "database is locked"}})
    return await told(folder, "call", "work_act")


@raises("BSC-406")
async def a_server_wants_a_login(folder: Path) -> str:
    async with guarded_server() as guarded:
        configured(folder, notes={"url": guarded.url})
        return await told(folder, "call", "notes_write", "text=hello")


@raises("BSC-407")
async def a_person_says_no(folder: Path) -> str:
    async with guarded_server() as guarded:
        configured(folder, notes={"url": guarded.url})
        return await _denied(folder)


async def _denied(folder: Path) -> str:
    async with started(folder, "login", "notes", "--no-browser") as process:
        assert process.stderr is not None
        said = ""
        while (found := re.search(r"log in at:\n  (\S+)\n", said)) is None:
            line = await process.stderr.readline()
            assert line, f"no address was printed: {said}"
            said += line.decode()
        await Browser(deny=True).visit(found[1])
        _, err = await process.communicate()
    return part(said + err.decode())


@raises("BSC-600")
async def a_box_is_asked_for_where_none_can_be_made(folder: Path) -> str:
    working(folder, sandbox={"engine": "bubblewrap"})
    return await told(folder, "call", "work_act", BASCULE_SANDBOX="none")


@raises("BSC-410")
async def the_folder_of_a_server_is_not_there(folder: Path) -> str:
    working(folder, cwd=str(folder / "gone"))
    return await told(folder, "call", "work_act")


@raises("BSC-650")
async def a_file_stands_where_the_audit_log_belongs(folder: Path) -> str:
    working(folder)
    (folder / "state").mkdir(mode=0o700)
    (folder / "state" / "audit").write_text("a file in the way")
    return await told(folder, "call", "work_act")


@raises("BSC-701")
async def a_tool_says_no(folder: Path) -> str:
    words = {"content": [{"type": "text", "text": "there is no order 501; there are 1 to 500"}], "isError": True}
    scripted(folder, tools_call={"result": {**words, "resultType": "complete"}})
    return await told(folder, "call", "work_act")
