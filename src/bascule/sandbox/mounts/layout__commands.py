"""What the words of a command name on this machine: its script, and paths that exist."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bascule.sandbox.mounts.path_checks import is_file, is_there
from bascule.sandbox.mounts.projects import CODE

INTERPRETERS = re.compile(
    r"(python|pypy)[\d.]*|node|nodejs|deno|bun|ruby|perl|php|(ba|da|z|k)?sh|tsx|ts-node|uv|uvx|npx|java|dotnet|env|poetry"
)
"""Programs that are given another, as a file, in their arguments."""

LONGEST_PATH = 4096
"""A longer word is no path of any system."""


def is_interpreter(program: str) -> bool:
    return INTERPRETERS.fullmatch(Path(program).name) is not None


def paths_in(words: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """Each word, or what stands in it behind `=`, that is the path of something that is there: as it was written, and
    as a whole path."""
    for word in words:
        for part in (word, word.partition("=")[2]):
            if part and not part.startswith("-") and (whole := _existing(part, folder)):
                yield part, whole


def scripts_in(program: str, words: Sequence[str], folder: str) -> list[str]:
    """The files among the arguments that an interpreter is to run."""
    if not is_interpreter(program):
        return []
    files = [whole for _, whole in paths_in(words, folder) if is_file(whole)]
    return [path for index, path in enumerate(files) if index == 0 or Path(path).suffix in CODE]


def _existing(part: str, folder: str) -> str | None:
    if "\0" in part or len(part) > LONGEST_PATH:
        return None
    whole = os.path.normpath(Path(folder, part))
    # A name without a slash that happens to be there is one, too: `node index.js`.
    return whole if is_there(whole) else None
