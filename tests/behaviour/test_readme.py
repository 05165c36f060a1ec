"""The README says what is so: its examples are run as they stand, in a folder of their own."""

import asyncio
import getpass
import os
import re
import shlex
import signal
from pathlib import Path

import pytest

from bascule.config import load_file
from support import warm
from support.activated import activated
from support.command import Ran, bascule, environment, started
from support.gateways import ask
from support.kit_http import line_to
from support.ports import free_port
from support.scenarios import from_file
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("UX-5")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
USING = (ROOT / "docs/using.md").read_text(encoding="utf-8")
LOGIN = (ROOT / "docs/login.md").read_text(encoding="utf-8")
IDENTITY = (ROOT / "docs/identity.md").read_text(encoding="utf-8")
SESSIONS = (ROOT / "docs/sessions.md").read_text(encoding="utf-8")
TYPED = (ROOT / "docs/typed.md").read_text(encoding="utf-8")


def example(language: str, page: str = README) -> str:
    """The one block of a page in this language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return block


def commands(page: str = README) -> list[list[str]]:
    shown = re.findall(r"^bascule .*$", page, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in shown]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".mcp.json").write_text(example("json"))
    return tmp_path


ENDLESS = {"up"}
"""What runs until it is stopped."""

SERVED = {"serve"}
"""The gateway."""

OWN = {"run"}
"""What is about a server of one's own, which another command shown writes."""

SPEAKING = (["sandbox", "serve"], ["serve", "--stdio"])
"""What speaks MCP over stdin and stdout."""


@pytest.mark.parametrize(
    "words",
    [words for words in commands() if words[1] not in ENDLESS | OWN | SERVED and words[1:3] not in SPEAKING],
    ids=" ".join,
)
async def test_every_command_shown_works(folder: Path, words: list[str]):
    program, *rest = words
    ran = await bascule(folder, *rest, env=activated())

    assert program == "bascule"
    assert ran.code == 0, ran.err
    assert ran.out


@pytest.mark.parametrize("words", [words for words in commands() if words[1] in ENDLESS], ids=" ".join)
async def test_every_command_shown_that_has_no_end_works_until_it_is_stopped(folder: Path, words: list[str]):
    program, *rest = words
    seen = ""
    async with fail_after(60), started(folder, *rest, env=activated()) as process:
        assert process.stdout is not None
        while not all(re.search(rf"{name} +ready", seen) for name in ("notes", "clock")):
            line = await process.stdout.readline()
            assert line, seen
            seen += line.decode()
        process.send_signal(signal.SIGINT)
        await process.communicate()

    assert (program, process.returncode) == ("bascule", 0)


async def test_the_server_that_one_command_shown_writes_is_served_by_the_other(folder: Path):
    (writing,) = (words for words in commands() if words[1] == "new")
    (serving,) = (words for words in commands() if words[1] in OWN)
    assert (await bascule(folder, *writing[1:])).code == 0
    port = free_port()
    config = folder / serving[-1]
    config.write_text(config.read_text().replace("8000", str(port)))

    async with fail_after(60), started(folder, *serving[1:], env=activated()) as process:
        assert process.stderr is not None
        while b"Uvicorn running" not in (line := await process.stderr.readline()):
            assert line, "it ended"
        process.send_signal(signal.SIGINT)
        await process.communicate()


async def test_the_gateway_that_a_command_shown_is_answers(folder: Path):
    (words,) = (words for words in commands() if words[1] in SERVED and words[1:3] not in SPEAKING)
    port = free_port()
    async with fail_after(60), started(folder, *words[1:], "--port", str(port), env=activated()) as process:
        assert process.stderr is not None
        while b"are served at" not in (line := await process.stderr.readline()):
            assert line, "it ended"
        async with line_to(port) as client:
            listed = (await ask(client, "tools/list")).message["result"]["tools"]
        process.send_signal(signal.SIGINT)
        await process.communicate()

    assert "notes_add" in [tool["name"] for tool in listed]


async def test_make_run_serves_the_built_in_servers(tmp_path: Path):
    port = free_port()
    env = {**os.environ, **activated(), "BASCULE_HOME": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(
        *("make", "run", f"OPTIONS=--port {port}"),
        cwd=ROOT,
        env=env,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        async with fail_after(60):
            while b"are served at" not in (line := await process.stderr.readline()):
                assert line, "it ended"
            async with line_to(port) as client:
                call = {"name": "notes_add", "arguments": {"text": "The bridge is down."}}
                answered = (await ask(client, "tools/call", call)).message["result"]
    finally:
        # As a terminal does it: make, and what it runs.
        os.killpg(process.pid, signal.SIGINT)
        await process.communicate()

    assert "isError" not in answered or not answered["isError"], answered


@pytest.mark.parametrize(("spoken", "tool"), [(SPEAKING[0], b"run"), (SPEAKING[1], b"notes_add")])
async def test_what_a_command_shown_speaks_is_mcp(folder: Path, spoken: list[str], tool: bytes):
    (words,) = (words for words in commands() if words[1:3] == spoken)
    process = await asyncio.create_subprocess_exec(
        *(warm.bascule(), *words[1:]),
        cwd=folder,
        env=environment(folder, activated()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with fail_after(60):
        out, _ = await process.communicate(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')

    assert process.returncode == 0
    assert re.search(rb'"name": ?"' + tool + b'"', out)


async def test_the_commands_shown_are_all_there_are(folder: Path):
    overview = (await bascule(folder, "--help")).out
    there = re.findall(r"^  (\w+)  ", overview, re.MULTILINE)

    # Those that need a login server have a page of their own.
    shown = [words[1] for page in (README, LOGIN) for words in commands(page)]
    assert {*shown} == {*there}


async def test_the_program_shown_works(folder: Path):
    (folder / "example.py").write_text(example("python", USING))
    process = await asyncio.create_subprocess_exec(
        warm.python(), "example.py", cwd=folder, env={**os.environ, **activated()}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()

    lines = out.decode().splitlines()
    assert process.returncode == 0
    assert "notes_add: Write down a note." in lines
    assert lines[-3:-1] == ["number: 1", "text: The bridge is down."]
    assert lines[-1].startswith("invalid_arguments: notes_add: argument 'text'")


@pytest.mark.long
async def test_the_types_shown_can_be_used_and_written(folder: Path):
    (folder / "example.py").write_text(example("python", TYPED.partition("## For an editor")[0]))
    process = await asyncio.create_subprocess_exec(
        warm.python(), "example.py", cwd=folder, env={**os.environ, **activated()}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()

    assert out.decode().split(") ")[0] == "NotesAddParams(text='The bridge is down.', additional=UNSET"
    shown = re.findall(r"^\$ bascule (.*)\n(.*)\n", example("console", TYPED), re.MULTILINE)
    for words, told in shown:
        ran = await bascule(folder, *shlex.split(words), env=activated())
        assert (ran.code, ran.out.strip()) == (0, told)


async def test_the_rules_shown_hold(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", activated()["PATH"])
    path = folder / "bascule.yaml"
    path.write_text(example("yaml", USING))

    async with from_file(path) as session:
        assert [spec.name for spec in await session.tools()] == ["notes_search"]


def test_the_login_shown_can_be_configured(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NOTES_SECRET", "s3cret")
    path = folder / "bascule.yaml"
    path.write_text(example("yaml", LOGIN.partition("## Headers that a program prints")[0]))
    oauth = load_file(path).servers["notes"].oauth

    assert (oauth.client_id, oauth.scopes, oauth.secrets) == ("my-client", ("read",), ("s3cret",))


def test_the_program_that_prints_headers_can_be_configured(folder: Path):
    path = folder / "bascule.yaml"
    path.write_text(example("yaml", LOGIN.partition("## Headers that a program prints")[2]))

    assert load_file(path).servers["notes"].headers_command == ("/usr/local/bin/notes-headers", "--json")


async def test_the_keys_shown_can_be_configured_and_the_tokens_shown_minted(folder: Path):
    path = folder / "bascule.yaml"
    path.write_text(example("yaml", IDENTITY))
    secret = {"TOKEN_SECRET": "Zr9uQ2fXwL7mT4vKpD8sHc3nYb6gJe1aNqR5xUoWtSiPzMkV"}
    server = load_file(path, secret).kit_servers["records"]
    shown = re.findall(r"^\$ bascule (.*)$", example("console", IDENTITY), re.MULTILINE)

    assert (server.unavailable_reason, len(server.auth.keys)) == (None, 2)
    assert len(shown) == 3
    for words in shown:
        ran = await bascule(folder, *shlex.split(words), env={**activated(), **secret})
        assert ran.code == 0, ran.err
        assert ran.out


@pytest.mark.long
async def test_the_operators_page_shows_what_the_commands_print(tmp_path: Path):
    """Every command of the page, one after another, but for when it was and who ran it."""
    (tmp_path / "bascule.yaml").write_text(example("yaml", SESSIONS))
    blocks = re.findall(r"^```console\n(.*?)^```$", SESSIONS, re.MULTILINE | re.DOTALL)
    shown = re.findall(r"^\$ bascule (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)

    assert len(shown) == len(re.findall(r"^\$ ", SESSIONS, re.MULTILINE)) > 0
    for words, told in shown:
        ran = await bascule(tmp_path, *shlex.split(words), env=activated())
        assert timeless(ran.err + ran.out) == timeless(told.replace("operator root", f"operator {getpass.getuser()}"))
        assert ran.code == (4 if told.startswith("BSC-300") else 0)


def timeless(text: str) -> str:
    same = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-10-02 10:11:12", text)
    return "\n".join(line.rstrip() for line in same.splitlines())


async def test_the_exit_codes_shown_are_those_the_command_names():
    ran: Ran = await bascule(ROOT, "--help")
    told = re.findall(r"(\d+) \w", " ".join(ran.out.split()).partition("exit codes: ")[2])

    assert re.findall(r"^\| (\d+) \|", USING, re.MULTILINE) == told


def test_every_make_target_shown_is_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for target in {*re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE)}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/using.md",
        "docs/deployment.md",
        "docs/design.md",
        "docs/first-five-minutes.md",
        "docs/glossary.md",
        "docs/hands-on.md",
        "docs/identity.md",
        "docs/importing.md",
        "docs/kit.md",
        "docs/lock.md",
        "docs/login.md",
        "docs/running.md",
        "docs/sandbox-server.md",
        "docs/security-model.md",
        "docs/sessions.md",
        "docs/snippets.md",
        "docs/store.md",
        "docs/testing.md",
        "docs/typed.md",
    ],
)
def test_every_page_pointed_to_is_there(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]

    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
