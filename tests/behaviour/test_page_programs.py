"""Every block of Python on every page is run: whole programs as they stand, parts of one with what stands around them."""

import ast
import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

import bascule as product
from bascule.config import AuthSettings
from bascule.core.outcome import Outcome, ToolResult
from bascule.core.sensitivity import DataSensitivity
from bascule.kit import ToolPermission, connectors, create_mcp_server, tool_permission
from bascule.testing import client
from bascule.workspace import Workspace, host_paths
from support.activated import activated
from support.command import bascule, configured, entry
from support.inside import Wrapped, private_data
from support.pages import ROOT, Block, every_block
from support.private_data import Book
from support.runtime import a_tool
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("UX-5")


def every_python() -> dict[str, Block]:
    """By their pages, and which of all on its page each is."""
    found: dict[str, Block] = {}
    for block in every_block():
        if block.language == "python":
            found[f"{block.page}[{sum(each.page == block.page for each in found.values())}]"] = block
    return found


BLOCKS = every_python()

BY_THEIR_PAGES = {
    "bridge-claude-sdk.md[0]": "behaviour/test_bridge_claude_sdk.py",
    "bridge-langchain.md[0]": "behaviour/test_bridge_langchain.py",
    "bridge-openai-agents.md[0]": "behaviour/test_bridge_openai_agents.py",
    "bridge-plain.md[1]": "behaviour/test_plain_gateway.py",
    "bridge-pydantic-ai.md[0]": "behaviour/test_bridge_pydantic_ai.py",
    "bridge-weakincentives.md[0]": "behaviour/weakincentives/test_example.py",
    "testing.md[0]": "behaviour/test_hands_on.py",
}
"""Programs that the tests of their own page run, and compare with what they print."""

NOT_RUN = {
    "bridge-weakincentives.md[1]": "needs Python 3.12, and is run there as tests/behaviour/weakincentives; here it is read",
    "connectors.md[3]": "asks a PostgreSQL called `db`; tests/unit/kit/connectors/sql ask a real one",
    "connectors.md[4]": "asks https://api.example.com; tests/unit/kit/connectors/http/test_connector.py ask a real one on loopback",
}
"""Blocks that cannot be run here, each with the reason. That they are Python is looked at nevertheless."""


def whole(block: Block) -> bool:
    """Run as it stands by test_docs.py."""
    return '.from_file(".mcp.json"' in block.text and "asyncio.run(" in block.text


async def run(block: Block, **around: Any) -> dict[str, Any]:
    """What a block has made, run with these names around it. It may await."""
    space = {"__name__": "page", **around}
    code = compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    async with fail_after(60, str(block)):
        made: Any = eval(code, space)
        if inspect.isawaitable(made):
            await made
    return space


@contextmanager
def in_a_request(folder: Path) -> Generator[Workspace]:
    """As the tools of a server are run."""
    with Workspace(folder / "home") as workspace:
        tokens = host_paths.CURRENT.set(lambda: workspace), private_data.CURRENT.set(Book())
        try:
            yield workspace
        finally:
            host_paths.CURRENT.reset(tokens[0])
            private_data.CURRENT.reset(tokens[1])


async def kit(folder: Path, block: Block) -> None:
    made = await run(block)
    async with client(made["mcp"], user="dr-lee", session="s-1") as lee:
        seen, unknown = await lee.call("patients", {"ward": "north"}), await lee.call("patients", {"ward": "west"})
    assert isinstance(seen, ToolResult)
    assert seen.structured == {"result": ["Jane Roe"]}
    assert not unknown.ok


async def instructions(folder: Path, block: Block) -> None:
    @tool_permission(ToolPermission.READ)
    def orders() -> list[int]:
        """Orders."""
        return [7]

    made = await run(block, TOOLS=[orders], create_mcp_server=create_mcp_server)
    async with client(made["mcp"], user="ada", session="s-1") as ada:
        assert (await ada.call("orders")).ok


async def resources(folder: Path, block: Block) -> None:
    await run(block, create_mcp_server=create_mcp_server, auth=AuthSettings())


async def results(folder: Path, block: Block) -> None:
    made = await run(block)
    assert await made["query"]("SELECT 1") is None


async def desk(folder: Path, block: Block) -> None:
    @dataclass
    class Order:
        number: int

    configured(folder)
    made = await run(block, Annotated=Annotated, Order=Order)
    assert made["runtime"] is not None


async def wrapping(folder: Path, block: Block) -> None:
    @product.tool("write")
    def order(count: int = 1) -> int:
        return count

    runtime = product.Runtime.from_servers({"desk": [order]})
    await run(block, runtime=runtime, Wrapped=Wrapped, Any=Any, Outcome=Outcome, ToolRetryError=product.ToolRetryError)
    async with runtime:
        session = runtime.session("ada", "s-1")
        few, many = [await session.call("desk_order", {"count": count}) for count in (2, 11)]
    assert (few.ok, many.ok) == (True, False)


async def login(folder: Path, block: Block) -> None:
    configured(folder)

    async def ask(url: str) -> str:
        return url

    await run(block, Runtime=product.Runtime, ask=ask)


async def transaction(folder: Path, block: Block) -> None:
    made = await run(block, bascule=product, my_server=create_mcp_server("notes"))
    assert not made["outcome"].ok, "there is no such tool in this server"


async def typed(folder: Path, block: Block) -> None:
    schema = {"properties": {name: {"type": "string"} for name in ("owner", "repo", "title")}}
    output = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tool = {**a_tool("create_issue", schema), "outputSchema": output}
    path = configured(folder, github=entry("obeying", folder / "log", json.dumps([tool])))
    assert (await bascule(folder, "stubs", "--out", "tools.py")).code == 0
    async with product.Runtime.from_file(path) as runtime:
        made = await run(block, bascule=product, session=runtime.session("ada", "s-1"))
    assert made["made"] is not None


async def plain(folder: Path, block: Block) -> None:
    issue = a_tool("create_issue", {"properties": {"title": {"type": "string"}}})
    configured(folder, github=entry("obeying", folder / "log", json.dumps([issue]), prefix=""))

    # It has no event loop, and wants none.
    def without_a_loop() -> None:
        exec(compile(block.text, str(block), "exec"), {})

    await asyncio.to_thread(without_a_loop)


async def files(folder: Path, block: Block) -> None:
    with in_a_request(folder) as workspace:
        workspace.write_text("notes/a.txt", "line\n" * 300)
        workspace.write_text("server.log", "said\n" * 90)
        workspace.write_text("a.py", "import os\n\nx = 1\ny = 2\n")
        workspace.write_text("src/b/c.py", "import os\n")
        await run(block, FilesConnector=connectors.FilesConnector)
        assert workspace.read_text("a.py") == "import os\n\nx = 2\n"


async def tables(folder: Path, block: Block) -> None:
    names = ("CsvConnector", "FileSource", "JsonConnector")
    with in_a_request(folder) as workspace:
        workspace.write_text("sales.csv", "day,sum\n2026-01-01,7\n2026-01-02,700\n")
        workspace.write_text("data.json", '{"people": [{"name": "Ada"}]}')
        around = {name: getattr(connectors, name) for name in names}
        await run(block, DataSensitivity=DataSensitivity, **around)
        assert workspace.read_text("out.tsv").split() == ["a", "b", "1", "2"]


async def tickets(folder: Path, block: Block) -> None:
    made = await run(block, Connector=connectors.Connector)
    with in_a_request(folder) as workspace:
        workspace.write_text("titles.txt", "one\ntwo\n")
        assert made["TicketConnector"].titles("titles.txt") == ["one", "two"]


async def imports(folder: Path, block: Block) -> None:
    assert {"SqlLimits", "OpenApiConnector"} <= (await run(block)).keys()


async def workspace(folder: Path, block: Block) -> None:
    await run(block, folder=folder)
    assert [*folder.rglob("today.md")]


async def claude(folder: Path, block: Block) -> None:
    options = pytest.importorskip("claude_agent_sdk").ClaudeAgentOptions
    from bascule.bridges.claude_sdk import hooks, sdk_server

    async with product.Runtime.from_servers({}) as runtime:
        around = {"sdk_server": sdk_server, "hooks": hooks, "ClaudeAgentOptions": options}
        made = await run(block, session=runtime.session("ada", "s-1"), **around)
    assert made["made"].tools == []


async def astream(folder: Path, block: Block) -> None:
    class Agent:
        async def astream(self, state: Any, *, stream_mode: str) -> Any:
            assert stream_mode == "custom"
            yield {"type": "tool_progress"}

    assert (await run(block, agent=Agent()))["told"] == {"type": "tool_progress"}


async def live(folder: Path, block: Block) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel

    model = GenericFakeChatModel(messages=iter(()))
    async with product.Runtime.from_servers({}) as runtime:
        session = runtime.session("ada", "s-1")
        assert (await run(block, create_agent=create_agent, model=model, session=session))["agent"] is not None


async def remote(folder: Path, block: Block) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    configured(folder, records={"url": "http://127.0.0.1:1/mcp"})
    assert (await run(block, Agent=Agent, model=TestModel(), token="t"))["client"].id == "records"


AROUND: dict[str, Callable[[Path, Block], Awaitable[None]]] = {
    "bridge-claude-sdk.md[1]": claude,
    "bridge-langchain.md[1]": astream,
    "bridge-langchain.md[2]": live,
    "bridge-plain.md[0]": plain,
    "bridge-pydantic-ai.md[1]": remote,
    "conformance.md[0]": resources,
    "connectors.md[0]": imports,
    "connectors.md[1]": files,
    "connectors.md[2]": tables,
    "connectors.md[5]": tickets,
    "hands-on.md[0]": instructions,
    "kit.md[0]": kit,
    "login.md[0]": login,
    "native.md[0]": desk,
    "native.md[1]": wrapping,
    "results.md[0]": results,
    "transactions.md[0]": transaction,
    "typed.md[1]": typed,
    "workspace.md[0]": workspace,
}
"""What stands around a part of a program, and what must have come of it."""


def test_every_block_of_python_is_run_or_listed_with_a_reason():
    rest = {name for name, block in BLOCKS.items() if not whole(block)}

    assert rest == AROUND.keys() | BY_THEIR_PAGES.keys() | NOT_RUN.keys()
    for name, path in BY_THEIR_PAGES.items():
        assert name.partition("[")[0] in (ROOT / "tests" / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", AROUND)
async def test_a_part_of_a_program_does_what_its_page_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", activated()["PATH"])
    await AROUND[name](tmp_path, BLOCKS[name])
