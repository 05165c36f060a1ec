"""A Python that has weakincentives, with it and with Bascule as it is here: for what the Python of the tests cannot run."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.peers import ROOT, environment

OLDEST = (3, 12, 2)
"""With 3.12.1, weakincentives cannot render a prompt: its frozen classes break where `typing` marks an instance."""

PACKAGES = (
    "-e",
    f"{ROOT}[postgres,weakincentives]",
    "coverage[toml]>=7.10",
    "psutil>=7",
    "pytest>=9",
    "pytest-asyncio>=1.2",
)
"""What the tests there need. The rest is what Bascule itself needs."""


def with_weakincentives() -> Path:
    """The folder of commands of an environment with a newer Python, made when first asked for."""
    return environment("weakincentives", *PACKAGES, python=newer_python())


def newer_python() -> Path:
    """The oldest that will do of those which are here."""
    found = sorted((version, path) for path in _candidates() if (version := _version(path)) >= OLDEST)
    if not found:
        pytest.skip(f"no Python {'.'.join(map(str, OLDEST))} or newer, for weakincentives")
    return found[0][1]


def _candidates() -> Iterator[Path]:
    for name in ("python3.12", "python3.13", "python3.14"):
        if (there := shutil.which(name)) is not None:
            yield Path(there)
    for folder in (Path.home() / ".pyenv" / "versions").glob("3.1[2-9]*"):
        yield folder / "bin" / "python"


def _version(python: Path) -> tuple[int, ...]:
    """Empty where it does not run: a shim of pyenv stands also for what is not chosen."""
    asked = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.findall(r"\d+", asked.stdout))) if asked.returncode == 0 else ()
