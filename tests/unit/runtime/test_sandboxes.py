"""What a runtime boxes its servers with."""

from pathlib import Path

import pytest

from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.config.model.egress import Egress
from bascule.core.errors import ConfigError
from bascule.core.events import HostAsked
from bascule.core.principal import Principal
from bascule.records.recorder import Recorder
from bascule.runtime.levels.raising import Raising
from bascule.runtime.sandboxes import Boxes, proxy_trouble
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.owner import RUN
from bascule.sensitivity.ratchet import Ratchets
from bascule.store.null_store import UnkeptLevels
from bascule.workspace.workspaces import Workspaces
from support.auditing import Notes

ALICE = Principal("alice", "s-1")


def boxes_at(state: Path, environ: dict[str, str], recorder: Recorder, allow: tuple[str, ...] = ()) -> Boxes:
    server = ServerConfig("files", StdioTransport("files"))
    return Boxes(RuntimeConfig({"files": server}, egress=Egress(allow)), state, environ, recorder)


def a_raising() -> Raising:
    return Raising(UnkeptLevels(), Ratchets(), lambda _: None, lambda: 7.0, Notes())


async def test_where_no_engine_is_wanted_nothing_is_boxed_and_nothing_is_made(tmp_path: Path):
    boxes = boxes_at(tmp_path / "state", {"BASCULE_SANDBOX": "none"}, Recorder(()))
    boxing = await boxes.open(a_raising(), Workspaces.at(None, tmp_path))

    assert boxing.engines.found == ()
    await boxes.close()
    assert not (tmp_path / "state").exists()


async def test_a_word_for_engines_that_is_not_known_keeps_a_runtime_from_starting(tmp_path: Path):
    boxes = boxes_at(tmp_path / "state", {"BASCULE_SANDBOX": "maybe"}, Recorder(()))
    with pytest.raises(ConfigError, match="BASCULE_SANDBOX"):
        await boxes.open(a_raising(), Workspaces.at(None, tmp_path))
    await boxes.close()


async def test_a_runtime_owns_its_boxes_for_as_long_as_it_runs(tmp_path: Path):
    environ = {"BASCULE_SANDBOX": "docker", "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    boxes = boxes_at(tmp_path / "state", environ, Recorder(()), ("api.example.org",))
    boxing = await boxes.open(a_raising(), Workspaces.at(None, tmp_path))

    assert boxing.engines.missing.keys() == {"docker", "bubblewrap"}
    assert len([path for path in (tmp_path / "state" / RUN).iterdir() if path.is_dir()]) == 1
    await boxes.close()
    assert [path for path in (tmp_path / "state" / RUN).iterdir() if path.is_dir()] == []


def test_what_a_box_asked_the_proxy_for_is_told(tmp_path: Path):
    events: list[HostAsked] = []
    boxes = boxes_at(tmp_path, {}, Recorder((events.append,)))
    access = Access(1.0, "web-1", "opened", "CONNECT", "evil.test", 443, 403, "host", 1, 2, "")
    boxes._asked("web", ALICE, access)

    (event,) = events
    assert (event.server, event.principal, event.host, event.port) == ("web", ALICE, "evil.test", 443)
    assert (event.refused, event.status, event.sent, event.received, event.ended) == ("host", 403, 1, 2, False)


def test_a_proxy_that_nobody_needs_is_not_missed():
    assert proxy_trouble(RuntimeConfig({})) == ""


async def test_nothing_is_looked_for_before_a_server_may_need_it(tmp_path: Path):
    environ = {"BASCULE_SANDBOX": "docker", "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    boxes = Boxes(RuntimeConfig({}), tmp_path / "state", environ, Recorder(()))
    boxing = await boxes.open(a_raising(), Workspaces.at(None, tmp_path))
    await boxes.look({"files": ServerConfig("files", StdioTransport("files"), sandbox="none")})
    assert not (tmp_path / "state").exists()

    await boxes.look({"files": ServerConfig("files", StdioTransport("files"))})
    assert "nobody.sock" in boxing.engines.missing["docker"]
    assert len(boxing.provisions) > 1
    await boxes.close()
