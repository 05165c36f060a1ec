import asyncio
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.fetch_box import PREPARED
from bascule.sandbox.prepare.prepare import FOLDER, Preparing
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Mount
from support.packages import WritesPackages, command, install, tools


@pytest.fixture
def asked(tmp_path: Path) -> Command:
    return command("npx", "-y", "server", "/data", path=tools(tmp_path / "bin"), TOKEN="configured-secret")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / FOLDER).iterdir() if path.suffix != ".lock")


async def test_a_package_is_fetched_once_and_started_from_its_layer(tmp_path: Path, asked: Command):
    engine = WritesPackages()
    preparing = Preparing(tmp_path / "state", engine, environ={})

    first = await preparing.prepared(asked)
    second = await Preparing(tmp_path / "state", engine, environ={}).prepared(asked)

    assert first is not None
    assert first == second
    assert len(engine.boxes) == 1
    (key,) = left(tmp_path / "state")
    tree, seen = f"{tmp_path}/state/{FOLDER}/{key}/tree", f"{PREPARED}/{key}"
    assert first.argv == (f"{seen}/node_modules/.bin/server", "/data")
    assert Mount(tree, seen, why="prepared") in first.mounts
    assert not any(mount.writable for mount in first.mounts)
    assert first.env["PATH"].startswith(f"{seen}/node_modules/.bin:{tmp_path}/bin:")
    assert Path(tree, "node_modules/.bin/server").is_file()
    assert [mount.target for mount in engine.boxes[0].mounts if mount.writable] == [seen]


async def test_the_box_that_fetches_gets_nothing_that_was_configured_for_the_server(tmp_path: Path, asked: Command):
    engine = WritesPackages()

    await Preparing(tmp_path / "state", engine, environ={"OTHER": "secret-of-ours"}).prepared(asked)

    (box,) = engine.boxes
    told = repr((box.argv, dict(box.env), box.mounts, dict(box.labels), box.name))
    assert "secret" not in told
    assert "/data" not in told


@pytest.mark.parametrize("argv", [("python", "-m", "server"), ("npx", "-c", "server"), ("uv", "run", "x")])
async def test_what_fetches_nothing_or_is_not_understood_has_no_layer(tmp_path: Path, argv: tuple[str, ...]):
    engine = WritesPackages()

    assert await Preparing(tmp_path / "state", engine).prepared(command(*argv, path="")) is None
    assert engine.boxes == []
    assert not (tmp_path / "state").exists()


async def test_what_the_project_has_is_not_fetched(tmp_path: Path):
    install(tmp_path)
    asked = command("npx", "server", path=tools(tmp_path / "bin"), cwd=str(tmp_path))

    assert await Preparing(tmp_path / "state", WritesPackages()).prepared(asked) is None


async def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(tmp_path: Path, asked: Command):
    engine = WritesPackages(1, "npm error code ENOTFOUND")
    preparing = Preparing(tmp_path / "state", engine, environ={})

    with pytest.raises(SandboxError, match="could not be fetched"):
        await preparing.prepared(asked)
    assert left(tmp_path / "state") == []

    engine.code = 0
    assert await preparing.prepared(asked) is not None


async def test_a_fetch_that_is_cancelled_leaves_nothing(tmp_path: Path, asked: Command):
    engine = WritesPackages()
    engine.waits = asyncio.Event()
    fetching = asyncio.ensure_future(Preparing(tmp_path / "state", engine, environ={}).prepared(asked))
    async with asyncio.timeout(10):
        await engine.begun.wait()

    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching

    assert left(tmp_path / "state") == []


async def test_two_at_once_fetch_once(tmp_path: Path, asked: Command):
    engine = WritesPackages()
    engine.waits = asyncio.Event()
    both = [asyncio.ensure_future(Preparing(tmp_path / "state", engine, environ={}).prepared(asked)) for _ in range(2)]
    async with asyncio.timeout(10):
        await engine.begun.wait()
        engine.waits.set()
        first, second = await asyncio.gather(*both)

    assert first == second
    assert len(engine.boxes) == 1


async def test_a_layer_that_was_tampered_with_is_refused_until_it_is_removed(tmp_path: Path, asked: Command):
    engine = WritesPackages()
    preparing = Preparing(tmp_path / "state", engine, environ={})
    layer = await preparing.prepared(asked)
    assert layer is not None
    program = Path(layer.mounts[-1].source, "node_modules/server/index.js")
    program.chmod(0o755)
    program.write_text("#!/usr/bin/env evil\n")

    with pytest.raises(SandboxError, match="not as it was fetched"):
        await preparing.prepared(asked)
    assert len(engine.boxes) == 1

    (kept,) = preparing.layers()
    assert await preparing.remove(kept.key)
    assert preparing.layers() == ()
    assert await preparing.prepared(asked) == layer


async def test_a_state_folder_may_be_moved(tmp_path: Path, asked: Command):
    engine = WritesPackages()
    first = await Preparing(tmp_path / "state", engine, environ={}).prepared(asked)
    (tmp_path / "state").rename(tmp_path / "moved")

    second = await Preparing(tmp_path / "moved", engine, environ={}).prepared(asked)

    assert first is not None
    assert second is not None
    assert first.argv == second.argv
    assert len(engine.boxes) == 1


async def test_what_a_killed_process_left_goes_with_the_next_fetch(tmp_path: Path, asked: Command):
    engine = WritesPackages()
    preparing = Preparing(tmp_path / "state", engine, environ={})
    await preparing.prepared(asked)
    (kept,) = preparing.layers()
    await preparing.remove(kept.key)
    install(tmp_path / "state" / FOLDER / f"{kept.key}.partial-0123" / "tree")

    await preparing.prepared(asked)

    assert left(tmp_path / "state") == [kept.key]
