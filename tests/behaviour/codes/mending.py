"""What each error names as its fix, done as it says; and then what had failed goes well."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from behaviour.codes import command
from behaviour.codes.command import ADA, scripted, working
from support.command import Ran, bascule, configured, entry, started
from support.http_servers import asgi_server
from support.login_server import Browser, guarded_server
from support.offers import life
from support.scenarios import log_of
from support.servers import SERVERS
from support.shown import Scenario

Mend = Callable[[Path, str], Awaitable[None]]
"""Does what the fix says, which it is given, in the folder of the scenario; fails where that does not help."""

ANSWER = {"result": {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}}

SLOW = """
import json, sys, time
sys.path.insert(0, "{servers}")
from echo import answer
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "tools/call":
        time.sleep(1)
    print(json.dumps({{"jsonrpc": "2.0", "id": message.get("id"), "result": answer(message)}}), flush=True)
"""
"""A server that takes a second for each call."""

mends: dict[Scenario, Mend] = {}


def mended(scenario: Scenario) -> Callable[[Mend], Mend]:
    def add(mend: Mend) -> Mend:
        assert scenario not in mends
        mends[scenario] = mend
        return mend

    return add


def follow(said: str, *named: str) -> None:
    """The fix must name what is done about it."""
    assert all(each in said for each in named), f"{named} is not what was said: {said}"


async def well(folder: Path, *words: str, **env: str) -> Ran:
    ran = await bascule(folder, *words, env=env)
    assert ran.code == 0, ran
    assert "BSC-" not in ran.out + ran.err, ran
    return ran


@mended(command.the_output_has_no_room)
async def it_goes_where_there_is_room(folder: Path, said: str) -> None:
    follow(said, "see to what the machine says")
    await well(folder, "--version")
    assert "BSC-401" in (await bascule(folder, "explain")).out


@mended(command.a_key_is_misspelt)
async def the_lines_are_corrected(folder: Path, said: str) -> None:
    follow(said, "correct what is listed")
    text = (folder / "bascule.yaml").read_text()
    text = text.replace("comand: npx", f"command: {sys.executable}\n    args: [{SERVERS / 'echo.py'}]")
    (folder / "bascule.yaml").write_text(text.replace("soon", "5"))
    await well(folder, "list")


@mended(command.there_is_no_config)
async def a_config_is_written(folder: Path, said: str) -> None:
    follow(said, "`bascule import`", "`bascule add NAME -- COMMAND`")
    await well(folder, "add", "echo", "--", sys.executable, str(SERVERS / "echo.py"))
    await well(folder, "call", "echo_echo", "message=hi")


@mended(command.a_variable_is_not_set)
async def the_variable_is_set(folder: Path, said: str) -> None:
    follow(said, "set TOKEN in the environment", ".env beside the file")
    told = (await bascule(folder, "list", env={"TOKEN": "t-1234567"})).out
    assert "BSC-100" not in told
    (folder / ".env").write_text("TOKEN=t-1234567\n")
    assert "BSC-100" not in (await bascule(folder, "list")).out


@mended(command.an_argument_has_no_value)
async def it_is_given_one(folder: Path, said: str) -> None:
    follow(said, "message=hi")
    await well(folder, "call", "work_act", "message=hi")


@mended(command.a_server_is_not_in_the_config)
async def one_that_is_listed_is_named(folder: Path, said: str) -> None:
    follow(said, "`bascule list`")
    name = (await well(folder, "list", "--json")).json["servers"][0]["name"]
    await well(folder, "logs", name)


@mended(command.a_tool_is_misspelt)
async def a_tool_that_is_listed_is_called(folder: Path, said: str) -> None:
    follow(said, "`bascule list`")
    name = (await well(folder, "list", "--json")).json["tools"][0]["name"]
    await well(folder, "call", name, "name=Ada")


@mended(command.an_argument_is_misspelt)
async def the_schema_is_looked_at(folder: Path, said: str) -> None:
    follow(said, "`bascule inspect work_greet`")
    assert "name" in (await well(folder, "inspect", "work_greet")).out
    await well(folder, "call", "work_greet", "name=Ada")


@mended(command.no_server_lists_a_resource)
async def a_resource_that_is_listed_is_read(folder: Path, said: str) -> None:
    follow(said, "`bascule list --resources`")
    _offering(folder)
    uri = (await well(folder, "list", "--resources", "--json")).json["resources"][0]["uri"]
    await well(folder, "read", uri)


@mended(command.no_server_has_a_prompt)
async def a_prompt_that_is_listed_is_filled_in(folder: Path, said: str) -> None:
    follow(said, "`bascule list --prompts`")
    _offering(folder)
    name = (await well(folder, "list", "--prompts", "--json")).json["prompts"][0]["name"]
    await well(folder, "prompt", name)


def _offering(folder: Path) -> None:
    told = life(uris=("notes://one",), prompts=({"name": "summary"},))
    (folder / "scenario.json").write_text(json.dumps([told]))
    configured(folder, work=entry("scripted", folder / "scenario.json", log_of(folder)))


@mended(command.private_data_came_aboard)
async def it_gets_a_twin(folder: Path, said: str) -> None:
    follow(said, "`command_isolated`", "--session ID")
    await well(folder, "call", "work_act", "--user", "ada", "--session", "s-2")
    twin = entry("obeying", folder / "twin-log")
    working(folder, command_isolated=[twin["command"], *twin["args"]])
    await well(folder, "call", "work_act", *ADA)


@mended(command.nobody_can_be_asked)
async def the_tool_is_taken_out_of_ask(folder: Path, said: str) -> None:
    follow(said, "take the tool out of the server's `ask`")
    working(folder, ask=[])
    await well(folder, "call", "work_act")


@mended(command.a_command_is_not_there)
async def it_is_installed(folder: Path, said: str) -> None:
    follow(said, "install npxx")
    (folder / "bin").mkdir()
    program_ = folder / "bin" / "npxx"
    program_.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVERS / 'echo.py'}\n")
    program_.chmod(0o755)
    await well(folder, "call", "files_echo", "message=hi", PATH=f"{folder}/bin:/usr/bin:/bin")


@mended(command.a_server_ends_at_once)
async def what_its_command_says_is_mended(folder: Path, said: str) -> None:
    follow(said, "run its command in a terminal")
    broken = json.loads((folder / "bascule.yaml").read_text())["mcp_servers"]["work"]
    ran = subprocess.run([broken["command"], *broken["args"]], capture_output=True, text=True, check=False)
    assert "No module named 'requests'" in ran.stderr
    working(folder)
    await well(folder, "call", "work_act")


@mended(command.nobody_listens_at_the_address)
async def the_server_is_started(folder: Path, said: str) -> None:
    follow(said, "host and port of the URL, and that the server runs")
    server = guarded_free()
    async with asgi_server(server) as origin:
        configured(folder, notes={"url": f"{origin}/mcp"})
        await well(folder, "call", "notes_add", "text=hello")


def guarded_free() -> object:
    """A server of the official SDK that lets everybody in."""
    from mcp.server import MCPServer

    server = MCPServer("notes")

    @server.tool()
    def add(text: str) -> str:
        return text

    del add
    return server.streamable_http_app(stateless_http=True)


@mended(command.a_server_dies_under_a_call)
async def its_log_tells_why(folder: Path, said: str) -> None:
    follow(said, "`bascule logs work`")
    assert "out of memory" in (await well(folder, "logs", "work")).out
    scripted(folder, tools_call=ANSWER)
    await well(folder, "call", "work_act")


@mended(command.a_call_takes_too_long)
async def it_gets_more_time(folder: Path, said: str) -> None:
    follow(said, "raise its `timeouts.call`")
    (folder / "slow.py").write_text(SLOW.format(servers=SERVERS))
    for seconds, code in ((0.2, 1), (20, 0)):
        slow = {"command": sys.executable, "args": [str(folder / "slow.py")], "timeouts": {"call": seconds}}
        configured(folder, work=slow)
        assert (await bascule(folder, "call", "work_echo", "message=hi")).code == code


@mended(command.a_result_is_misshapen)
async def another_version_keeps_to_the_protocol(folder: Path, said: str) -> None:
    follow(said, "another version may keep to the protocol")
    scripted(folder, tools_call=ANSWER)
    await well(folder, "call", "work_act")


@mended(command.a_server_answers_with_an_error)
async def what_the_server_names_is_mended(folder: Path, said: str) -> None:
    follow(said, "these are the words of work")
    scripted(folder, tools_call=ANSWER)
    await well(folder, "call", "work_act")


@mended(command.a_server_wants_a_login)
async def somebody_logs_in(folder: Path, said: str) -> None:
    follow(said, "`bascule login notes`")
    await _logged_in(folder)


@mended(command.a_person_says_no)
async def the_person_agrees(folder: Path, said: str) -> None:
    follow(said, "run `bascule login` again and agree")
    await _logged_in(folder)


async def _logged_in(folder: Path) -> None:
    async with guarded_server() as guarded:
        configured(folder, notes={"url": guarded.url})
        async with started(folder, "login", "notes", "--no-browser") as process:
            assert process.stderr is not None
            while (line := (await process.stderr.readline()).decode()).strip()[:4] != "http":
                assert line, "no address was printed"
            await Browser().visit(line.strip())
            assert await process.wait() == 0
        await well(folder, "call", "notes_write", "text=hello")


@mended(command.a_box_is_asked_for_where_none_can_be_made)
async def it_does_without_a_box(folder: Path, said: str) -> None:
    follow(said, "say `sandbox: none`")
    working(folder, sandbox="none")
    await well(folder, "call", "work_act", BASCULE_SANDBOX="none")


@mended(command.the_folder_of_a_server_is_not_there)
async def the_folder_is_made(folder: Path, said: str) -> None:
    subprocess.run(said.split("`")[1], shell=True, check=True, cwd=folder)
    await well(folder, "call", "work_act")


@mended(command.a_file_stands_where_the_audit_log_belongs)
async def the_state_lies_elsewhere(folder: Path, said: str) -> None:
    follow(said, "set BASCULE_HOME to another folder")
    await well(folder, "call", "work_act", BASCULE_HOME=str(folder / "another"))
