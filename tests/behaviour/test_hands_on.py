"""The hands-on page is followed as it stands, command by command, and prints what it says; `bascule new` writes what it needs."""

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support import warm
from support.activated import activated
from support.command import bascule, environment, started
from support.ports import free_port
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("KIT-6")

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples/template"
PAGE = (ROOT / "docs/hands-on.md").read_text(encoding="utf-8")
TESTING = (ROOT / "docs/testing.md").read_text(encoding="utf-8")


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def steps(page: str) -> list[tuple[str, str]]:
    """Each command, and what is shown below it."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks("console", page)), re.MULTILINE)


@dataclass
class Reader:
    """Somebody who types what the page says."""

    home: Path
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.home

    async def types(self, words: str) -> tuple[str, int]:
        if words.startswith("cd "):
            self.folder /= words.removeprefix("cd ")
            return "", 0
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", words),
            cwd=self.folder,
            env=environment(self.home, activated()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with fail_after(60, words):
            out, err = await process.communicate()
        assert process.returncode is not None
        return (err + out).decode(), process.returncode


def same_each_time(text: str) -> str:
    """But for when it was, and under which name a result was saved."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-10-02 10:11:12", text)
    return re.sub(r"results/[0-9a-f]{32}", "results/0", text).rstrip()


@pytest.mark.long
async def test_the_page_is_followed_as_it_stands(tmp_path: Path):
    reader = Reader(tmp_path)
    shown = steps(PAGE)

    assert len(shown) == len(re.findall(r"^\$ ", PAGE, re.MULTILINE)) > 10
    for words, told in shown:
        printed, code = await reader.types(words)
        assert same_each_time(printed) == same_each_time(told), words
        assert code == (1 if told.startswith("BSC-7") else 0), words


def test_the_page_shows_what_a_reader_should_have_seen():
    """So that a page which loses one of them does not pass for whole."""
    told = "".join(told for _, told in steps(PAGE))

    for sight in (
        "result: Ask Bob.",
        "retriable=true",
        "fatal [records/book]",
        "A part of a long result",
        "is now CONFIDENTIAL, was PUBLIC",
        "served:   records declared",
        "[CONFIDENTIAL, sealed] records_read_file: result: Ask Bob.",
        "look_up reaches out, and this agent session has seen CONFIDENTIAL data",
    ):
        assert sight in told, sight


def test_the_code_shown_is_that_of_the_template():
    (shown,) = blocks("python", PAGE)

    assert shown in (TEMPLATE / "server.py").read_text(encoding="utf-8")


async def pytest_in(folder: Path, home: Path, *more: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(warm.python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", *more),
        cwd=folder,
        env=environment(home, activated()),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with fail_after(60, "a run of pytest"):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.mark.long
async def test_the_tests_that_a_new_server_comes_with_pass_and_so_does_what_the_page_on_testing_shows(tmp_path: Path):
    ran = await bascule(tmp_path, "new", "server", "my-desk", "--folder", "here")
    assert ran.code == 0, ran.err
    (shown,) = blocks("python", TESTING)
    (tmp_path / "here/test_page.py").write_text(shown)

    printed = await pytest_in(tmp_path / "here", tmp_path, "-o", "asyncio_mode=auto")

    assert re.search(r"\b6 passed", printed), printed
    # Tests are no agent session of the developer's.
    assert not (tmp_path / "state").exists()


@pytest.mark.long
async def test_a_new_server_is_run_by_its_name_and_called_by_who_has_what_its_readme_says(tmp_path: Path):
    new = await bascule(tmp_path, "new", "server", "my-desk", "--json")
    assert new.code == 0, new.err
    port = str(free_port())
    for file in ("bascule.yaml", "README.md"):
        path = tmp_path / "my-desk" / file
        path.write_text(path.read_text().replace("8000", port))
    (tmp_path / "agents").mkdir()
    (config,) = blocks("yaml", (tmp_path / "my-desk/README.md").read_text())
    (tmp_path / "agents/bascule.yaml").write_text(config)
    at = {**activated(), "BASCULE_HOME": str(tmp_path / "state")}

    async with fail_after(90), started(tmp_path / "my-desk", "run", "my-desk-http", env=at) as served:
        assert served.stderr is not None
        while b"Uvicorn running" not in (line := await served.stderr.readline()):
            assert line, "it ended"
        called = await bascule(tmp_path / "agents", "call", "my-desk_order", "number=7", "--user", "ada", env=at)
        unknown = await bascule(tmp_path / "agents", "call", "my-desk_order", "number=0", "--user", "ada", env=at)

    assert (called.code, called.out) == (0, "number: 7\ncustomer: customer 0\ntotal: 35\n"), called.err
    assert (unknown.code, "there are 1 to 500" in unknown.err) == (1, True)


async def test_what_is_there_is_never_written_over(tmp_path: Path):
    (tmp_path / "records").mkdir()
    (tmp_path / "records/tools.py").write_text("mine")

    ran = await bascule(tmp_path, "new", "server", "records")

    assert (ran.code, "written over: tools.py" in ran.err) == (2, True)
    assert [file.name for file in (tmp_path / "records").iterdir()] == ["tools.py"]
    assert (tmp_path / "records/tools.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["Records", "../records", "a b", "", "x" * 28])
async def test_a_name_that_is_none_is_refused_and_nothing_written(tmp_path: Path, name: str):
    ran = await bascule(tmp_path, "new", "server", name)

    assert (ran.code, "cannot be the name of a server" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []
