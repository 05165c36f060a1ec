"""Reference page of the `--json` output of commands, generated from the shapes that are declared in the code."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from bascule.cli.json_output import answers, listings, records, running, setup
from bascule.records.audit.records import Record
from handbook.navigation import ROOT

SHAPES = ROOT / "src/bascule/cli/json_output"
RECORDS = ROOT / "src/bascule/records/audit/records.py"


@dataclass(frozen=True, slots=True)
class Printed:
    """What one command prints: an object of one of these shapes, or with `lines` any number of them."""

    shapes: tuple[Any, ...]
    lines: bool = False


REQUESTED = answers.FailureShape

PRINTED = {
    "demo": Printed((setup.DemoShape,)),
    "add": Printed((setup.AddShape,)),
    "import": Printed((setup.ImportShape, setup.UndoneShape)),
    "list": Printed((listings.ListShape,)),
    "call": Printed((answers.CallShape, REQUESTED)),
    "doctor": Printed((running.DoctorShape,)),
    "explain": Printed((setup.ExplainedShape, setup.CodesShape)),
    "up": Printed(
        (
            *(running.RowShape, running.CatalogEventShape, running.ConfigEventShape),
            *(running.DashboardEventShape, running.EndEventShape),
        ),
        lines=True,
    ),
    "inspect": Printed((listings.InspectedServerShape, listings.InspectedToolShape)),
    "read": Printed((answers.ReadShape, REQUESTED)),
    "prompt": Printed((answers.PromptShape, REQUESTED)),
    "approve": Printed((listings.ApproveShape,)),
    "login": Printed((running.LoginShape,)),
    "logout": Printed((running.LogoutShape,)),
    "logs": Printed((records.LogLineShape,), lines=True),
    "stubs": Printed((listings.StubsShape,)),
    "snippet": Printed((setup.SnippetShape, setup.ClientShape)),
    "serve": Printed((running.ServeShape,)),
    "sessions": Printed((records.SessionsShape,)),
    "sessions show": Printed((records.ShownSessionShape,)),
    "sessions raise": Printed((records.DeedShape,)),
    "sessions declassify": Printed((records.DeedShape,)),
    "sessions end": Printed((records.DeedShape,)),
    "audit show": Printed((records.RecordsShape,)),
    "audit export": Printed((records.ExportShape,)),
    "audit verify": Printed((records.VerifyShape,)),
    "sandbox ls": Printed((running.BoxesShape,)),
    "sandbox rm": Printed((running.RemovedShape,)),
    "new": Printed((setup.NewShape,)),
    "run": Printed((running.RunShape,)),
    "token": Printed((running.TokenShape, running.KeyShape)),
    "completion": Printed((setup.CompletionShape,)),
    "help": Printed((setup.CommandShape,)),
}
"""By command, in the order of `bascule --help`."""

HEAD = """# JSON of the commands

<!-- Made by `python -m handbook write` from src/bascule/cli/json_output. -->

What each [command](cli.md) prints with `--json`: one object on one line of stdout, or, where it is said, one a line for as long as the command runs. The shapes are
kept stable: a field may be added, and none is taken away or given another meaning. Whoever reads them passes over fields that they do not know.

A command that could not do what it was asked prints [Failed](#failed) instead, and the same for people on stderr. The [exit code](cli.md#exit-codes) is the same with and
without `--json`.

```sh
bascule list --json | jq -r '.servers[] | select(.error) | .name + ": " + .error.fix'
```
"""

AUDIT = """
## Records of the audit log

In `records` of `bascule audit show`, and one a line of what `bascule audit export` writes. Each has these: `at`, in seconds since the epoch; `writer`, its chain; `seq`, its number in
the chain; and `kind`. The rest depends on its kind. What is empty is left out.

"""

COMMON = {
    "at": "Seconds since the epoch.",
    "change": "What became of it.",
    "code": "Of an error, `BSC-…`.",
    "description": "In the server's words.",
    "error": "Why it failed, if it did.",
    "evidence": "What shows it: an exit code, stderr, an HTTP status.",
    "file": "Its path.",
    "findings": "What its texts hide, or say to the model.",
    "fix": "What to do.",
    "from": "The level before.",
    "lane": "By which way.",
    "level": "How private what it has seen is.",
    "name": "What it is called.",
    "notes": "What is worth knowing.",
    "ok": "Whether all went well.",
    "problem": "Why it cannot be used.",
    "server": "Its name in the config.",
    "session": "The agent session.",
    "state": "Where the link stands.",
    "tool": "The server's own name for the tool.",
    "transport": "How it is reached.",
    "user": "On whose behalf.",
}
"""What fields mean that many shapes have, where a shape does not say it itself."""

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}


def json_page() -> str:
    words = _words()
    commands = (_command(name, printed, words) for name, printed in PRINTED.items())
    tops = {shape for printed in PRINTED.values() for shape in printed.shapes}
    parts = sorted({answers.FailedShape, answers.FailureShape, *_parts(tops)} - (tops - {REQUESTED}), key=title)
    kinds = (_record(kind) for kind in ast.parse(RECORDS.read_text(encoding="utf-8")).body)
    return "".join(
        [
            *(HEAD, *commands, "\n## Parts\n"),
            *(f"\n### {title(shape)}\n\n{_table(shape, words)}" for shape in parts),
            *(AUDIT, *kinds),
        ]
    )


def title(shape: Any) -> str:
    return str(shape.__name__).removesuffix("Shape")


def _command(name: str, printed: Printed, words: dict[str, dict[str, str]]) -> str:
    told = "One object a line, each one of these:\n\n" if printed.lines and len(printed.shapes) > 1 else ""
    told = "One object a line:\n\n" if printed.lines and not told else told
    tables = [
        f"[{title(shape)}](#{title(shape).lower()}): {words[shape.__name__][''].lower()}\n"
        if shape is REQUESTED
        else _table(shape, words)
        for shape in printed.shapes
    ]
    return f"\n## bascule {name}\n\n{told}" + "\nor:\n\n".join(tables)


def _table(shape: Any, words: dict[str, dict[str, str]]) -> str:
    own = words.get(shape.__name__, {})
    rows = [
        f"| `{name}` | {kind(hint)} | {own.get(name) or COMMON.get(name, '')} |"
        for name, hint in get_type_hints(shape, include_extras=True).items()
    ]
    return f"{own.get('', '')}\n\n" + "\n".join(["| field | type | |", "|---|---|---|", *rows]) + "\n"


def kind(hint: Any) -> str:
    """A type in the words of JSON."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_typeddict(hint):
        return f"[{title(hint)}](#{_anchor(hint)})"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice(member.value for member in hint)
    return _made_of(get_origin(hint), get_args(hint))


def _made_of(origin: Any, args: tuple[Any, ...]) -> str:
    if origin is Literal:
        return _choice(args)
    if origin in {Union, UnionType}:
        return " or ".join(map(kind, args))
    of = kind(args[-1])
    if origin is dict:
        return "object" if args[-1] is Any else f"object, each {of}"
    return {list: f"list of {of}", NotRequired: f"{of}, or not there"}[origin]


def _anchor(shape: Any) -> str:
    command = next(
        (name for name, printed in PRINTED.items() if shape in printed.shapes and shape is not REQUESTED), ""
    )
    return f"bascule-{command.replace(' ', '-')}" if command else title(shape).lower()


def _choice(values: Any) -> str:
    return " \\| ".join(f"`{str(value).lower() if isinstance(value, bool) else value}`" for value in values)


def _parts(shapes: set[Any]) -> set[Any]:
    """The shapes that are within these, however deep."""
    found: set[Any] = set()
    waiting = [*shapes]
    while waiting:
        for hint in get_type_hints(waiting.pop(), include_extras=True).values():
            fresh = {each for each in _within(hint) if each not in found}
            found |= fresh
            waiting += fresh
    return found


def _within(hint: Any) -> Iterator[Any]:
    if is_typeddict(hint):
        yield hint
    for each in get_args(hint):
        yield from _within(each)


def _words() -> dict[str, dict[str, str]]:
    """What stands beneath each class and field, by their names; those of a class itself under no name."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(SHAPES.glob("*.py"), key=lambda path: path.name != "answers.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                inherited = [found.get(base.id, {}) for base in node.bases if isinstance(base, ast.Name)]
                own = {name: word for each in inherited for name, word in each.items() if name}
                found[node.name] = {**own, **dict(_fields(node)), "": _one_line(ast.get_docstring(node) or "")}
    return found


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    following: list[ast.stmt | None] = [*node.body[1:], None]
    for stated, after in zip(node.body, following, strict=True):
        match stated, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, _one_line(text)
            case _:
                pass


def _record(node: ast.stmt) -> str:
    """A kind of record, by its class."""
    if not isinstance(node, ast.ClassDef) or node.name == Record.__name__:
        return ""
    tag = next(word.value.value for word in node.keywords if isinstance(word.value, ast.Constant))
    parents = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id != Record.__name__]
    fields = [
        stated.target.id
        for stated in node.body
        if isinstance(stated, ast.AnnAssign) and isinstance(stated.target, ast.Name)
    ]
    told = ", ".join(f"`{name}`" for name in fields) or ("as of `sending`" if parents else "")
    return f"- `{tag}`: {_one_line(ast.get_docstring(node) or '')}" + (f" Fields: {told}." if told else "") + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
