"""`bascule new`: writes a working MCP server from a template, with its tests and its config."""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.output.errors import json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_json
from bascule.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import NewShape

NAME = "records"
"""What the server is called in our own files. The word stands for nothing else there, so it can be put for another."""

HTTP = "-http"
"""Behind the name, for the entry by which it is served over HTTP."""

PLACES = (Path(__file__).parents[1] / "starter_files", Path(__file__).parents[4] / "examples" / "template")
"""Where the files are: beside this one if we were installed, else where they are kept in the checkout."""

KINDS = frozenset({".py", ".yaml", ".md"})


def starter_files(name: str, places: Iterable[Path] = PLACES) -> dict[str, str]:
    """The files of a server of this name, by theirs."""
    from bascule.config.names import NAME_RULE, is_name  # noqa: PLC0415 -- slow, and not for the options

    if not is_name(name) or not is_name(name + HTTP):
        raise UsageError(
            f"{name!r} cannot be the name of a server",
            evidence=f"a name is {NAME_RULE}, and here {len(HTTP)} characters shorter: {HTTP} is put behind it",
            fix="choose another, such as `records`",
        )
    for place in places:
        files = sorted(file for file in place.glob("*") if file.suffix in KINDS)
        found = {file.name: file.read_text(encoding="utf-8") for file in files}
        if found:
            return {file: text.replace(NAME, name) for file, text in found.items()}
    raise ConfigError("the files of a new server are not where they belong", fix="install Bascule again")


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """All of them, or none. What is there already is never written over."""
    there = [file for file in files if (folder / file).exists() or (folder / file).is_symlink()]
    if there:
        raise UsageError(
            f"{folder} holds files that would be written over: {', '.join(there)}",
            fix="name another folder with --folder, or move them away",
        )
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            # `x`: whoever has made it since we looked keeps it.
            with (folder / file).open("x", encoding="utf-8", newline="\n") as opened:
                written.append(folder / file)
                opened.write(text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise UsageError(
            f"the server cannot be written into {folder}",
            evidence=f"{error.strerror or type(error).__name__}: {error.filename or folder}",
            fix="name another folder with --folder",
        ) from error


_EXAMPLES = """\
  bascule new server records  a working server in the folder `records`, with its tests and its config
  bascule new server records --folder .  the same in this folder; what is there is never written over"""


def add_options(command: Parser) -> None:
    add_json(command.document(_EXAMPLES))
    command.add_argument("what", metavar="server", choices=("server",), help="what to write; there is only this yet")
    command.add_argument("name", metavar="NAME", help="the name of the server, which stands before those of its tools")
    command.add_argument("--folder", metavar="DIR", help="where to write it; default: a folder of its name")


async def run(options: argparse.Namespace) -> int:
    folder = Path(options.name if options.folder is None else options.folder)
    files = starter_files(options.name)
    write_files(folder, files)
    if options.json:
        shape: NewShape = {"name": options.name, "folder": str(folder), "files": [*files]}
        print(json_line(shape))
    else:
        print(legible(told(options.name, folder, [*files])))
    return exit_codes.OK


def told(name: str, folder: Path, files: list[str]) -> str:
    """What was done, and what to do next."""
    steps = (
        (f"cd {folder}", ""),
        ("pytest", "its tests"),
        (f"bascule call {name}_order number=7", "one call, as an agent makes it"),
        ("python client.py", "a program that uses it"),
        (f"bascule run {name}{HTTP}", "serves it over HTTP, until Ctrl-C"),
    )
    width = max(len(step) for step, _ in steps)
    lines = [f"  {step:{width}}  {what}".rstrip() for step, what in steps]
    return "\n".join(
        [f"{folder} holds the server {name} now: {', '.join(files)}", "next:", *lines, "its tools are in tools.py"]
    )
