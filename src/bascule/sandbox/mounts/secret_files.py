"""Names of files and folders that hold credentials: `.env` files, and config files of Bascule and of other MCP clients.
Pure: it compares names, and opens no file."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from bascule.config.importing.programs import PROGRAMS
from bascule.config.locate import CANDIDATES

FOLDERS = frozenset({".cursor", ".claude", ".codeium"})
"""Settings of MCP clients that keep credentials in more than one file."""

_COMMON = frozenset({"settings.json", "config.toml"})
"""Names that many programs use. Such a file counts only in a folder of an MCP client."""

_EXAMPLES = (".example", ".sample", ".template")
"""Ends of the names of files with made-up values, which are meant to be read."""


def _known() -> Iterator[tuple[str, str]]:
    """Folder and name of each file. An empty folder stands for any."""
    for candidate in CANDIDATES:
        yield "", PurePosixPath(candidate).name
    for file in (file for program in PROGRAMS for file in program.files):
        *_, folder, name = PurePosixPath(file).parts
        yield (folder.strip("{}") if name in _COMMON else ""), name


_IN_FOLDER = frozenset(known for known in _known() if known[0])
_ANYWHERE = "|".join(re.escape(name) for name in sorted({name for folder, name in _known() if not folder}))
_FILE = re.compile(
    rf"\.env(rc|\..+)?~?|({_ANYWHERE})(~|\.(bak|old|orig|save))?|\.({_ANYWHERE})\.(sw[a-p]|[0-9a-f]{{16}})", re.DOTALL
)
"""The files, and the copies of them that editors and an interrupted atomic replacement leave."""


def is_secret_file(name: str, folder: str) -> bool:
    """`folder` is the name of the folder that the file lies in."""
    if _FILE.fullmatch(name):
        return not name.endswith(_EXAMPLES)
    return name in _COMMON and (folder, name) in _IN_FOLDER
