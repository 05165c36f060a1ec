"""The `.env` file beside a configuration: values for variables the environment lacks, never a child's environment."""

import re
from pathlib import Path

MAX_DOTENV = 256 * 1024
"""Largest `.env` read. A larger one is not a list of variables."""

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\s*(?:\#.*)?""")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def read_dotenv(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables, and a note for whatever could not be read; never what stands there. No file is no variables."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_DOTENV + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        return {}, ()
    except OSError as error:
        return {}, (f"{path}: not read: {error.strerror}",)
    except UnicodeDecodeError:
        return {}, (f"{path}: not read: it is not UTF-8",)
    if len(data) > MAX_DOTENV:
        return {}, (f"{path}: not read: it is larger than {MAX_DOTENV} bytes",)
    return _parse(text, str(path))


def _parse(text: str, shown: str) -> tuple[dict[str, str], tuple[str, ...]]:
    values: dict[str, str] = {}
    notes: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if found := _LINE.fullmatch(line):
            values[found["name"]] = _dotenv_value(found["value"])
        else:
            notes.append(f"{shown}:{number}: ignored: not NAME=value")
    return values, tuple(notes)


def _dotenv_value(raw: str) -> str:
    quoted = _QUOTED.fullmatch(raw)
    if quoted is None:
        return re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()
    if quoted["quote"] == "'":
        return quoted["text"]
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), quoted["text"])
