"""Edits of the config while it is in use."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.core.errors import ConfigError, ConnectFailed
from bascule.core.events import ConfigApplied, ConfigRejected
from bascule.core.outcome import FailureKind
from support.command import bascule
from support.processes import ended
from support.runtime import Arrived, Events, a_tool, bad, good
from support.scenarios import entry, write_yaml
from support.servers import pids
from support.up import Shape, up
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("CFG-8")

NAMES = ("one", "two", "three")


class Config:
    """A config file with servers that write down their pids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers: dict[str, Any] = {name: self.entry(name) for name in NAMES}
        self.path = self.write()

    def entry(self, name: str, **keys: Any) -> dict[str, Any]:
        return {**entry("obeying", self.folder / f"{name}.log"), "timeouts": {"close": 1}, **keys}

    def write(self) -> Path:
        return write_yaml(self.folder, self.servers)

    def pids(self, name: str) -> list[int]:
        return pids(self.folder / f"{name}.log")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(tmp_path)


def changes(told: Shape) -> dict[str, Any]:
    return {key: told[key] for key in ("added", "removed", "restarted", "retuned") if told[key]}


# A running `bascule up`


async def test_an_edit_restarts_only_the_server_that_changed(config: Config):
    async with up(config.folder) as running:
        await running.until_ready(*NAMES)
        before = {name: config.pids(name) for name in NAMES}

        config.servers["two"]["env"] = {"TOKEN": "another"}
        config.write()
        assert changes(await running.until_config(applied=True)) == {"restarted": ["two"]}
        assert (await running.until_server("two", "ready"))["restarts"] == 1

        assert {name: config.pids(name) for name in ("one", "three")} == {n: before[n] for n in ("one", "three")}
        assert len(config.pids("two")) == 2
        await ended(config.pids("two")[0])
        assert await running.stop() == 0


async def test_servers_come_and_go_with_the_file(config: Config):
    async with up(config.folder) as running:
        await running.until_ready(*NAMES)
        del config.servers["one"]
        config.servers["four"] = config.entry("four")
        config.write()

        assert changes(await running.until_config(applied=True)) == {"added": ["four"], "removed": ["one"]}
        await running.until_ready("four")
        await ended(config.pids("one")[0])
        assert [len(config.pids(name)) for name in ("two", "three", "four")] == [1, 1, 1]
        assert await running.stop(signal.SIGTERM) == 0


async def test_a_broken_edit_is_reported_and_changes_nothing_until_it_is_repaired(config: Config):
    async with up(config.folder) as running:
        await running.until_ready(*NAMES)
        whole = config.path.read_text()

        config.path.write_text(whole + "\nmcp_servers: [\n")
        error = (await running.until_config(applied=False))["error"]
        assert error["code"] == "BSC-100"
        assert str(config.path) in error["evidence"]
        for name in NAMES:
            os.kill(config.pids(name)[0], 0)  # it runs still

        config.path.write_text(whole.replace("mcp_servers:", "links: {max: 7}\nmcp_servers:"))
        applied = await running.until_config(applied=True)
        assert changes(applied) == {}
        assert "links.max" in applied["notes"][0]
        assert [len(config.pids(name)) for name in NAMES] == [1, 1, 1]
        assert await running.stop() == 0


async def test_a_file_that_is_replaced_or_gone_for_a_while_is_followed(config: Config):
    async with up(config.folder) as running:
        await running.until_ready(*NAMES)
        aside = config.path.with_suffix(".bak")
        config.path.rename(aside)
        assert "does not exist" in (await running.until_config(applied=False))["error"]["message"]

        del config.servers["three"]
        config.write()
        config.path.rename(fresh := config.path.with_suffix(".new"))
        fresh.rename(config.path)
        assert changes(await running.until_config(applied=True)) == {"removed": ["three"]}
        assert await running.stop() == 0


async def test_a_changed_variable_is_a_change_of_who_names_it(config: Config):
    config.servers["two"]["env"] = {"TOKEN": "${TOKEN}"}
    config.write()
    (config.folder / ".env").write_text("TOKEN=first-of-two-tokens\n")
    async with up(config.folder) as running:
        await running.until_ready(*NAMES)
        (config.folder / ".env").write_text("TOKEN=second-of-two-tokens\n")

        assert changes(await running.until_config(applied=True)) == {"restarted": ["two"]}
        await running.until_server("two", "ready")
        (config.folder / ".env").unlink()
        assert changes(await running.until_config(applied=True)) == {"restarted": ["two"]}
        assert "TOKEN is not set" in (await running.until_server("two", "failed"))["reason"]
        assert await running.stop() == 0
    assert "of-two-tokens" not in json.dumps(running.told)


@pytest.mark.requirement("UX-2")
async def test_a_server_that_is_killed_shows_it_and_comes_back(config: Config):
    async with up(config.folder) as running:
        await running.until_ready(*NAMES)
        os.kill(config.pids("two")[0], signal.SIGKILL)
        await running.until(lambda told: told.get("name") == "two" and "signal 9" in told["reason"])
        await running.until_server("two", "ready")
        assert len(config.pids("two")) == 2
        assert await running.stop() == 0


@pytest.mark.requirement("UX-2")
async def test_up_shows_what_failed_and_says_3_if_it_is_required(config: Config):
    config.servers["two"] = {**entry("failing", 3, "no database"), "required": True}
    config.write()
    ran = await bascule(config.folder, "up")

    assert ran.code == 3
    assert "two                 failed" in ran.out
    assert "no database" in ran.out


# A program with a runtime


async def test_a_call_in_flight_survives_an_edit_of_another_server_and_is_told_of_one_of_its_own(
    config: Config, events: Events
):
    async with fail_after(30), Runtime.from_file(config.path, sinks=[events.append]) as runtime:
        session = runtime.session("alice", "s-1")
        here, there = Arrived(), Arrived()
        waiting = {"doze": True, "progress": [1]}
        kept = asyncio.create_task(session.call("one_act", waiting, on_progress=here))
        lost = asyncio.create_task(session.call("two_act", {"silent": True, "progress": [1]}, on_progress=there))
        await here.wait()
        await there.wait()

        config.servers["two"]["env"] = {"TOKEN": "another"}
        config.write()
        applied = await runtime.reload()

        assert (applied.restarted, applied.added, applied.removed) == (("two",), (), ())
        failure = bad(await lost, FailureKind.CONNECTION_ERROR)
        assert "configuration was changed" in failure.message
        os.kill(config.pids("one")[0], signal.SIGUSR1)
        good(await kept)
        good(await session.call("two_act", {}))
        assert (len(config.pids("one")), len(config.pids("two"))) == (1, 2)
    assert [event for event in events if isinstance(event, ConfigApplied)] == [applied]


async def test_agent_sessions_see_at_once_what_an_edit_leaves_them(config: Config):
    config.servers["two"] = config.entry("two")
    config.servers["two"]["args"] = [*config.servers["two"]["args"], json.dumps([a_tool("act"), a_tool("rest")])]
    config.write()
    async with fail_after(30), Runtime.from_file(config.path) as runtime:
        session = runtime.session("alice", "s-1")
        assert len(await session.tools()) == 4

        del config.servers["one"]
        config.servers["two"]["tools"] = {"block": ["act"]}
        config.servers["three"]["prefix"] = "drei"
        config.write()
        applied = await runtime.reload()

        assert (applied.removed, applied.retuned, applied.restarted) == (("one",), ("two", "three"), ())
        assert [spec.name for spec in session.toolbox.specs()] == ["two_rest", "drei_act"]
        assert [spec.name for spec in await session.tools()] == ["two_rest", "drei_act"]
        for gone in ("one_act", "two_act", "three_act"):
            bad(await session.call(gone, {}), FailureKind.UNKNOWN_TOOL)
        good(await session.call("drei_act", {}))
        assert [len(config.pids(name)) for name in NAMES] == [1, 1, 1]


async def test_a_new_required_server_is_proved_before_anything_changes(config: Config, events: Events):
    async with fail_after(30), Runtime.from_file(config.path, sinks=[events.append]) as runtime:
        session = runtime.session("alice", "s-1")
        await session.tools()
        del config.servers["one"]
        config.servers["four"] = {**entry("failing", 3, "no database"), "required": True}
        config.write()

        with pytest.raises(ConnectFailed, match="'four' cannot be used") as caught:
            await runtime.reload()
        assert "no database" in caught.value.evidence
        good(await session.call("one_act", {}))
        assert "four" not in runtime.config.servers
    (rejected,) = [event for event in events if isinstance(event, ConfigRejected)]
    assert rejected.error is caught.value


async def test_a_broken_edit_raises_and_changes_nothing(config: Config):
    async with fail_after(30), Runtime.from_file(config.path) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("one_act", {}))
        config.path.write_text("mcp_servers: {one: {comand: x}}")

        with pytest.raises(ConfigError) as caught:
            await runtime.reload()
        assert "comand" in str(caught.value.problems)
        good(await session.call("one_act", {}))
        assert len(config.pids("one")) == 1
