"""What each outcome of a call means for an agent's run, in every framework: the scenarios, and the table in the docs.

A test of a bridge plays each scenario with its framework's own fake model, tells as a `Ran` what the model was shown,
and compares with its column of the table in docs/bridges.md.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bascule import AgentSession
from servers.actor import Actor
from support.locks import lock_in
from support.scenarios import entry, from_file, write_yaml
from support.servers import received
from support.waiting import fail_after, until

Signal = Literal["result", "image", "retry", "error"]
"""How a framework showed a model what came of a call: as a result (`image`: with the picture itself), as an error with
its own signal for another try, or as an error."""

TABLE = Path(__file__).parents[2] / "docs" / "bridges.md"

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Ran:
    """A run: how each call was shown to the model, in which words, and whether the run was ended by one."""

    signals: tuple[Signal, ...]
    shown: tuple[str, ...]
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """The calls that a fake model makes, one after the other, and words that must be in what it was shown last."""

    name: str
    calls: tuple[Call, ...]
    says: str = ""
    most: int | None = None
    """How long what it is shown may be."""


def _alone(tool: str, **arguments: Any) -> tuple[Call, ...]:
    return ((tool, arguments),)


SCENARIOS = (
    Scenario("ok", _alone("work_ok", text="well done"), "well done"),
    Scenario("retryable", _alone("work_retryable"), "the table is locked"),
    Scenario("tool error", _alone("work_broken"), "no such table"),
    Scenario("denied", (("work_private", {}), ("loose_ok", {"text": "psst"})), "this agent session has"),
    Scenario("ask", _alone("work_asked"), "person"),
    Scenario("timeout", _alone("slow_silent"), "0.5 s"),
    Scenario("fatal", _alone("work_fatal")),
    Scenario("aborted", _alone("work_silent")),
    Scenario("huge result", _alone("work_huge"), "/workspace/", most=20_000),
    Scenario("image", _alone("work_image")),
    Scenario("drift", (("kept_change", {}), ("kept_steady", {})), "approve"),
    Scenario("raise mid-run", (("work_private", {}), ("work_where", {})), "twin"),
)


def configured(folder: Path) -> Path:
    """The config file of the servers that the scenarios need. Any process may run it."""
    (folder / "kept").mkdir()
    twin = entry("actor", folder, "twin")
    work = {
        "command_isolated": [twin["command"], *twin["args"]],
        "raises": {"private": "confidential"},
        "trust": ["fatal"],
        "ask": ["asked"],
        "limit": "default",
    }
    lock_in(folder, kept=tuple(Actor(folder / "kept", "kept").tools()))
    return write_yaml(
        folder,
        {
            "work": _actor(folder, "work", **work),
            "loose": _actor(folder, "loose"),
            "slow": _actor(folder, "slow", timeouts={"call": 0.5, "close": 1}),
            # A link for each call: what it has become is seen with the next one.
            "kept": _actor(folder / "kept", "kept", lifetime="call"),
        },
    )


def _actor(folder: Path, who: str, **keys: Any) -> dict[str, Any]:
    return entry("actor", folder, who, **{"timeouts": {"close": 1}, **keys})


Drive = Callable[[AgentSession, tuple[Call, ...]], Awaitable[Ran]]
"""Runs an agent of a framework whose fake model makes these calls and then ends, and tells what became of it. A run that
is ended by an exception of ours is `stopped`."""


async def play(folder: Path, scenario: Scenario, drive: Drive, *, within: float = 15) -> Ran:
    """One scenario in an asynchronous framework, which must not hang."""
    async with from_file(configured(folder), within=within + 5) as session, fail_after(within, scenario.name):
        if scenario.name != "aborted":
            return await drive(session, scenario.calls)
        running = asyncio.ensure_future(drive(session, scenario.calls))
        await until(lambda: "tools/call" in heard(folder), within)
        running.cancel()
        await asyncio.wait((running,))
        # Before the links close, which would end the call as well.
        await until(lambda: "notifications/cancelled" in heard(folder))
    return Ran((), (), stopped=running.cancelled())


def heard(folder: Path, who: str = "work") -> list[str]:
    """The methods that a server was sent."""
    log = folder / f"{who}.log"
    return [message["method"] for message in received(log)] if log.exists() else []


def check(framework: str, scenario: Scenario, ran: Ran) -> None:
    """That it is what the table says, and that the model was shown what it needs to know."""
    assert cell(ran) == table()[scenario.name][framework], ran
    if scenario.says:
        assert scenario.says in ran.shown[-1]
    if scenario.most is not None:
        assert len(ran.shown[-1]) <= scenario.most
    if not ran.stopped:
        assert len(ran.shown) == len(ran.signals) == len(scenario.calls)
        assert all(signal == "result" for signal in ran.signals[:-1])


def cell(ran: Ran) -> str:
    return "stops" if ran.stopped else ran.signals[-1]


def table() -> dict[str, dict[str, str]]:
    """Outcome by framework, as the docs tell it."""
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("|")]
    head, _, *rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in rows}
