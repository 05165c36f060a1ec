"""What a client of the gateway is answered where a code is raised behind it, in either era."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bascule.config import Limits, Sandbox, ServerConfig, StdioTransport, StreamableHttpTransport, Timeouts
from bascule.config.loading.load import load_file
from bascule.core.sensitivity import DataSensitivity
from behaviour.codes.command import GREET
from behaviour.codes.door import MiB
from behaviour.codes.program import FATAL, LABELLED, SILENT, audit_log, largest_file
from support.gateways import AUTH, Served, ask, introduced, serving
from support.kit_http import PREFIX, Answered, bearer, line_to
from support.login_server import guarded_server
from support.offers import ELICIT, offering, required
from support.runtime import Arrived, a_tool, good, obeying, stand_in, twinned
from support.scenarios import scripted, write_yaml
from support.waiting import fail_after, until

Ask = Callable[..., Awaitable[Answered]]
Answering = Callable[[Path, bool], Awaitable[Answered]]
"""Makes a client fail in a folder of its own, in the new era or in the old one, and gives what it is answered."""

NOT_MET = {
    "BSC-407": "Nothing: only who runs `bascule login` meets it.",
    "BSC-610": "Nothing: a workspace is used by a program or by a tool, which tells of it in its own words.",
    "BSC-611": "Nothing: a workspace is used by a program or by a tool, which tells of it in its own words.",
    "BSC-612": "Nothing: a workspace is used by a program or by a tool, which tells of it in its own words.",
    "BSC-650": "Without its state a gateway does not start. Later it is a result with the kind `unavailable`.",
    "BSC-703": "Nothing: the client has gone.",
    "BSC-711": "Nothing: it is of a bridge, which is used by programs.",
    "BSC-712": "Nothing: it is of a bridge, which is used by programs.",
    "BSC-713": "Nothing: it is of a bridge, which is used by programs.",
    "BSC-714": "Nothing: it is of a bridge, which is used by programs.",
    "BSC-715": "Nothing: it is of a bridge, which is used by programs.",
}
"""Codes that no client of a gateway is told, and why."""


@dataclass
class Answers:
    """What raises each code behind a gateway."""

    by_code: dict[str, Answering] = field(default_factory=dict[str, Answering])

    def __call__(self, code: str) -> Callable[[Answering], Answering]:
        return partial(self._add, code)

    def _add(self, code: str, answering: Answering) -> Answering:
        assert code not in self.by_code
        self.by_code[code] = answering
        return answering


answers = Answers()


@asynccontextmanager
async def client(served: Served, *, new: bool) -> AsyncGenerator[Ask]:
    async with line_to(served.port) as line:
        said = {} if new else {"Mcp_Session_Id": await introduced(line)}
        yield partial(ask, line, new=new, **said)


async def called(server: ServerConfig, new: bool, arguments: Any = None, tool: str = "work_act") -> Answered:
    """What a client is answered who calls a tool of a server."""
    async with serving(server) as served, client(served, new=new) as asking:
        return await call(asking, arguments, tool)


async def call(asking: Ask, arguments: Any = None, tool: str = "work_act") -> Answered:
    return await asking("tools/call", {"name": tool, "arguments": arguments or {}})


def replying(folder: Path, **answer: Any) -> ServerConfig:
    return scripted(folder, {"tools/call": [answer]})


@answers("BSC-000")
async def a_runtime_has_ended_under_its_gateway(folder: Path, new: bool) -> Answered:
    """What no client can bring about: it is done from behind."""
    async with serving(obeying(folder / "log")) as served, client(served, new=new) as asking:
        await served.runtime.close()
        return await asking("tools/list")


@answers("BSC-100")
async def a_variable_is_not_set(folder: Path, new: bool) -> Answered:
    entry = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    read = load_file(write_yaml(folder, {"github": entry}))
    return await called(read.servers["github"], new, tool="github_search")


@answers("BSC-200")
async def a_server_completes_nothing(folder: Path, new: bool) -> Answered:
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}}
    kept = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    told = {"server/discover": [{"result": {**discovered, **kept}}]}
    async with (
        serving(offering(folder, prompts=({"name": "greet"},), scenario=told)) as served,
        client(served, new=new) as asking,
    ):
        asked = {"ref": {"type": "ref/prompt", "name": "work_greet"}, "argument": {"name": "name", "value": "A"}}
        return await asking("completion/complete", asked)


@answers("BSC-201")
async def a_tool_is_misspelt(folder: Path, new: bool) -> Answered:
    return await called(obeying(folder / "log"), new, tool="work_atc")


@answers("BSC-202")
async def an_argument_is_misspelt(folder: Path, new: bool) -> Answered:
    return await called(obeying(folder / "log", GREET), new, {"nam": "Ada"}, "work_greet")


@answers("BSC-203")
async def no_server_lists_a_resource(folder: Path, new: bool) -> Answered:
    async with serving(obeying(folder / "log")) as served, client(served, new=new) as asking:
        return await asking("resources/read", {"uri": "notes://nowhere"})


@answers("BSC-204")
async def no_server_has_a_prompt(folder: Path, new: bool) -> Answered:
    async with serving(obeying(folder / "log")) as served, client(served, new=new) as asking:
        return await asking("prompts/get", {"name": "work_summary"})


@answers("BSC-300")
async def private_data_came_aboard(folder: Path, new: bool) -> Answered:
    async with serving(obeying(folder / "log")) as served, client(served, new=new) as asking:
        await private(served)
        return await call(asking)


async def private(served: Served) -> None:
    session = served.runtime.session("alice", "s-1")
    await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)


@answers("BSC-301")
async def one_call_too_many_is_made(folder: Path, new: bool) -> Answered:
    server = obeying(folder / "log", limits=Limits(per_minute=1))
    async with serving(server) as served, client(served, new=new) as asking:
        await call(asking)
        return await call(asking)


@answers("BSC-302")
async def a_twin_is_of_another_version(folder: Path, new: bool) -> Answered:
    server = twinned(obeying(folder / "open", a_tool("act"), a_tool("look")), obeying(folder / "twin", a_tool("act")))
    async with serving(server) as served, client(served, new=new) as asking:
        await call(asking)
        await private(served)
        return await call(asking)


@answers("BSC-303")
async def how_private_a_result_is_cannot_be_kept(folder: Path, new: bool) -> Answered:
    server = obeying(folder / "log", trust=frozenset({"labels"}))
    async with serving(server) as served, client(served, new=new) as asking:
        await call(asking)
        with no_journal():
            return await call(asking, {"result": LABELLED})


@contextmanager
def no_journal() -> Generator[None]:
    journal = Path(os.environ["BASCULE_HOME"], "bascule.db-raises")
    journal.rename(journal.with_name("away"))
    journal.mkdir()
    try:
        yield
    finally:
        journal.rmdir()
        journal.with_name("away").rename(journal)


@answers("BSC-304")
async def the_disk_of_the_audit_log_is_full(folder: Path, new: bool) -> Answered:
    async with serving(obeying(folder / "log")) as served, client(served, new=new) as asking:
        session = served.runtime.session("alice", "s-1")
        for _ in range(400):
            good(await session.call("work_act"))
        with largest_file(audit_log().stat().st_size):
            return await call(asking)


@answers("BSC-305")
async def no_token_is_shown(folder: Path, new: bool) -> Answered:
    async with serving(obeying(folder / "log"), auth=AUTH) as served, line_to(served.port) as line:
        return await ask(line, "tools/list" if new else "initialize", new=new)


@answers("BSC-401")
async def a_server_ends_at_once(folder: Path, new: bool) -> Answered:
    del folder
    return await called(stand_in("work", "failing", 1, "no module 'requests'"), new)


@answers("BSC-402")
async def a_server_dies_under_a_call(folder: Path, new: bool) -> Answered:
    return await called(replying(folder, exit=3), new)


@answers("BSC-403")
async def a_call_takes_too_long(folder: Path, new: bool) -> Answered:
    return await called(obeying(folder / "log", timeouts=Timeouts(call=0.5, close=1)), new, {"silent": True})


@answers("BSC-404")
async def a_result_is_misshapen(folder: Path, new: bool) -> Answered:
    return await called(replying(folder, result={"content": "done", "resultType": "complete"}), new)


@answers("BSC-405")
async def a_server_answers_with_an_error(folder: Path, new: bool) -> Answered:
    error = {"code": -32050, "message": "database is locked", "data": {"table": "orders"}}
    return await called(replying(folder, error=error), new)


@answers("BSC-406")
async def a_server_wants_a_login(folder: Path, new: bool) -> Answered:
    del folder
    async with guarded_server() as guarded:
        return await called(ServerConfig("work", StreamableHttpTransport(guarded.url)), new)


@answers("BSC-408")
async def private_data_comes_while_a_call_is_under_way(folder: Path, new: bool) -> Answered:
    log = folder / "log"
    async with serving(obeying(log)) as served, client(served, new=new) as asking:
        # Without progress: this client asks for none, and the stand-in dies where it is to tell somebody who did not ask.
        under_way = asyncio.ensure_future(call(asking, {"silent": True}))
        async with fail_after(20, "a call under way"):
            await until(lambda: log.exists() and "tools/call" in log.read_text())
        await private(served)
        return await under_way


@answers("BSC-409")
async def a_server_asks_first(folder: Path, new: bool) -> Answered:
    assert new, "what is asked in the old era is asked beside the request"
    server = offering(folder, scenario={"tools/call": [required(how=ELICIT)]})
    able = {"_meta": {f"{PREFIX}/clientCapabilities": {"elicitation": {"form": {}}}}}
    async with serving(server) as served, client(served, new=True) as asking:
        return await asking("tools/call", {"name": "work_act", "arguments": {}, **able})


@answers("BSC-410")
async def a_command_is_not_there(folder: Path, new: bool) -> Answered:
    del folder
    return await called(ServerConfig("work", StdioTransport("npxx")), new)


@answers("BSC-500")
async def every_link_is_taken(folder: Path, new: bool) -> Answered:
    limits = Timeouts(connect=15, reconnect=0.5, probe=10, close=0.5)
    server = obeying(folder / "log", timeouts=limits)
    async with serving(server, links_max=1) as served, client(served, new=new) as asking:
        arrived, bob = Arrived(), served.runtime.session("bob", "s")
        busy = asyncio.ensure_future(bob.call("work_act", SILENT, on_progress=arrived))
        await arrived.wait()
        try:
            return await call(asking)
        finally:
            busy.cancel()
            await asyncio.gather(busy, return_exceptions=True)


@answers("BSC-600")
async def a_box_is_asked_for_where_none_can_be_made(folder: Path, new: bool) -> Answered:
    before = os.environ.get("BASCULE_SANDBOX")
    os.environ["BASCULE_SANDBOX"] = "none"
    try:
        return await called(obeying(folder / "log", sandbox=Sandbox(engine="bubblewrap")), new)
    finally:
        os.environ.pop("BASCULE_SANDBOX")
        if before is not None:
            os.environ["BASCULE_SANDBOX"] = before


@answers("BSC-700")
async def a_tool_ends_the_run(folder: Path, new: bool) -> Answered:
    return await called(obeying(folder / "log", trust=frozenset({"fatal"})), new, {"result": FATAL})


@answers("BSC-701")
async def a_tool_says_no(folder: Path, new: bool) -> Answered:
    words = {"content": [{"type": "text", "text": "there is no order 501"}], "isError": True}
    return await called(replying(folder, result={**words, "resultType": "complete"}), new)


@answers("BSC-716")
async def bodies_are_begun_and_never_ended(folder: Path, new: bool) -> Answered:
    begun = {
        "Content-Length": str(8 * MiB),
        "Accept": "application/json, text/event-stream",
        "Authorization": bearer("ada"),
    }
    del new  # What is not read is of no era.
    async with AsyncExitStack() as stack, serving(obeying(folder / "log"), auth=AUTH) as gateway:
        lines = [await stack.enter_async_context(line_to(gateway.port)) for _ in range(3)]
        asking = [asyncio.create_task(line.send(b"{", begun)) for line in lines]
        done, waiting = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return await done.pop()


@answers("BSC-720")
async def a_message_is_too_long(folder: Path, new: bool) -> Answered:
    async with serving(obeying(folder / "log"), message_max=100_000) as served, client(served, new=new) as asking:
        return await call(asking, {"text": "x" * 200_000})


def section(met: list[Answered]) -> str:
    """What a page says of answers that were really given: in the new era, and then in the old one."""
    kinds = [_kind(answer) for answer in met]
    (data,) = {re.sub(r'"(5\d|6[01])"', '"60"', json.dumps(data, ensure_ascii=False)) for _, data in kinds}
    whats = [kind.partition(": ") for kind, _ in kinds]
    what = f"{whats[0][0]}{_either([number for _, _, number in whats])}"
    return f'{what}, by HTTP {_either([str(answer.status) for answer in met])}:\n\n```json of="answer"\n{data}\n```'


def _either(told: list[str]) -> str:
    return told[0] if len({*told}) == 1 else f"{told[0]} in the new era and {told[1]} in the old one"


def _kind(answer: Answered) -> tuple[str, Any]:
    message = answer.message
    if (error := message.get("error")) is not None:
        return f"A JSON-RPC error with the code : {error['code']}", {"data": error.get("data")}
    result = message["result"]
    if result.get("resultType") == "input_required":
        return "A result with the questions", {key: result[key] for key in ("resultType", "inputRequests")}
    return "A result that is an error", {key: result[key] for key in ("isError", "_meta")}
