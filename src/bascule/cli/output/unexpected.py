"""Unexpected exceptions as errors with a code: the exception, its place in our code, and a fix. Separate,
since it is loaded late: `bascule --help` has to be instant."""

import os
import traceback
from pathlib import Path

from bascule.core.errors import BasculeError, UsageError

PACKAGE = Path(__file__).parents[2]

MOST_PLACES = 6
"""Places in our own code that are told. Whoever looks for a mistake begins at the innermost."""


def unforeseen(mistake: Exception) -> BasculeError:
    if isinstance(mistake, FileNotFoundError) and not _folder_is_there():
        return UsageError("the folder you are in is not there any more", fix="change to a folder that is there: `cd`")
    evidence = "\n".join(filter(None, ("".join(traceback.format_exception_only(mistake)).strip(), _places(mistake))))
    ours = "if it is a mistake in Bascule, tell us the evidence, and what `bascule --version` prints"
    if isinstance(mistake, OSError) and mistake.strerror:
        message = f"the machine did not let the command go on: {mistake.strerror}"
        return BasculeError(message, evidence=evidence, fix=f"see to what the machine says, and run it again; {ours}")
    message = f"nobody foresaw what ended the command: {type(mistake).__name__}"
    return BasculeError(message, evidence=evidence, fix=f"look at the innermost place in the evidence; {ours}")


def _folder_is_there() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 -- whether there is one is all that is asked
    except FileNotFoundError:
        return False
    return True


def _places(mistake: Exception) -> str:
    """Where in our code it was, the innermost first. Where every command begins says nothing."""
    frames = reversed(traceback.extract_tb(mistake.__traceback__))
    ours = [frame for frame in frames if PACKAGE in Path(frame.filename).parents]
    told = [
        f"{Path(frame.filename).relative_to(PACKAGE.parent)}:{frame.lineno}"
        for frame in ours
        if Path(frame.filename).name != "main.py"
    ]
    return f"at {', '.join(told[:MOST_PLACES])}" if told else ""
