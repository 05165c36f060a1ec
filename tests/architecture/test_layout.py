"""Sizes, names and places of files, so that a reader can guess the file that holds a thing."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/bascule"
UNIT = ROOT / "tests/unit"

MAX_LINES = 500

MAX_FOLDER = 24
"""Modules in one folder. A longer list is searched, not read."""

SMALL = 60
"""Lines below which a module with one importer is part of that importer."""

SEPARATE = re.compile(r"\b(Pure|Separate)\b")
"""Opens the sentence of a small module's docstring that gives the reason for a file of its own: `Pure: …`, `Separate: …`."""

DRAWERS = {"utils", "util", "helpers", "helper", "base", "common", "misc"}
"""Names under which anything may be put, so that nothing is found."""

VAGUE_ENDINGS = ("Manager",)

BROAD_CATCHES = {
    "cli/main.py:main": "the command's outermost: whatever it is, a person is told it with its code, and not by a traceback",
    "core/undo/transaction.py:_problem_of": "a user's participant: the others must be kept or undone all the same",
    "gateway/app.py:_answer": "the gateway's outermost: one request's fault must not take the others with it",
    "kit/server.py:_run": "an author's file: whatever it raises is told as the reason why there is no server",
    "records/recorder.py:record": "a user's event sink: its mistake must not fail the call it only watches",
    "policy/rules.py:decide": "whatever is wrong with a rule, a request it did not allow is refused",
    "runtime/approvals/callback.py:put_to": "a user's callback: whatever it raises is no answer, and none of the server's business",
    "runtime/execution/rollback.py:_begin": "a user's participant: what it raises is told as the reason why nothing was sent",
    "transports/inprocess/worker_thread.py:run": "a program's code in a thread of its own; what it raises goes on to who waits for it",
    "transports/inprocess/memory.py:_serve": "a server object's own code; whatever it raises is that server's death",
}
"""Where everything may be caught, as `room/module.py:function`, each with its reason: a supervisor's loop, a
rule that must refuse when it breaks, the outermost of the gateway and of the command, and around a user's sinks and callbacks."""

UNSPOKEN = {
    "a promise instead of work": re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b"),
    "a plan, which readers do not have": re.compile(r"\b(issue|step|milestone|phase) #?\d+", re.IGNORECASE),
    "a place on somebody's machine": re.compile(r"/work/|/root/|/tmp/brief"),
}
"""What the product and its documentation do not say."""


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def spoken_files() -> list[Path]:
    folders = [path for folder in ("src", "docs", "examples", "bench") for path in (ROOT / folder).rglob("*")]
    texts = [path for path in folders if path.suffix in {".py", ".md", ".yaml", ".yml", ".toml", ".json", ".sh"}]
    return sorted(
        [
            *texts,
            *(ROOT / ".ci").iterdir(),
            *(ROOT / name for name in ("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")),
        ]
    )


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def none_of(offenders: Iterable[str], rule: str) -> None:
    found = sorted(offenders)
    assert not found, f"{rule}\n  " + "\n  ".join(found)


def test_no_file_is_longer_than_five_hundred_lines():
    lengths = {path: len(path.read_bytes().splitlines()) for path in python_files("src", "tests", "bench")}

    none_of(
        (f"{shown(path)}: {count} lines" for path, count in lengths.items() if count > MAX_LINES),
        f"A file holds one noun, and at most {MAX_LINES} lines. Split these by what they hold:",
    )


def source_modules() -> list[Path]:
    return [path for path in python_files("src/bascule") if path.stem not in {"__init__", "__main__"}]


def packages() -> list[Path]:
    return sorted({path.parent for path in source_modules()} - {PACKAGE})


def test_no_folder_has_more_than_twenty_four_modules():
    counts = Counter(path.parent for path in source_modules())

    none_of(
        (f"{shown(folder)}: {count} modules" for folder, count in counts.items() if count > MAX_FOLDER),
        f"A folder has at most {MAX_FOLDER} modules. Split these by topic:",
    )


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def imported_by(path: Path) -> Iterator[str]:
    """Dotted names that may be modules: of `from a import b`, both `a` and `a.b`."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                pass


def importers() -> dict[str, set[Path]]:
    found = defaultdict[str, set[Path]](set)
    for path in python_files("src/bascule"):
        for name in imported_by(path):
            found[name].add(path)
    return found


def test_a_small_module_with_one_importer_gives_its_reason():
    users = importers()
    small = [path for path in source_modules() if len(path.read_bytes().splitlines()) < SMALL]

    none_of(
        (
            f"{shown(path)}, imported by {shown(*users[dotted(path)])}"
            for path in small
            if len(users[dotted(path)] - {path}) == 1
            and not SEPARATE.search(ast.get_docstring(ast.parse(path.read_bytes())) or "")
        ),
        f"A module under {SMALL} lines with one importer is part of that importer, or its docstring says why not, in a "
        "sentence that begins with `Pure` or `Separate`:",
    )


def subjects_of(test: Path) -> set[Path]:
    """Module or package that a unit test file names: `a/test_b.py` and `a/test_b__aspect.py` are tests of `a/b`."""
    place = test.relative_to(UNIT).with_name(test.stem.removeprefix("test_").partition("__")[0])
    return {path for path in (PACKAGE / place, PACKAGE / f"{place}.py") if path.exists()}


def test_every_unit_test_file_names_a_module_or_a_package():
    none_of(
        (shown(path) for path in UNIT.rglob("test_*.py") if not subjects_of(path)),
        "A unit test file has the path of a module or of a package. These name neither:",
    )


def test_every_module_has_unit_tests_of_its_own_or_of_its_package():
    tested = {path for test in UNIT.rglob("test_*.py") for path in subjects_of(test)}

    none_of(
        (shown(path) for path in source_modules() if not tested & {path, path.parent}),
        "No file in tests/unit has the path of these modules or of a package around them:",
    )


def test_every_package_has_unit_tests():
    none_of(
        (
            shown(folder)
            for folder in packages()
            if not any((UNIT / folder.relative_to(PACKAGE)).glob("test_*.py"))
            and not (UNIT / folder.relative_to(PACKAGE)).with_name(f"test_{folder.name}.py").exists()
        ),
        "Each package has unit tests. Missing:",
    )


def test_tests_are_no_packages():
    none_of(map(shown, (ROOT / "tests").rglob("__init__.py")), "Tests are files, not packages. Remove:")


def test_no_file_is_named_like_a_drawer():
    parts = {path: {path.stem, *path.relative_to(ROOT).parts[:-1]} for path in python_files("src", "tests", "bench")}

    none_of(
        (shown(path) for path, names in parts.items() if names & DRAWERS),
        f"A file is named by what it holds, never {', '.join(sorted(DRAWERS))}:",
    )


def test_no_class_is_named_by_a_vague_ending():
    vague = re.compile(rf"^ *class +(\w*(?:{'|'.join(VAGUE_ENDINGS)}))\b", re.MULTILINE)

    none_of(
        (
            f"{shown(path)}: {found[1]}"
            for path in python_files("src")
            for found in vague.finditer(path.read_text(encoding="utf-8"))
        ),
        "A class is named by what one instance is, never Manager:",
    )


def test_every_module_says_what_it_holds():
    said = re.compile(r'(?:#.*\n|\s*\n)*r?"""[^"\s]')

    none_of(
        (shown(path) for path in python_files("src", "bench") if not said.match(path.read_text(encoding="utf-8"))),
        "A module begins with one or two sentences on what it holds. Missing in:",
    )


def names_in(node: ast.expr | None) -> set[str]:
    """What an `except` names. A bare one names everything."""
    if node is None:
        return {"BaseException"}
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def swallows_everything(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=caught, body=[*_, ast.Raise(exc=None)]):
            return "Exception" in names_in(
                caught
            )  # cleaning up and raising on hides nothing, if it sees cancellation too
        case ast.ExceptHandler(type=caught):
            return bool({"Exception", "BaseException"} & names_in(caught))
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=suppressed):
            return any({"Exception", "BaseException"} & names_in(argument) for argument in suppressed)
        case _:
            return False


def broad_catches(node: ast.AST, function: str = "") -> Iterator[tuple[str, int]]:
    """The innermost function around each catch of everything, and its line."""
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if swallows_everything(child):
            yield inside, getattr(child, "lineno", 0)
        yield from broad_catches(child, inside)


@cache
def found_catches() -> dict[str, int]:
    texts = {path: path.read_bytes() for path in python_files("src/bascule")}
    return {
        f"{path.relative_to(PACKAGE)}:{function}": line
        for path, text in texts.items()
        if re.search(rb"Exception\b|\bexcept:", text)  # looking into the others costs seconds
        for function, line in broad_catches(ast.parse(text))
    }


def test_everything_is_caught_only_where_there_is_a_reason():
    none_of(
        (f"{place} (line {line})" for place, line in found_catches().items() if place not in BROAD_CATCHES),
        "Catching everything hides faults of ours. Catch what can happen, or list the place with its reason:",
    )


def test_every_listed_catch_is_still_there():
    none_of(
        BROAD_CATCHES.keys() - found_catches().keys(), "These places catch no longer everything. Remove from the list:"
    )


def unspoken_in(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        for why, pattern in UNSPOKEN.items():
            if match := pattern.search(line):
                yield f"{shown(path)}:{number}: {match[0]!r} is {why}"


def test_the_project_speaks_of_itself_only():
    none_of((line for path in spoken_files() for line in unspoken_in(path)), "Say what is, or leave it out:")
