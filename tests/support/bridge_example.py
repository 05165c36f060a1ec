"""The example on a bridge's page: it is the file under `examples/`, and prints what the page shows."""

import asyncio
import re
import shutil
from pathlib import Path

from support.activated import activated
from support.command import environment
from support.waiting import fail_after
from support.warm import python

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    """All blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", _page(page), re.MULTILINE | re.DOTALL)


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def check_shown(page: str, example: str) -> None:
    """That the page shows the example's files as they are."""
    folder = ROOT / "examples" / example
    assert blocks(page, "python")[0] == (folder / "agent.py").read_text(encoding="utf-8")
    assert blocks(page, "yaml")[0] == (folder / "bascule.yaml").read_text(encoding="utf-8")


async def printed(example: str, home: Path, **env: str) -> str:
    """What the example prints, run in a copy of its folder."""
    folder = shutil.copytree(ROOT / "examples" / example, home / example)
    process = await asyncio.create_subprocess_exec(
        *(python(), "agent.py"),
        cwd=folder,
        env=environment(home, {**activated(), **env}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with fail_after(90, example):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()
