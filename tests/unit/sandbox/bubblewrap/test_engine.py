"""The engine that makes boxes with bubblewrap, where it can and where it cannot."""

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.bubblewrap.argv import Tools
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.mounts.host import Machine, this_machine
from bascule.sandbox.owner import Owner
from support.boxes import boxed, ordered, python
from support.bwrap import skip_without_bubblewrap


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    made = Owner(tmp_path / "state")
    yield made
    made.release()


@pytest.fixture
def engine(owner: Owner) -> Bubblewrap:
    skip_without_bubblewrap()
    return Bubblewrap(owner, os.environ)


def without(engine: Bubblewrap, *names: str) -> None:
    paths = {name: path for name, path in engine._tools.paths.items() if name not in names}
    engine._tools = replace(engine._tools, paths=paths)


async def test_a_machine_without_bubblewrap_says_so_and_runs_nothing(owner: Owner) -> None:
    engine = Bubblewrap(owner, os.environ)
    engine._tools = Tools({})
    assert (await engine.why_not()).startswith("not installed: sh, mount")
    with pytest.raises(SandboxError, match="no box can be made") as told:
        await engine.box(ordered("true")).open()
    assert "apt-get install bubblewrap" in told.value.fix
    with pytest.raises(SandboxError):
        await engine.run(boxed(ordered("true")), 10)


async def test_a_machine_that_forbids_namespaces_says_so(engine: Bubblewrap, tmp_path: Path) -> None:
    forbidding = tmp_path / "bwrap"
    forbidding.write_text(
        "#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n"
    )
    forbidding.chmod(0o755)
    engine._tools = replace(engine._tools, paths={**engine._tools.paths, "bwrap": str(forbidding)})
    assert "Operation not permitted" in await engine.why_not()
    with pytest.raises(SandboxError) as told:
        await engine.box(ordered("true")).open()
    assert "sysctl" in told.value.fix


async def test_a_box_that_is_not_tight_is_no_box(engine: Bubblewrap, tmp_path: Path, owner: Owner) -> None:
    """The first program is replaced by one that always finds something."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "entry.py").write_text("import sys; sys.stderr.write('not tight'); sys.exit(97)")
    machine = this_machine(os.environ)
    strict = Bubblewrap(
        owner, os.environ, Machine(machine.home, machine.here, machine.state, machine.python, str(inside))
    )
    assert await strict.why_not() == "not tight"


async def test_it_is_proven_once(engine: Bubblewrap) -> None:
    assert await engine.why_not() == ""
    without(engine, "bwrap")
    assert await engine.why_not() == ""


async def test_without_a_network_to_make_the_host_s_is_shared_and_said(engine: Bubblewrap) -> None:
    without(engine, "pasta", "slirp4netns")
    assert await engine.shares_host_network() == "pasta is not installed; slirp4netns is not installed"
    assert (await engine.network()).kind == "host"


async def test_a_network_that_cannot_be_made_is_not_used(engine: Bubblewrap) -> None:
    engine._tools = replace(
        engine._tools, paths={**engine._tools.paths, "pasta": "/bin/false", "slirp4netns": "/bin/false"}
    )
    assert (await engine.network()).kind == "host"
    assert (await engine.shares_host_network()).startswith("pasta: ")


@pytest.mark.long
async def test_open_boxes_share_this_machine_s_network_where_that_is_asked_for_and_others_do_not(
    engine: Bubblewrap,
) -> None:
    engine.share_host_network("because")
    assert await engine.shares_host_network() == "because"
    look = python("import socket; print(*sorted(name for _, name in socket.if_nameindex()))")
    here = " ".join(sorted(name for _, name in socket.if_nameindex()))
    assert (await engine.run(boxed(ordered(*look, lane=Lane.OPEN)), 30)).output.strip() == here
    for lane in (Lane.PROXIED, Lane.SEALED):
        assert (await engine.run(boxed(ordered(*look, lane=lane)), 30)).output.strip() == "lo"


async def test_where_no_box_can_be_made_there_is_no_network(owner: Owner) -> None:
    engine = Bubblewrap(owner, os.environ)
    engine._tools = Tools({})
    assert (await engine.network()).kind == "none"


async def test_what_is_run_tells_its_code_and_leaves_nothing(engine: Bubblewrap, owner: Owner) -> None:
    box = boxed(ordered(*python("print('here'); raise SystemExit(5)")))
    ended = await engine.run(box, 30)
    assert (ended.code, ended.output) == (5, "here\n")
    assert not list((owner.folder / "boxes").glob(f"{box.name}*"))


async def test_what_takes_too_long_is_ended(engine: Bubblewrap, owner: Owner) -> None:
    await engine.why_not()
    box = boxed(ordered("sleep", "100"))
    with pytest.raises(SandboxError, match="longer"):
        await engine.run(box, 1.0)
    assert not list((owner.folder / "boxes").glob(f"{box.name}*"))


async def test_a_box_that_cannot_be_made_is_an_error_not_an_exit_code(engine: Bubblewrap) -> None:
    await engine.why_not()
    engine._tools = replace(engine._tools, paths={**engine._tools.paths, "mount": "/bin/false"})
    with pytest.raises(SandboxError, match="could not be made"):
        await engine.run(boxed(ordered("true")), 30)


async def test_a_box_can_be_opened_again_and_closed_twice(engine: Bubblewrap) -> None:
    box = engine.box(ordered("true", lane=Lane.SEALED))
    first, second = await box.open(), await box.open()
    assert first.argv != second.argv
    await box.close()
    await box.close()


async def test_no_secret_stands_in_the_command(engine: Bubblewrap) -> None:
    box = engine.box(ordered("true", env={"TOKEN": "hunter2-hunter2"}))
    command = await box.open()
    try:
        assert command.env["TOKEN"] == "hunter2-hunter2"
        assert not any("hunter2" in word for word in command.argv)
    finally:
        await box.close()
