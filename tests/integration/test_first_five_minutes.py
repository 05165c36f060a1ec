"""The walk of the first five minutes is walked: five commands, from a `.mcp.json` of five servers to a governed call in an agent.

What the page shows below each command is what it prints, but for times, paths and the order in which servers answer.
`REGENERATE=1` writes the page anew.
"""

import asyncio
import os
import re
from pathlib import Path

import pytest

from support.activated import activated
from support.command import environment
from support.waiting import fail_after

pytestmark = [pytest.mark.long, pytest.mark.requirement("UX-2", "UX-5")]

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs/first-five-minutes.md"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = "/home/ada/project"
"""What the reader's folder is called on the page."""

_STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", FILE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def commands() -> list[str]:
    return [words for shown in _CONSOLE.findall(FILE.read_text(encoding="utf-8")) for words, _ in _STEP.findall(shown)]


async def typed(words: str, home: Path) -> str:
    own = {
        **activated(),
        "HOME": str(home),
        "XDG_CONFIG_HOME": "",
        "CLAUDE_CONFIG_DIR": "",
        "CODEX_HOME": "",
        "COPILOT_HOME": "",
    }
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", words),
        cwd=home / "project",
        env=environment(home, own),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with fail_after(150, words):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return same(out.decode(), home)


def _number(found: re.Match[str]) -> str:
    """Numbers of records, and how long a call took: always the same ones, as wide as they are."""
    return re.sub(r"(?<=[:=])[\d.e-]+", lambda number: "0" * len(number[0]) if ":" in found[0] else "…", found[0])


def same(text: str, home: Path) -> str:
    """Without what differs from one run to the next."""
    text = text.replace(str(home / "project"), PROJECT)
    text = re.sub(r" +\d+ ms$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-11-16 10:11:12", text)
    text = re.sub(r"(\d{4}:)\d+ |seconds=[\d.e-]+|call=\d+", _number, text)
    listed = re.findall(r"^[a-z]+ +ready .*\n(?:  .*\n)*", text, re.MULTILINE)
    if listed:
        text = "".join(sorted(listed)) + text[text.rindex(listed[-1]) + len(listed[-1]) :]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n" if text else ""


async def test_five_commands_lead_from_a_config_to_a_governed_call_in_an_agent(tmp_path: Path):
    # What npm has fetched for other tests need not be fetched again. A variable would not reach a server.
    (fetched := Path.home() / ".npm").mkdir(exist_ok=True)
    (tmp_path / ".npm").symlink_to(fetched)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.mcp.json").write_text(block("json"))
    page = FILE.read_text(encoding="utf-8")
    shown = [step for console in _CONSOLE.findall(page) for step in _STEP.findall(console)]
    printed = [(words, await typed(words, tmp_path)) for words, _ in shown]

    if os.environ.get("REGENERATE"):
        told = iter(printed)
        steps = _CONSOLE.sub(
            lambda found: "".join(f"$ {w}\n{o}" for w, o in [next(told) for _ in _STEP.findall(found[0])]), page
        )
        FILE.write_text(steps, encoding="utf-8")
    else:
        assert printed == shown


def test_the_walk_is_no_longer_than_five_commands_and_each_is_in_the_readme():
    # What comes after the call in the agent only looks at it.
    walk = commands()[: commands().index("python agent.py") + 1]

    assert len(walk) <= 5
    assert [words for words in walk if words not in README] == []
    assert "s3cret" not in "".join(_CONSOLE.findall(FILE.read_text(encoding="utf-8")))
