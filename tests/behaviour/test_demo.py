"""The first look: a story that plays without any preparation, is true, and leaves nothing."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import warm
from support.bwrap import skip_without_bubblewrap
from support.command import BASCULE, bascule
from support.ports import free_port
from support.waiting import fail_after, until

pytestmark = pytest.mark.requirement("UX-1")


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has nothing: no config, no state, no home that could be written to, no Docker. All
    that is made must be in the folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return {
        "PATH": f"{BASCULE.parent}:/usr/bin:/bin:/usr/sbin:/sbin",
        **{name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ},
        "HOME": "/nonexistent",
        "TMPDIR": str(folder),
        "DOCKER_HOST": "unix:///nonexistent/docker.sock",
    }


@pytest.fixture
def boxed(bare: dict[str, str]) -> dict[str, str]:
    skip_without_bubblewrap()
    return {**bare, "BASCULE_SANDBOX": "auto"}


def steps_of(told: Any) -> dict[str, Any]:
    return {step["name"]: step for step in told["steps"]}


def processes_about(folder: Path) -> list[list[str]]:
    """Every process that names this folder in its command."""
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [words for words in commands if any(str(folder) in word for word in words)]


def nothing_is_left(tmp_path: Path) -> bool:
    return not any((tmp_path / "temporary").iterdir()) and not processes_about(tmp_path)


async def test_private_data_is_read_the_lane_switches_and_the_send_that_worked_before_has_no_route(
    boxed: dict[str, str], tmp_path: Path
):
    ran = await bascule(tmp_path, "demo", "--json", env=boxed)
    steps = steps_of(ran.json)

    assert (ran.code, ran.json["ok"], ran.json["boxes"]) == (0, True, "bubblewrap"), ran.out
    assert [*steps] == ["begin", "send", "read", "go_on", "leak", "receipt", "audit"]
    # The same send, by the same tool to the same listener: delivered while nothing private was seen, then not.
    assert steps["send"]["facts"]["received"] == 1
    assert steps["send"]["facts"]["routes"] > 0 or steps["send"]["facts"]["interfaces"] == ["lo"]
    assert (steps["read"]["facts"]["level"], steps["read"]["facts"]["lane"]) == ("secret", "sealed")
    assert (steps["go_on"]["facts"]["ok"], steps["go_on"]["facts"]["lane"]) == (True, "sealed")
    leak = steps["leak"]["facts"]
    assert (leak["received"], leak["interfaces"], leak["routes"]) == (1, ["lo"], 0)
    assert ["Network is unreachable" in tried["told"] for tried in leak["tries"]] == [True, True]
    assert steps["receipt"]["facts"]["twins"] == {"files": "probed", "post": "probed"}
    assert (steps["audit"]["facts"]["verified"], steps["audit"]["facts"]["tampered_found"]) == (True, True)
    assert nothing_is_left(tmp_path)
    assert not (tmp_path / "state").exists()


async def test_where_no_box_can_be_made_it_says_so_and_the_send_is_refused(bare: dict[str, str], tmp_path: Path):
    ran = await bascule(tmp_path, "demo", env={**bare, "BASCULE_SANDBOX": "none"})

    assert ran.code == 0, ran.out
    assert "No box can be made here: BASCULE_SANDBOX=none." in ran.out
    assert ran.out.count("Refused before anything was sent (BSC-300).") == 3
    assert "The receiver still listens, and got nothing." in ran.out
    assert nothing_is_left(tmp_path)


@pytest.mark.long
async def test_it_ends_with_three_commands_and_is_plain_where_nobody_looks(boxed: dict[str, str], tmp_path: Path):
    ran = await bascule(tmp_path, "demo", env=boxed)

    assert len(re.findall(r"^  bascule \w+", ran.out.partition("Next:\n")[2], re.MULTILINE)) == 3
    assert "\x1b" not in ran.out
    assert ran.err == ""


@asynccontextmanager
async def watched(folder: Path, env: dict[str, str], heading: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The demo at a terminal, from the moment on at which it shows this."""
    ours, theirs = os.openpty()
    seen, shown = bytearray(), asyncio.Event()

    def read() -> None:
        try:
            seen.extend(os.read(ours, 65536))
        except OSError:
            asyncio.get_running_loop().remove_reader(ours)
        if heading.encode() in seen:
            shown.set()

    try:
        process = await asyncio.create_subprocess_exec(
            *(warm.bascule(), "demo"),
            cwd=folder,
            env={**env, "TERM": "xterm"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=theirs,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        os.close(theirs)
    asyncio.get_running_loop().add_reader(ours, read)
    try:
        async with fail_after(60, f"the demo showing {heading!r}"):
            await shown.wait()
        assert b"\x1b[" in seen
        yield process
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("heading", ["1  An agent gets", "3  It reads", "5  It is talked"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_broken_off_it_leaves_no_process_no_folder_and_no_box(
    boxed: dict[str, str], tmp_path: Path, heading: str, number: signal.Signals
):
    async with watched(tmp_path, boxed, heading) as process:
        assert [*(tmp_path / "temporary").iterdir()]
        process.send_signal(number)
        async with fail_after(30):
            await process.wait()

    assert process.returncode == 130
    await until(lambda: nothing_is_left(tmp_path))


PAGE = Path(__file__).parents[2] / "docs/demo.md"


def timeless(text: str) -> list[str]:
    """Without what differs from run to run, and from machine to machine."""
    for pattern in (
        r"127\.0\.0\.1:\d+",
        r"\d+ interfaces?",
        r"\d+ routes?",
        r"\d+ records",
        r"record \d+",
        r"[\d.]+ s\.",
    ):
        text = re.sub(pattern, re.sub(r"[\\d+.:?\[\]]", "", pattern), text)
    return text.splitlines()


@pytest.mark.long
async def test_its_page_shows_what_it_prints(boxed: dict[str, str], tmp_path: Path):
    (shown,) = re.findall(r"^\$ bascule demo\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    ran = await bascule(tmp_path, "demo", env=boxed)

    assert timeless(ran.out) == timeless(shown)
    assert max(map(len, shown.splitlines())) <= 84


async def shown_by(home: Path, tmp_path: Path) -> list[dict[str, Any]]:
    ran = await bascule(tmp_path, "audit", "show", "--json", "--last", "1000", env={"BASCULE_HOME": str(home)})
    return ran.json["records"]


def there_is_much_to_see(records: list[dict[str, Any]]) -> bool:
    """Several agents, several ways in which calls end, and a level that rose. Each agent has its own pace: which of
    these comes last is not known."""
    ended = [record for record in records if record["kind"] == "ended"]
    return (
        len({record["user"] for record in ended}) > 2
        and len({record["outcome"] for record in ended}) > 2
        and any(record["kind"] == "level" and record["after"] == "secret" for record in records)
    )


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
async def test_the_gateway_for_show_has_agents_at_work_and_leaves_nothing(
    boxed: dict[str, str], tmp_path: Path, number: signal.Signals
):
    process = await asyncio.create_subprocess_exec(
        *(warm.bascule(), "serve", "--demo", "--json", "--port", str(free_port())),
        cwd=tmp_path,
        env=boxed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with fail_after(60, "agents at work"):
            assert b'"url"' in await process.stdout.readline()
            (folder,) = (tmp_path / "temporary").glob("bascule-demo-*")
            while not there_is_much_to_see(await shown_by(folder / "state", tmp_path)):  # noqa: ASYNC110 -- others work
                # A look costs as much as several calls of the agents.
                await asyncio.sleep(0.2)
        process.send_signal(number)
        async with fail_after(30, "its end"):
            _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

    assert process.returncode == 0, err
    # What the agents do is not told on the screen, where the address is.
    assert b"SECRET" not in err
    await until(lambda: nothing_is_left(tmp_path))
