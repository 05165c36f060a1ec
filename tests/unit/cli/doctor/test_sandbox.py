"""Health checks of sandboxes."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bascule.cli.doctor.sandbox import box_check, engine_checks, mask_checks
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.engines import Engines
from bascule.sandbox.factory import Boxing
from bascule.sandbox.mounts import masks
from bascule.sandbox.owner import Owner
from bascule.sandbox.spec.engine import SharedInodes
from support.box_engines import NotingEngine
from support.bwrap import skip_without_bubblewrap

NEITHER = Boxing(Engines((), {"docker": "no socket", "bubblewrap": "not installed: bwrap"}))
DOCKER = Boxing(Engines((NotingEngine("docker"),), {"bubblewrap": "not installed: bwrap"}))


def a_server(sandbox: Any = None) -> ServerConfig:
    return ServerConfig("files", StdioTransport("files"), sandbox=sandbox)


def a_config(*servers: ServerConfig) -> RuntimeConfig:
    return RuntimeConfig({server.name: server for server in servers})


async def test_without_an_engine_it_is_said_what_that_means():
    (check,) = await engine_checks(a_config(a_server()), NEITHER)

    assert (check.subject, check.status) == ("sandbox", "warn")
    assert "loose" in check.message
    assert check.evidence == "docker: no socket\nbubblewrap: not installed: bwrap"
    assert "bubblewrap" in check.fix


async def test_the_engine_that_is_taken_is_named_and_why_no_other():
    (check,) = await engine_checks(a_config(a_server()), DOCKER)

    assert (check.status, check.message) == ("ok", "boxes are made by docker")
    assert "not installed" in check.evidence


async def test_who_has_no_processes_needs_no_engine():
    far = ServerConfig("far", StreamableHttpTransport("https://a.test/mcp"))
    assert await engine_checks(a_config(far), NEITHER) == []
    assert [*box_check(far, NEITHER)] == []


async def test_inodes_that_all_private_sandboxes_share_are_one_finding(
    tmp_path: Path,
):
    skip_without_bubblewrap()
    owner = Owner(tmp_path)
    try:
        engine = Bubblewrap(owner, os.environ)
        assert await engine.why_not() == ""
        engine.share_host_network("because")
        engine.shared = SharedInodes(("/dev", "/usr"), "no overlay")
        checks = await engine_checks(a_config(a_server()), Boxing(Engines((engine,))))
    finally:
        owner.release()
    (check,) = [check for check in checks if "inodes" in check.message]
    assert (check.status, check.evidence) == ("warn", "no overlay")
    assert "/dev, /usr" in check.message
    assert "docker" in check.fix


def test_each_process_is_told_by_its_box():
    assert [(check.status, check.message) for check in box_check(a_server(), DOCKER)] == [("ok", "made by docker")]
    assert [*box_check(a_server(), NEITHER)] == []


def test_a_box_that_was_taken_away_is_a_warning():
    (check,) = box_check(a_server("none"), DOCKER)
    assert (check.subject, check.status) == ("box files", "warn")
    assert "the operator's word" in check.message


def test_a_box_that_was_asked_for_and_cannot_be_had_is_a_failure():
    (check,) = box_check(a_server(Sandbox()), NEITHER)
    assert (check.status, check.evidence) == ("fail", "docker: no socket\nbubblewrap: not installed: bwrap")


async def test_masked_paths_and_folders_that_were_searched_in_part_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "data/node_modules").mkdir(parents=True)
    (tmp_path / "data/node_modules/x").touch()
    (tmp_path / "data/.env").touch()
    os.mkfifo(tmp_path / "data/a\nb")
    server = ServerConfig("files", StdioTransport(sys.executable, ("-V", str(tmp_path / "data"))))
    monkeypatch.setattr(masks, "MOST_PACKAGED", 0)
    first, packages = [check async for check in mask_checks(server, DOCKER) if str(tmp_path) in check.evidence]

    assert first.status == packages.status == "ok"
    assert f"{tmp_path}/data/.env (by its name it holds credentials)" in first.evidence.split("\n")
    assert f"'{tmp_path}/data/a\\nb' (it is a FIFO of the host)" in first.evidence.split("\n")
    assert f"{tmp_path}/data/node_modules" in packages.message


async def test_a_sandbox_that_cannot_be_laid_out_is_a_failure_and_a_plain_process_has_no_masks():
    missing = ServerConfig("files", StdioTransport("cat"), sandbox=Sandbox(mounts=(HostPath("/no/such"),)))
    assert [check.status async for check in mask_checks(missing, DOCKER)] == ["fail"]
    assert [check async for check in mask_checks(a_server(), NEITHER)] == []
