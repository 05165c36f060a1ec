"""The fixes of what programs, tools and clients of the gateway tell, done as they say."""

import asyncio
import sys
from pathlib import Path

from bascule.bridges.plain import MCPToolGateway
from bascule.config import Limits, Timeouts
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from bascule.workspace import Workspace
from behaviour.codes import command, door, program
from behaviour.codes.mending import follow, mended, well
from behaviour.codes.program import FATAL, LABELLED, SILENT, audit_log, largest_file
from support.command import bascule, configured
from support.gateways import AUTH, ask, serving
from support.kit_http import bearer, line_to
from support.offers import DONE, ELICIT, offering, required
from support.runtime import Arrived, a_tool, at_work, bad, calls_in, good, obeying, running, twinned
from support.servers import SERVERS

ORDERS = """
import json, sys
sys.path.insert(0, "{servers}")
from echo import answer
for line in sys.stdin:
    message = json.loads(line)
    result = answer(message)
    if message["method"] == "tools/call" and int(message["params"]["arguments"]["message"]) > 500:
        result["content"], result["isError"] = [{{"type": "text", "text": "there are orders 1 to 500"}}], True
    print(json.dumps({{"jsonrpc": "2.0", "id": message.get("id"), "result": result}}), flush=True)
"""
"""A server with five hundred orders, which says so."""


@mended(program.a_call_gets_what_its_types_forbid)
async def it_gets_a_number(folder: Path, said: str) -> None:
    follow(said, "look at the exception that came out of the call")
    async with at_work(obeying(folder / "log")) as session:
        good(await session.call("work_act", timeout=5))


@mended(program.one_call_too_many_is_made)
async def the_limit_is_raised(folder: Path, said: str) -> None:
    follow(said, "raise `limits.per_minute`")
    async with at_work(obeying(folder / "log", limits=Limits(per_minute=2))) as session:
        for _ in range(2):
            good(await session.call("work_act"))


@mended(program.a_twin_is_of_another_version)
async def the_twin_is_brought_to_the_same_version(folder: Path, said: str) -> None:
    follow(said, "to the same version as the server itself")
    server = obeying(folder / "open", a_tool("act"), a_tool("look"))
    async with running(twinned(server, obeying(folder / "twin", a_tool("act"), a_tool("look")))) as runtime:
        session = runtime.session("alice", "s-2")
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        good(await session.call("work_act"))


@mended(program.how_private_a_result_is_cannot_be_kept)
async def the_folder_is_writable_again(folder: Path, said: str) -> None:
    follow(said, "writable")
    async with running(obeying(folder / "log", trust=frozenset({"labels"}))) as runtime:
        good(await runtime.session("alice", "s-2").call("work_act", {"result": LABELLED}))


@mended(program.every_link_is_taken)
async def more_links_may_be_open(folder: Path, said: str) -> None:
    follow(said, "raise `links.max`")
    limits = Timeouts(connect=15, reconnect=0.5, probe=10, close=0.5)
    async with running(obeying(folder / "log", timeouts=limits), links_max=2) as runtime:
        arrived = Arrived()
        busy = asyncio.create_task(runtime.session("ada", "s").call("work_act", SILENT, on_progress=arrived))
        await arrived.wait()
        good(await runtime.session("bob", "s").call("work_act"))
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)


@mended(program.a_file_is_not_there)
async def the_folder_is_listed(folder: Path, said: str) -> None:
    follow(said, "list the folder")
    with Workspace.of(program.ADA, folder) as workspace:
        workspace.write_text("plans.txt", "all of them")
        (entry_,) = workspace.list("/workspace")
        assert workspace.read_text(entry_.name) == "all of them"


@mended(program.the_quota_is_used_up)
async def the_quota_is_raised(folder: Path, said: str) -> None:
    follow(said, "raise `workspace.quota`")
    with Workspace.of(program.ADA, folder, quota=81920) as workspace:
        workspace.write_text("big.txt", "x" * 20_000)


@mended(program.a_tool_ends_the_run)
async def its_word_is_not_trusted(folder: Path, said: str) -> None:
    follow(said, "without `fatal` in the `trust` of work it would end no run")

    def run() -> object:
        with MCPToolGateway([obeying(folder / "log")]) as tools:
            return tools.call("work_act", {"result": FATAL})

    assert "closed" in str(await asyncio.to_thread(run))


@mended(door.no_token_is_shown)
@mended(door.a_token_is_too_old)
async def a_good_token_is_shown(folder: Path, said: str) -> None:
    assert "with a token" in said or "get a new token" in said
    async with serving(obeying(folder / "log"), auth=AUTH) as gateway, line_to(gateway.port) as client:
        assert (await ask(client, "tools/list", Authorization=bearer("ada"))).status == 200


@mended(door.a_server_asks_first)
async def it_is_answered(folder: Path, said: str) -> None:
    follow(said, "answer each of `inputRequests`", "`requestState`")
    server = offering(folder, scenario={"tools/call": [required("s-1", how=ELICIT), DONE]})
    able = {"_meta": {f"{door.PREFIX}/clientCapabilities": {"elicitation": {"form": {}}}}}
    asked = {"name": "work_act", "arguments": {}, **able}
    async with serving(server) as gateway, line_to(gateway.port) as client:
        first = (await ask(client, "tools/call", asked)).message["result"]
        answer = {"how": {"action": "accept", "content": {"n": 3}}}
        more = {"inputResponses": answer, "requestState": first["requestState"]}
        assert (await ask(client, "tools/call", {**asked, **more})).text == "done"


@mended(door.bodies_are_begun_and_never_ended)
async def less_is_asked_for_at_once(folder: Path, said: str) -> None:
    follow(said, "ask for less at once")
    async with serving(obeying(folder / "log")) as gateway, line_to(gateway.port) as client:
        assert (await ask(client, "tools/list")).status == 200


@mended(door.a_message_is_too_long)
async def longer_messages_are_taken(folder: Path, said: str) -> None:
    follow(said, "raise `messages.max`")
    async with serving(obeying(folder / "log"), message_max=1_000_000) as gateway, line_to(gateway.port) as client:
        call = {"name": "work_act", "arguments": {"text": "x" * 200_000}}
        assert (await ask(client, "tools/call", call)).status == 200


@mended(program.the_disk_of_the_audit_log_is_full)
async def room_is_made_on_the_disk(folder: Path, said: str) -> None:
    follow(said, "make room on the disk", "it goes on by itself")
    async with at_work(obeying(folder / "log")) as session:
        for _ in range(400):
            good(await session.call("work_act"))
        with largest_file(audit_log().stat().st_size):
            assert bad(await session.call("work_act"), FailureKind.DENIED).code == "BSC-304"
        good(await session.call("work_act"))


@mended(program.private_data_comes_while_a_call_is_under_way)
async def whether_it_was_done_is_found_out(folder: Path, said: str) -> None:
    follow(said, "find out whether it was done before you call again")
    assert len(calls_in(folder / "log")) == 1, "it is with the server"
    async with running(obeying(folder / "log")) as runtime:
        good(await runtime.session("alice", "s-2").call("work_act"))


@mended(program.a_path_leads_out)
async def the_dots_that_go_too_far_are_left_out(folder: Path, said: str) -> None:
    follow(said, "leave out the `..` that go too far")
    with Workspace.of(program.ADA, folder) as workspace:
        workspace.write_text("etc/passwd", "mine")
        assert workspace.read_text("a/../etc/passwd") == "mine"


@mended(program.nobody_waits_any_more)
async def who_called_waits_longer(folder: Path, said: str) -> None:
    follow(said, "let whoever called wait longer than its `timeout`")
    async with at_work(obeying(folder / "log")) as session, asyncio.timeout(60):
        good(await session.call("work_act", timeout=30))


@mended(command.a_tool_says_no)
async def what_the_tool_says_is_done(folder: Path, said: str) -> None:
    follow(said, "there are 1 to 500")
    (folder / "orders.py").write_text(ORDERS.format(servers=SERVERS))
    configured(folder, work={"command": sys.executable, "args": [str(folder / "orders.py")]})
    assert "BSC-701" in (await bascule(folder, "call", "work_echo", "message=501")).err
    await well(folder, "call", "work_echo", "message=500")
