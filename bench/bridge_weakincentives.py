"""Benchmark of the weakincentives bridge: a governed tool beside the same call without the bridge and an empty tool of
the framework. weakincentives needs a newer Python than the other suites, so this one measures in a process on such a
Python."""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bascule import Runtime, ToolResult
from bascule.config import Limits, ServerConfig, StdioTransport
from bascule.runtime.sync.runtime import SyncRuntime
from bench.result import Goal, Report, Row
from bench.rounds import one_core
from bench.stdio_peers import ARGUMENTS, SERVER

ROUNDS, CALLS, TOOLS = 11, 200, 1_000
OBEYING = str(Path(SERVER).with_name("obeying.py"))
ROOT = Path(__file__).parent.parent


def a_server(*args: str) -> ServerConfig:
    transport = StdioTransport(command=sys.executable, args=args)
    return ServerConfig(name="echo", transport=transport, limits=Limits(concurrent=None))


@dataclass(frozen=True, slots=True)
class Message:
    message: str


def does_nothing(params: Message, *, context: Any) -> Any:  # noqa: ARG001 -- all tools are given it
    from weakincentives.prompt import ToolResult as Result

    return Result(message="hello", value=params, exclude_value_from_context=True)


@contextmanager
def callers() -> Generator[dict[str, Callable[[], object]]]:
    from weakincentives.adapters._shared import create_bridged_tools
    from weakincentives.prompt import MarkdownSection, Prompt, PromptTemplate, Tool
    from weakincentives.runtime import InProcessDispatcher, Session

    from bascule.bridges.weakincentives import McpIntegrationParams, McpIntegrationSection, McpOutputsForgotten
    from bascule.bridges.weakincentives.results import keep_as_log

    session = Session(dispatcher=InProcessDispatcher())
    # Else the framework writes its values out with every call, and it is the slower the longer this runs.
    keep_as_log(session, Message)
    shared = SyncRuntime(Runtime.from_servers({"echo": a_server(SERVER)}))
    template, kind, tool = (untyped(one) for one in (PromptTemplate[None], MarkdownSection[McpIntegrationParams], Tool))
    own = tool[Message, Message](name="own", description="Does nothing.", handler=does_nothing)
    with McpIntegrationSection(session=session, runtime=shared) as section:
        beside = kind(title="Own", template="", key="own", tools=[own])
        prompt = Prompt(template(ns="bench", key="calls", sections=[section, beside]))
        rendered = prompt.render(session=session)
        with prompt.resources:
            made = create_bridged_tools(
                rendered.tools,
                session=session,
                adapter=untyped(None),
                prompt=untyped(prompt),
                rendered_prompt=rendered,
                deadline=None,
                budget_tracker=None,
            )
            named = {one.name: one for one in made}
            direct = section.agent_session

            def calling(name: str) -> Callable[[], object]:
                def call() -> object:
                    answer = named[name](dict(ARGUMENTS))
                    assert not answer["isError"], answer
                    return answer

                return call

            def directly() -> object:
                outcome = direct.call("echo_echo", ARGUMENTS)
                assert isinstance(outcome, ToolResult), outcome
                return outcome.text

            def forget() -> None:
                session.dispatch(McpOutputsForgotten())
                session[untyped(import_module("weakincentives.runtime").ToolInvoked)].clear()

            yield {
                "direct": directly,
                "its own, doing nothing": calling("own"),
                "through the section": calling("echo_echo"),
                "": forget,
            }


def untyped(value: Any) -> Any:
    return value


def calls() -> list[Row]:
    with one_core(), callers() as peers:
        forget = peers.pop("")
        direct, own = peers["direct"], peers["its own, doing nothing"]
        # In turns, as a call through the section has both: a thread that was asked just now is still awake.
        peers["both, in turns"] = lambda: (own(), direct())
        rounds = [[_a_call(call, forget) for call in peers.values()] for _ in range(ROUNDS + 1)][1:]
    rows = [Row(name, median(taken) * 1e6, "µs") for name, taken in zip(peers, zip(*rounds, strict=True), strict=True)]
    # Within one round all met the same machine.
    ratio = median(ours / both for _, _, ours, both in rounds)
    return [*rows, Row("through the section / both, in turns", ratio, "×", Goal("at most", 1.2))]


def _a_call(call: Callable[[], object], forget: Callable[[], object]) -> float:
    forget()
    gc.collect()
    started = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - started) / CALLS


def listing() -> list[Row]:
    """From a listing that is there to the framework's tools."""
    from weakincentives.runtime import InProcessDispatcher, Session

    from bascule.bridges.weakincentives import McpIntegrationSection
    from bascule.bridges.weakincentives.section import NO_TOOLS

    properties = {name: {"type": "string"} for name in ("owner", "repo", "title")} | {"number": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["owner"]}
    tools = [{"name": f"tool_{n}", "description": "Does it.", "inputSchema": schema} for n in range(TOOLS)]
    with TemporaryDirectory() as folder:
        listed = Path(folder) / "tools.json"
        listed.write_text(json.dumps(tools))
        session = Session(dispatcher=InProcessDispatcher())
        server = a_server(OBEYING, str(Path(folder) / "log"), f"@{listed}")
        with McpIntegrationSection(servers=[server], session=session) as section:
            offered = section.agent_session.offered()
            assert len(section.tools()) == len(offered) == TOOLS
            first: list[float] = []
            again: list[float] = []
            for _ in range(5):
                untyped(section)._tools_now = NO_TOOLS
                first.append(timed(section.refresh))
                again.append(timed(section.refresh))
    return [
        Row(f"{TOOLS} tools, the first time", median(first), "s", Goal("at most", 0.5)),
        Row(f"{TOOLS} tools, again", median(again), "s"),
    ]


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


async def run(report: Report) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    python = import_module("support.newer_python").with_weakincentives() / "python"
    measured = subprocess.run([python, "-m", "bench.bridge_weakincentives"], cwd=ROOT, capture_output=True, check=True)
    for title, rows in json.loads(measured.stdout).items():
        report.add(title, [Row(name, value, unit, goal and Goal(*goal)) for name, value, unit, goal in rows])


def shown(rows: list[Row]) -> list[Any]:
    return [(row.name, row.value, row.unit, row.goal and (row.goal.sense, row.goal.bound)) for row in rows]


if __name__ == "__main__":
    print(
        json.dumps(
            {
                "weakincentives, one call after the other, on one core": shown(calls()),
                "weakincentives, listing": shown(listing()),
            }
        )
    )
