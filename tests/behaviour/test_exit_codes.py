"""What the help and the reference page say of a command's exit codes is so: each is made to happen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command import bascule, configured, entry
from support.inside import Parser, build_parser
from support.offers import command_of, offering, result
from support.ports import free_port
from support.terminal import at_a_terminal

pytestmark = pytest.mark.requirement("UX-2")

GREET: dict[str, Any] = {"name": "greet", "arguments": [{"name": "who", "required": True}]}
RAISED = ("--user", "bob", "--session", "s-2")


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Servers that work, that fail and that answer nonsense; and an agent session that has seen something secret."""
    works = offering(tmp_path, uris=("a://1",), prompts=(GREET,))
    nonsense = {"resources/read": [result(contents=7)], "prompts/get": [result(messages=7)]}
    talks = offering(tmp_path, name="talks", uris=("b://1",), prompts=(GREET,), scenario=nonsense)
    configured(
        tmp_path,
        work=command_of(works),
        talks=command_of(talks),
        acts=entry("obeying", tmp_path / "log"),
        dies=entry("failing", 1, "no database"),
        far={"url": f"http://127.0.0.1:{free_port()}/mcp"},
    )
    (tmp_path / "required.yaml").write_text("mcp_servers: {dies: {command: 'false', required: true}}")
    (tmp_path / "broken.yaml").write_text("mcp_servers: {a: {comand: x}}")
    raised = await bascule(tmp_path, "sessions", "raise", *RAISED, "--to", "secret")
    assert raised.code == 0, raised.err
    return tmp_path


MADE: dict[tuple[str, int], tuple[str, ...]] = {
    ("list", 3): ("list", "--config", "required.yaml"),
    ("up", 3): ("up", "--config", "required.yaml"),
    ("call", 1): ("call", "acts_act", 'result:={"isError": true, "content": []}'),
    ("call", 2): ("call", "acts_atc"),
    ("call", 3): ("call", "dies_any"),
    ("call", 4): ("call", "acts_act", *RAISED),
    ("read", 1): ("read", "b://1"),
    ("read", 2): ("read", "c://1"),
    ("read", 3): ("read", "a://1", "--server", "dies"),
    ("read", 4): ("read", "a://1", "--server", "work", *RAISED),
    ("prompt", 1): ("prompt", "talks_greet", "who=Ada"),
    ("prompt", 2): ("prompt", "work_greet"),
    ("prompt", 3): ("prompt", "dies_any"),
    ("prompt", 4): ("prompt", "work_greet", "who=Ada", *RAISED),
    ("inspect", 3): ("inspect", "dies"),
    ("inspect", 4): ("inspect", "work", *RAISED),
    ("doctor", 2): ("doctor", "--config", "broken.yaml"),
    ("doctor", 3): ("doctor",),
    ("approve", 2): ("approve", "acts"),
    ("approve", 3): ("approve", "dies", "--yes"),
    ("login", 3): ("login", "far", "--timeout", "5"),
    ("stubs", 1): ("stubs", "--server", "acts", "--out", "tools.py", "--check"),
    ("stubs", 3): ("stubs", "--server", "dies"),
    ("sandbox rm", 2): ("sandbox", "rm", "no-such-box"),
}
"""What makes a command end so, where nobody sits at a terminal."""

REFUSED: dict[tuple[str, int], tuple[str, ...]] = {
    ("approve", 4): ("approve", "acts"),
    ("sessions declassify", 4): ("sessions", "declassify", *RAISED, "--to", "public", "--reason", "a test"),
    ("sessions end", 4): ("sessions", "end", *RAISED),
}
"""What asks a person, who says no."""

ELSEWHERE = {
    ("audit verify", 1): "test_audit.py: a record is altered",
    ("demo", 1): "tests/unit/cli/commands/test_demo.py: nothing that can be done to it from outside spoils the story",
}


def declared() -> Iterator[tuple[str, int]]:
    def within(parser: Parser) -> Iterator[tuple[str, int]]:
        for command in parser.words.values():
            yield from ((command.prog.removeprefix("bascule "), code) for code in command.exits)
            yield from within(command)

    yield from within(build_parser())


def test_every_exit_code_that_is_told_of_a_command_is_made_to_happen():
    assert {*declared()} == MADE.keys() | REFUSED.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize(("command", "code"), MADE, ids=str)
async def test_a_command_ends_with_the_code_that_is_told(folder: Path, command: str, code: int):
    ran = await bascule(folder, *MADE[command, code])

    assert ran.code == code, ran.out + ran.err


@pytest.mark.parametrize(("command", "code"), REFUSED, ids=str)
async def test_a_person_who_says_no_is_told_by_the_code(folder: Path, command: str, code: int):
    async with at_a_terminal(folder, *REFUSED[command, code], out=True) as terminal:
        await terminal.until("[y/N] ")
        terminal.type("n\n")
        ended, _ = await terminal.end()

    assert ended == code, terminal.shown
