""" """

import asyncio
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.mounts.host import this_machine
from bascule.sandbox.prepare.build import LINES, Making, fetch_failed, last_words
from bascule.sandbox.prepare.fetch_box import SCRATCH, Place
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.layer import TREE, read_record
from bascule.sandbox.prepare.layer_files import content_digest, look_digest
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Ended
from support.packages import WritesPackages, command, mode, writable

FETCHER = Fetcher("npm", ("/opt/x/bin/node", "/opt/x/npm"), "/opt/x/bin/node", ("/usr",), ("/not/there",), "x")


def making(within: float = 60, room: int = 10**6) -> Making:
    package = Package("npm", ("server@1.0.0",), None, ())
    return Making(package, FETCHER, command("npx", path=""), {}, within, room)


def place(folder: Path) -> Place:
    return Place("box", str(folder / TREE), "/final/tree", this_machine({"HOME": str(folder)}))


async def test_what_was_fetched_is_sealed_and_written_down(tmp_path: Path):
    folder = tmp_path / "partial"
    engine = WritesPackages()

    await making().make(folder, place(folder), engine)

    record = read_record(folder)
    assert record is not None
    assert (record.described, record.program, record.pinned) == ("server@1.0.0", "node_modules/.bin/server", True)
    assert record.digest == content_digest(folder / TREE)
    assert record.look == look_digest(folder / TREE)
    assert record.size > 0
    assert mode(folder / TREE) == 0o555
    assert not (folder / TREE / SCRATCH).exists()


async def test_the_layer_is_open_while_it_is_made_in_a_folder_closed_to_others(tmp_path: Path):
    folder = tmp_path / "partial"
    seen: list[int] = []

    class Looks(WritesPackages):
        async def run(self, box: Box, timeout: float) -> Ended:
            seen.extend([mode(writable(box)), mode(writable(box) / SCRATCH), mode(folder)])
            return await super().run(box, timeout)

    await making().make(folder, place(folder), Looks())

    assert seen == [0o777, 0o777, 0o700]


async def test_a_fetch_that_fails_tells_its_last_words(tmp_path: Path):
    folder = tmp_path / "partial"

    with pytest.raises(SandboxError) as caught:
        await making().make(folder, place(folder), WritesPackages(1, "npm error code E404"))

    assert caught.value.evidence == "npm error code E404"
    assert "no such package" in caught.value.cause


async def test_what_is_no_file_is_not_kept(tmp_path: Path):
    folder = tmp_path / "partial"

    with pytest.raises(SandboxError, match="neither a file nor a folder"):
        await making().make(folder, place(folder), WritesPackages(leaves="node_modules/pipe"))


async def test_a_fetch_that_takes_too_long_is_ended(tmp_path: Path):
    folder = tmp_path / "partial"
    engine = WritesPackages()
    engine.waits = asyncio.Event()

    with pytest.raises(SandboxError, match=r"not fetched within 0\.3 s"):
        await making(within=0.3).make(folder, place(folder), engine)


async def test_a_fetch_that_writes_too_much_is_ended(tmp_path: Path):
    folder = tmp_path / "partial"
    engine = WritesPackages()
    engine.waits = asyncio.Event()

    async with asyncio.timeout(20):
        with pytest.raises(SandboxError, match="too large") as caught:
            await making(room=10).make(folder, place(folder), engine)

    assert caught.value.evidence == "more than 10 bytes were written"


async def test_what_ends_within_a_moment_and_is_too_large_all_the_same_is_not_kept(tmp_path: Path):
    folder = tmp_path / "partial"

    with pytest.raises(SandboxError, match="too large"):
        await making(room=10).make(folder, place(folder), WritesPackages())


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("npm error code E404\nnpm error 404 Not Found", "no such package"),
        ("npm error code ETARGET\nnpm error notarget No matching version", "no such package"),
        ("npm error code ENOTFOUND\nnpm error network", "cannot be reached"),
        ("npm error code EAI_AGAIN", "cannot be reached"),
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "certificate"),
        ("npm error code E401", "credentials"),
        ("npm error code ENOSPC", "no room"),
        ("error: Failed to fetch: `https://x`\n  Caused by: dns error", "cannot be reached"),
        (
            "× No solution found when resolving dependencies:\n because a was not found in the package registry",
            "no such",
        ),
        ("ERROR: Could not find a version\nERROR: No matching distribution found for a", "no such package"),
        (
            "because the current Python version (3.11) does not satisfy Python>=3.13 No solution found",
            "another version",
        ),
        ("something else", "ended with the code 7"),
    ],
)
def test_what_the_tool_said_last_tells_why(output: str, cause: str):
    error = fetch_failed("pkg", 7, output)

    assert cause in error.cause
    assert error.fix
    assert error.message == "pkg could not be fetched"
    assert output.splitlines()[-1].strip() in error.evidence


def test_a_tool_that_said_nothing_is_told_by_its_code():
    assert fetch_failed("pkg", 7, "").evidence == "exit code 7"


def test_what_was_left_out_is_told_by_its_name():
    assert "left out, since they carry credentials: _auth" in fetch_failed("pkg", 1, "x", ("_auth",)).evidence


def test_last_words_are_few_and_move_no_cursor():
    said = last_words("\x1b[31mred\x1b[0m\r\nover\rwritten\x07\n" + "\n".join(map(str, range(50))))

    assert len(said.splitlines()) == LINES
    assert last_words("\x1b[31mred\x1b[0m\rover\x07") == "red\nover"
