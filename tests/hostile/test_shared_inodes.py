"""Channels by the state of a shared inode: from a sandbox of a private lane to an open sandbox of another principal, and
to a process outside of all sandboxes. Each channel delivers its bits between plain processes, and none from a sandbox."""

from collections.abc import Iterator

import pytest

from bascule.core.sensitivity import DataSensitivity
from support.bwrap import skip_without_bubblewrap
from support.channel_ends import BITS, Shown, is_shared, seen, shown_folder, step_here, two_sessions
from support.docker import reached

SENT = [str(bit) for bit in BITS]

FILE, FIFO, FOLDER = "file", "fifo", "folder"
SYSTEM = "/usr/bin/yes"

CHANNELS = (
    *(("inotify", FILE), ("inotify", FOLDER), ("inotify", SYSTEM), ("changes", "/dev/null")),
    *(("dnotify", FILE), ("lease", FILE), ("atime", FILE)),
    *(("flock", path) for path in (FILE, SYSTEM, "/dev/null", "/proc/sys/kernel/ostype", "/etc/passwd")),
    *(("posix", FILE), ("ofd", FILE), ("ofd", SYSTEM), ("listed", FILE), ("fifo", FIFO)),
    *(("mincore", FILE), ("nowait", FILE), ("cachestat", FILE)),
)

OUTWARD = (
    ("flock", FILE),
    ("flock", "/dev/null"),
    ("posix", FILE),
    ("ofd", FILE),
    ("fifo", FIFO),
    ("socket", "socket"),
)
"""Channels to a process outside of all sandboxes. It sees the processes of sandboxes in /proc, so that the others of
CHANNELS would be of no use to it; they stand in docs/security-model.md."""


@pytest.fixture
def shown() -> Iterator[Shown]:
    with shown_folder() as made:
        yield made


@pytest.fixture(params=["bubblewrap", "docker"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("BASCULE_SANDBOX", request.param)
    if request.param == "docker":
        with reached():
            yield request.param
        return
    skip_without_bubblewrap()
    yield request.param


def path_of(shown: Shown, name: str) -> str:
    places = {FILE: shown.file, FIFO: shown.fifo, FOLDER: str(shown.folder), "socket": shown.socket}
    return places.get(name, name)


async def test_each_channel_delivers_between_plain_processes(shown: Shown, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_SANDBOX", "none")
    async with two_sessions(shown, None) as (sender, receiver):
        for channel, name in CHANNELS:
            assert await seen(sender, receiver, channel, path_of(shown, name)) == SENT, (channel, name)
        for channel, name in OUTWARD:
            assert await seen(sender, step_here(), channel, path_of(shown, name)) == SENT, (channel, name)


@pytest.mark.parametrize("level", [DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET])
async def test_no_channel_delivers_from_a_private_sandbox(engine: str, shown: Shown, level: DataSensitivity):
    async with two_sessions(shown, level) as (sender, receiver):
        open_channels = {}
        for channel, name in CHANNELS:
            if is_shared(engine, name):
                continue
            found = await seen(sender, receiver, channel, path_of(shown, name))
            if len(set(found)) > 1:
                open_channels[channel, name] = found
        assert open_channels == {}
        for channel, name in OUTWARD:
            if is_shared(engine, name):
                continue
            found = await seen(sender, step_here(), channel, path_of(shown, name))
            assert found == ["0"] * len(BITS), (channel, name)


async def test_events_of_the_whole_machine_are_refused(engine: str, shown: Shown):
    async with two_sessions(shown, None) as (_, receiver):
        assert await receiver("prepare", "fanotify", shown.file) == "EPERM"
