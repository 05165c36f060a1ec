"""`bascule import`: takes over servers from the config files of other MCP clients. Shows a diff, and writes only with
`--write`."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.tables import fitting
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_config
from bascule.core.errors import UsageError

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import UndoneShape
    from bascule.config.editing.add_server import Addition
    from bascule.config.importing.programs import ForeignFile, Surroundings
    from bascule.config.importing.read_client_config import Borrowed, Find


@dataclass(frozen=True, slots=True)
class _Files:
    """What is written: the config, and the credentials if they are wanted too."""

    config: "Addition"
    dotenv: "Addition | None"

    def write(self, state: Path) -> None:
        from bascule.config.editing.undo import Change, remember  # noqa: PLC0415 -- slow, and not for the options

        written = [each for each in (self.dotenv, self.config) if each is not None and each.after != each.before]
        changes = [Change(Path(os.path.realpath(each.path)), each.before, each.after) for each in written]
        # First how to take it back, then what is to be taken back.
        remember(state, self.config.path, changes)
        for each in written:
            each.write()


_EXAMPLES = """\
  bascule import  what Claude, Cursor, VS Code, Gemini … have, and a diff; changes nothing
  bascule import --write  writes it into bascule.yaml, and says how to undo that
  bascule import --from cursor --only github --write  one server of one program
  bascule import --from ~/old/.mcp.json  of one file
  bascule import --undo  takes the last import back"""


def add_options(command: Parser) -> None:
    add_config(command.document(_EXAMPLES))
    told = "only of this program, or this file: claude-code, claude-desktop, cursor, vscode, gemini, codex, … or a path"
    command.add_argument("--from", dest="sources", metavar="PROGRAM|FILE", action="append", default=[], help=told)
    command.add_argument("--only", metavar="NAME", action="append", default=[], help="only the server of this name")
    command.add_argument("--write", action="store_true", help="write it; otherwise it is only shown")
    kept = "copy credentials too: into .env beside the config, for you alone to read"
    command.add_argument("--with-secrets", action="store_true", help=kept)
    command.add_argument("--undo", action="store_true", help="take the last import into this config back")


async def run(options: argparse.Namespace) -> int:
    from bascule.cli.views.import_ import Import, as_shape, lines, undone_lines  # noqa: PLC0415 -- as above
    from bascule.config.editing.add_server import (  # noqa: PLC0415
        additions,
        dotenv_with,
        servers_in,
    )
    from bascule.config.editing.undo import undo  # noqa: PLC0415
    from bascule.config.importing.merge import merge  # noqa: PLC0415
    from bascule.config.importing.programs import Surroundings  # noqa: PLC0415
    from bascule.config.importing.read_client_config import borrow  # noqa: PLC0415
    from bascule.config.state_dir import state_folder  # noqa: PLC0415

    path = target(options.config)
    state = state_folder(os.environ)
    if options.undo:
        undone = undo(state, path)
        shape: UndoneShape = {
            "undone": True,
            "restored": [*map(str, undone.restored)],
            "removed": [*map(str, undone.removed)],
        }
        print(json_line(shape) if options.json else legible("\n".join(undone_lines(undone))))
        return exit_codes.OK
    around = Surroundings(sys.platform, Path.home(), Path.cwd(), os.environ)
    borrowed = [borrow(file, around.here, around.home) for file in _wanted(options.sources, around)]
    existing = servers_in(path)
    merged = merge(_chosen(borrowed, options.only), existing)
    files = _Files(additions(path, merged.entries), None)
    if options.with_secrets:
        values = merged.variables.values
        files = _Files(files.config, dotenv_with(path.with_name(".env"), values))
    written = options.write and bool(merged.entries)
    if written:
        files.write(state)
    told = Import(borrowed, merged, files.config, files.dotenv, written=written, again=_again(options))
    print(json_line(as_shape(told)) if options.json else fitting(legible("\n".join(lines(told, around.home)))))
    return exit_codes.OK


def target(named: str | None) -> Path:
    """The config of ours: the one that is named, the one of this folder, or a new one."""
    from bascule.config.locate import CANDIDATES, VARIABLE  # noqa: PLC0415 -- as above

    named = named or os.environ.get(VARIABLE)
    if named:
        return Path.cwd() / named
    ours = CANDIDATES[:2]
    return next((Path.cwd() / name for name in ours if Path(name).is_file()), Path.cwd() / ours[0])


def _wanted(sources: list[str], around: "Surroundings") -> "list[ForeignFile]":
    from bascule.config.importing.programs import foreign_files  # noqa: PLC0415 -- as above

    if not sources:
        return foreign_files(around)
    return [file for source in sources for file in _named(source, around)]


def _named(source: str, around: "Surroundings") -> "list[ForeignFile]":
    """The files of a program, or one file."""
    from bascule.config.importing.programs import (  # noqa: PLC0415 -- as above
        PROGRAMS,
        ForeignFile,
        foreign_files,
        program_of,
    )
    from bascule.config.problems import did_you_mean  # noqa: PLC0415

    program = next((program for program in PROGRAMS if program.name == source), None)
    path = around.here / Path(source).expanduser()
    if program is None:
        if path.is_file():
            return [ForeignFile(program_of(path), path)]
        names = [program.name for program in PROGRAMS]
        hint = did_you_mean(source, names)
        raise UsageError(f"there is no file {path}, and no program {source!r}{hint}", fix=f"known: {', '.join(names)}")
    found = foreign_files(around, (program,))
    if not found:
        looked = ", ".join(program.files).replace("{here}/", "").replace("{home}", "~")
        raise UsageError(f"{program.title} has no MCP config here", evidence=f"looked for {looked}")
    return found


def _chosen(borrowed: "Iterable[Borrowed]", only: list[str]) -> "list[Find]":
    from bascule.config.problems import did_you_mean  # noqa: PLC0415 -- as above

    finds = [find for each in borrowed for find in each.finds]
    names = dict.fromkeys(name for find in finds for name in (find.name, find.theirs))
    for name in only:
        if name not in names:
            known = ", ".join(dict.fromkeys(find.name for find in finds))
            raise UsageError(f"no program has a server {name!r}{did_you_mean(name, names)}", fix=f"known: {known}")
    return [find for find in finds if not only or {find.name, find.theirs} & {*only}]


def _again(options: argparse.Namespace) -> str:
    """What was asked for, to be asked again with another option behind it."""
    words = ["bascule", "import"]
    for option, values in (("--from", options.sources), ("--only", options.only)):
        words += [word for value in values for word in (option, value)]
    words += ["--with-secrets"] if options.with_secrets else []
    words += ["--config", options.config] if options.config else []
    return shlex.join(words)
