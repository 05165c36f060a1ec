"""Sandboxes of a runtime: their engines, and what comes up from them."""

import asyncio
from pathlib import Path

import pytest

from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.config.model.egress import Egress
from bascule.core.errors import ConfigError, OutcomeWithheld
from bascule.core.events import HostAsked
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.records.recorder import Recorder
from bascule.runtime.levels.raising import Raising
from bascule.runtime.sandboxes import Boxes, proxy_trouble
from bascule.sandbox.factory import Boxing
from bascule.sandbox.owner import RUN
from bascule.sandbox.raise_socket import RaiseProvision, RaiseRequest
from bascule.sensitivity.ratchet import Ratchets
from bascule.store.null_store import UnkeptLevels
from bascule.workspace.workspaces import Workspaces
from support.auditing import Notes
from support.waiting import fail_after, until

ALICE = Principal("alice", "s-1")


def boxes_at(state: Path, environ: dict[str, str], recorder: Recorder, allow: tuple[str, ...] = ()) -> Boxes:
    server = ServerConfig("files", StdioTransport("files"))
    return Boxes(RuntimeConfig({"files": server}, egress=Egress(allow)), state, environ, recorder)


async def opened(boxes: Boxes, folder: Path) -> Boxing:
    ratchets = Ratchets()
    raising = Raising(UnkeptLevels(), ratchets, lambda _: None, lambda: 7.0, Notes())
    return await boxes.open(raising, ratchets, Workspaces.at(None, folder))


def without_an_engine(folder: Path) -> dict[str, str]:
    """Docker is looked for, and not found."""
    return {"BASCULE_SANDBOX": "docker", "DOCKER_HOST": f"unix://{folder}/nobody.sock"}


def an_event(host: str) -> HostAsked:
    return HostAsked("web", ALICE, host, 443, "host", 403, 1, 2, ended=True, at=7.0)


async def test_where_no_engine_is_wanted_nothing_is_boxed_and_nothing_is_made(tmp_path: Path):
    boxes = boxes_at(tmp_path / "state", {"BASCULE_SANDBOX": "none"}, Recorder(()))
    boxing = await opened(boxes, tmp_path)

    assert boxing.engines.found == ()
    await boxes.close()
    assert not (tmp_path / "state").exists()


async def test_a_word_for_engines_that_is_not_known_keeps_a_runtime_from_starting(tmp_path: Path):
    boxes = boxes_at(tmp_path / "state", {"BASCULE_SANDBOX": "maybe"}, Recorder(()))
    with pytest.raises(ConfigError, match="BASCULE_SANDBOX"):
        await opened(boxes, tmp_path)
    await boxes.close()


async def test_a_runtime_owns_its_boxes_for_as_long_as_it_runs(tmp_path: Path):
    boxes = boxes_at(tmp_path / "state", without_an_engine(tmp_path), Recorder(()), ("api.example.org",))
    boxing = await opened(boxes, tmp_path)

    assert boxing.engines.missing.keys() == {"docker", "bubblewrap"}
    assert len([path for path in (tmp_path / "state" / RUN).iterdir() if path.is_dir()]) == 1
    await boxes.close()
    assert [path for path in (tmp_path / "state" / RUN).iterdir() if path.is_dir()] == []


async def test_the_hosts_that_a_sandbox_asks_for_are_recorded_the_last_of_them_at_the_end(tmp_path: Path):
    events: list[HostAsked] = []
    environ, recorder = without_an_engine(tmp_path), Recorder((events.append,))
    boxes = boxes_at(tmp_path / "state", environ, recorder, ("api.example.org",))
    await opened(boxes, tmp_path)
    assert boxes._way_out is not None
    first, last = an_event("evil.test"), an_event("other.test")
    boxes._way_out.asked.put_nowait(first)
    await until(lambda: events == [first])

    boxes._way_out.asked.put_nowait(last)
    await boxes.close()
    assert events == [first, last]


async def test_a_level_is_raised_as_a_sandbox_requests_and_what_went_wrong_is_its_answer(tmp_path: Path):
    boxes = boxes_at(tmp_path / "state", without_an_engine(tmp_path), Recorder(()))
    boxing = await opened(boxes, tmp_path)
    (raises,) = (each for each in boxing.provisions if isinstance(each, RaiseProvision))
    done = asyncio.get_running_loop().create_future()
    raises.requests.put_nowait(RaiseRequest(ALICE, DataSensitivity.SECRET, Cause("dataset", "records"), done))

    # This store keeps nothing.
    with pytest.raises(OutcomeWithheld):
        async with fail_after(20):
            await done
    await boxes.close()


def test_a_proxy_that_nobody_needs_is_not_missed():
    assert proxy_trouble(RuntimeConfig({})) == ""


async def test_nothing_is_looked_for_before_a_server_may_need_it(tmp_path: Path):
    boxes = Boxes(RuntimeConfig({}), tmp_path / "state", without_an_engine(tmp_path), Recorder(()))
    boxing = await opened(boxes, tmp_path)
    await boxes.look({"files": ServerConfig("files", StdioTransport("files"), sandbox="none")})
    assert not (tmp_path / "state").exists()

    await boxes.look({"files": ServerConfig("files", StdioTransport("files"))})
    assert "nobody.sock" in boxing.engines.missing["docker"]
    assert len(boxing.provisions) > 1
    await boxes.close()
