"""Views of `bascule import`: servers found in the config files of MCP clients, needed variables, and the diff of the
config."""

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bascule.cli.json_output.setup import FoundServerShape, ImportShape, MissingShape
from bascule.cli.mcp_registry.pinning import unpinned
from bascule.config.editing.add_server import Addition, variables_in
from bascule.config.editing.undo import Undone
from bascule.config.importing.merge import Fate, Merged, Settled
from bascule.config.importing.read_client_config import Borrowed
from bascule.config.variables import read_dotenv


@dataclass(frozen=True, slots=True)
class Import:
    """All that an import found, and what it writes."""

    borrowed: list[Borrowed]
    merged: Merged
    config: Addition
    dotenv: Addition | None
    written: bool
    again: str
    """The command that was run, to be run again."""

    @property
    def undo(self) -> str:
        _, option, path = self.again.partition(" --config ")
        return f"bascule import --undo{option}{path}"


def lines(told: Import, home: Path) -> list[str]:
    if not told.borrowed:
        return ["no MCP config of another program was found; `bascule add` writes a first server"]
    shown = ["found:", *_indented(_rows(_file_row(each, home) for each in told.borrowed)), ""]
    shown += ["servers:", *_indented(_rows(_server_row(each, told) for each in told.merged.settled)), ""]
    shown += _remarks(told)
    if not told.merged.entries:
        return [*shown, f"there is nothing to add to {_short(told.config.path, home)}"]
    shown += [*diff(told.config), ""]
    shown += [*_needs(told), *_warnings(told.merged)]
    return [*shown, *_ending(told, home)]


def undone_lines(undone: Undone) -> list[str]:
    return [
        *(f"{path} is as it was before the import" for path in undone.restored),
        *(f"{path} is removed: the import had made it" for path in undone.removed),
    ]


def diff(added: Addition) -> list[str]:
    """A unified diff of the config."""
    before, after = (added.before or "").splitlines(), added.after.splitlines()
    old = "/dev/null" if added.before is None else added.path.name
    return [*difflib.unified_diff(before, after, old, added.path.name, lineterm="")]


def _short(path: Path, home: Path) -> str:
    for folder, sign in ((Path.cwd(), ""), (home, "~/")):
        if path.is_relative_to(folder):
            return f"{sign}{path.relative_to(folder)}"
    return str(path)


def _file_row(each: Borrowed, home: Path) -> tuple[str, ...]:
    names = ", ".join(find.theirs for find in each.finds)
    count = len(each.finds)
    what = f"skipped: {each.problem}" if each.problem else f"{count} server{'' if count == 1 else 's'}: {names}"
    return each.file.program.title, _short(each.file.path, home), what if names or each.problem else "no servers"


def _server_row(each: Settled, told: Import) -> tuple[str, ...]:
    return each.find.theirs, f"of {each.find.file.program.title}", _fate(each, "" if told.written else "would be ")


def _fate(each: Settled, mood: str) -> str:
    match each.fate:
        case Fate.ADDED:
            renamed = "" if each.name == each.find.theirs else f" as {each.name}"
            return f"{mood}added{renamed}" + (f": {each.why} called {each.find.name}" if each.why else "")
        case Fate.SAME:
            differs = f"; {each.why}, so set the one you mean" if each.why else ""
            return f"the same as {each.name} above{differs}"
        case Fate.THERE:
            return "left as it is: the config has it"
        case Fate.DISABLED:
            return "left out: it is disabled there"
        case Fate.REFUSED:
            return f"left out: {each.why.partition('; ')[0]}"


def _remarks(told: Import) -> list[str]:
    """What is not taken over, and what is taken over otherwise."""
    said: list[str] = []
    for each in told.merged.settled:
        if each.fate is Fate.ADDED:
            said += [f"{each.name}: {note}" for note in each.find.notes]
            said += [f"{each.name}: {key} is left out: {why}" for key, why in each.find.left_out.items()]
        elif each.fate is Fate.REFUSED and "credential" in each.why:
            said.append(f"{each.name}: {by_hand(each)}")
    said += [f"{each.file.path.name}: {note}" for each in told.borrowed for note in each.notes]
    return [*said, ""] if said else []


def by_hand(each: Settled) -> str:
    """How a server whose arguments hold a credential can be added all the same."""
    return (
        "what stands in arguments, every user of the machine can read. If it takes a variable as well: "
        f"bascule add {each.name} --env NAME -- {each.entry.get('command', 'COMMAND')} …"
    )


def _needs(told: Import) -> Iterator[str]:
    described = {name: text for each in told.merged.settled for name, text in each.find.described.items()}
    wanted = needs(told)
    for name, need in wanted.items():
        state = "is set" if need["set"] else "is put into .env" if need["kept"] else "must be set"
        hidden = ": a credential, which is not copied" if need["secret"] and not need["kept"] else ""
        text = f" ({described[name]})" if described.get(name) else ""
        yield f"{name} {state}{text}, for {', '.join(need['servers'])}{hidden if not need['set'] else ''}"
    if any(not need["set"] and not need["kept"] for need in wanted.values()):
        yield f"set them in the environment, or in .env beside {told.config.path.name}"
    if any(need["secret"] and not need["set"] and not need["kept"] for need in wanted.values()):
        yield "with --with-secrets, the credentials are copied into that .env, for you alone to read"
    elif told.dotenv is not None:
        yield ".env holds credentials now: keep it out of version control"


def needs(told: Import) -> dict[str, MissingShape]:
    """The variables that have to be set, and for which servers."""
    kept = told.dotenv.after if told.dotenv is not None else ""
    there, _ = read_dotenv(told.config.path.with_name(".env"))
    known = {**there, **os.environ} if not told.written else os.environ
    found: dict[str, MissingShape] = {}
    for server, entry in told.merged.entries.items():
        for name in (name for name, needed in variables_in(entry).items() if needed):
            secret = name in told.merged.variables.values
            fresh: MissingShape = {
                "name": name,
                "set": bool(known.get(name)),
                "secret": secret,
                "kept": f"{name}=" in kept,
                "servers": [],
            }
            found.setdefault(name, fresh)["servers"].append(server)
    return found


def _warnings(merged: Merged) -> Iterator[str]:
    loose = [
        found[0].partition(" is not pinned")[0]
        for entry in merged.entries.values()
        if "command" in entry and (found := unpinned([entry["command"], *entry.get("args", ())]))
    ]
    if loose:
        yield f"not pinned: {', '.join(loose)}. `bascule doctor` says what to write instead"


def _ending(told: Import, home: Path) -> list[str]:
    path = _short(told.config.path, home)
    if not told.written:
        return ["", f"nothing is changed yet; to write {path}: {told.again} --write"]
    return ["", f"{path} is written", f"undo: {told.undo}", "next: bascule list"]


def _rows(rows: Iterator[tuple[str, ...]]) -> list[str]:
    """Columns, the last one as long as it is."""
    every = [*rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(every[0]) - 1)] if every else []
    return [
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in every
    ]


def _indented(rows: list[str]) -> list[str]:
    return [f"  {row}" for row in rows]


def as_shape(told: Import) -> ImportShape:
    """The same in its documented JSON shape."""
    return {
        "file": str(told.config.path),
        "written": told.written,
        "new": told.config.before is None,
        "found": [
            {
                "program": each.file.program.name,
                "file": str(each.file.path),
                "problem": each.problem or None,
                "servers": [find.theirs for find in each.finds],
                "notes": [*each.notes],
            }
            for each in told.borrowed
        ],
        "servers": [_settled_shape(each) for each in told.merged.settled],
        "needs": [*needs(told).values()],
        "diff": "\n".join(diff(told.config)),
        "undo": told.undo if told.written else None,
    }


def _settled_shape(each: Settled) -> FoundServerShape:
    return {
        "name": each.name,
        "theirs": each.find.theirs,
        "program": each.find.file.program.name,
        "file": str(each.find.file.path),
        "fate": each.fate,
        "why": each.why or None,
        "entry": each.entry if each.fate is Fate.ADDED else None,
        "notes": [*each.find.notes],
        "left_out": dict(each.find.left_out),
    }
