"""Virtual paths, by which agents name files: `/workspace/…`, or relative to it. Checked as text, without file
access."""

import os
import re

from bascule.core.errors import PathRefused

WORKSPACE = "/workspace"
MAX_PATH = 4095
"""Longest path in bytes, as Linux has it. A longer one could not be opened in one step."""
MAX_NAME = 255
"""Longest name of one file or folder in bytes, as nearly every file system has it."""

RESERVED = ".bascule"
"""A folder in the workspace that is ours, where there is none beside it: in a box, that shows the files alone."""

_BELOW = WORKSPACE + "/"
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and halves of characters, which no UTF-8 has."""


def key_of(path: "str | os.PathLike[str]") -> str:
    """What is meant below the workspace, as `a/b`; the workspace itself is ``.

    Names stay as they are: to fold letters or accents together could change which file is meant. A refusal does not
    repeat the path, which may be one of the host.
    """
    text = os.fspath(path)
    if not text.startswith("/"):
        rest = text
    elif text.startswith(_BELOW):
        rest = text[len(_BELOW) :]
    elif text == WORKSPACE:
        return ""
    else:
        raise PathRefused("an absolute path outside of /workspace", fix="begin the path with /workspace/")
    _check(text)
    parts = _parts(rest)
    if parts[:1] == [RESERVED]:
        raise PathRefused(f"a path into /workspace/{RESERVED}, which is not the agent's", fix="use another name")
    return "/".join(parts)


def shown(key: str) -> str:
    """The path as an agent sees it."""
    return _BELOW + key if key else WORKSPACE


def usable(name: str) -> bool:
    """Whether an agent could name this entry of a folder. A server may have made others."""
    return not _UNFIT.search(name)


def _check(text: str) -> None:
    if not text:
        raise PathRefused("an empty path", fix="name a file, or /workspace for the folder of all files")
    if _UNFIT.search(text):
        raise PathRefused(
            "a path with control characters, or with halves of characters", fix="name files in printable text"
        )
    if len(text.encode()) > MAX_PATH:
        raise PathRefused(f"a path longer than {MAX_PATH} bytes", fix="use shorter names, or fewer folders")


def _parts(rest: str) -> list[str]:
    parts: list[str] = []
    for part in rest.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            if len(part) * 4 > MAX_NAME and len(part.encode()) > MAX_NAME:
                raise PathRefused(f"a name longer than {MAX_NAME} bytes", fix="use a shorter name")
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            raise PathRefused("a path that leads out of /workspace", fix="leave out the `..` that go too far")
    return parts
