"""`bascule import`: shows what other programs' MCP configs have, and writes it into ours if told to."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bascule.cli import exit_codes
from bascule.cli.json_output.setup import UndoneShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.tables import fitting
from bascule.cli.views.import_ import Import, as_shape, lines, undone_lines
from bascule.config.editing.add_server import Addition, additions, servers_in
from bascule.config.editing.dotenv import dotenv_with
from bascule.config.editing.undo import Change, remember, undo
from bascule.config.importing.merge import merge
from bascule.config.importing.programs import PROGRAMS, ForeignFile, Surroundings, foreign_files, program_of
from bascule.config.importing.read_client_config import Borrowed, Find, borrow
from bascule.config.locate import CANDIDATES, VARIABLE
from bascule.config.problems import did_you_mean
from bascule.config.state_dir import state_folder
from bascule.core.errors import UsageError

_OURS = CANDIDATES[:2]


@dataclass(frozen=True, slots=True)
class _Files:
    """What is written: the config, and the credentials if they are wanted too."""

    config: Addition
    dotenv: Addition | None

    def write(self, state: Path) -> None:
        written = [each for each in (self.dotenv, self.config) if each is not None and each.after != each.before]
        changes = [Change(Path(os.path.realpath(each.path)), each.before, each.after) for each in written]
        # First how to take it back, then what is to be taken back.
        remember(state, self.config.path, changes)
        for each in written:
            each.write()


async def run(options: argparse.Namespace) -> int:
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
    named = named or os.environ.get(VARIABLE)
    if named:
        return Path.cwd() / named
    return next((Path.cwd() / name for name in _OURS if Path(name).is_file()), Path.cwd() / _OURS[0])


def _wanted(sources: list[str], around: Surroundings) -> list[ForeignFile]:
    if not sources:
        return foreign_files(around)
    return [file for source in sources for file in _named(source, around)]


def _named(source: str, around: Surroundings) -> list[ForeignFile]:
    """The files of a program, or one file."""
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


def _chosen(borrowed: Iterable[Borrowed], only: list[str]) -> list[Find]:
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
