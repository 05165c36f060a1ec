"""`bascule add`: writes a server into the config, from a command, a URL or the `server.json` of the MCP registry."""

import argparse
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.mcp_registry.inputs import Need
from bascule.cli.mcp_registry.server_json import KINDS, Described, read_server_json
from bascule.cli.output.errors import json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_config
from bascule.core.errors import UsageError
from bascule.core.json_types import JsonObject

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import AddShape
    from bascule.config.editing.add_server import Addition

STDIN = "-"
MAX_FILE = 1024 * 1024
"""Largest server.json read, in bytes. They are a few thousand."""

_FORMS = "bascule add NAME -- COMMAND ARGS…, bascule add NAME URL, or bascule add server.json"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The server that is to be added."""

    name: str
    entry: JsonObject
    needs: tuple[Need, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    """Ways in which it could have been added as well."""


_EXAMPLES = """\
  bascule add time -- uvx mcp-server-time==2026.10.19  a command
  bascule add files -- npx -y @modelcontextprotocol/server-filesystem@2026.8.31 .
  bascule add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  bascule add server.json --dry-run  only shows what would be written
  bascule add server.json  as the official registry describes it; - reads stdin"""


def add_options(command: Parser) -> None:
    add_config(command.document(_EXAMPLES))
    command.add_argument("what", metavar="NAME|FILE", help="the server's name; or a server.json, alone; - reads stdin")
    command.add_argument("rest", metavar="COMMAND|URL", nargs="*", help="-- and a command with its arguments; or a URL")
    command.add_argument(
        "--env", metavar="NAME[=VALUE]", action="append", default=[], help="a variable for the command"
    )
    command.add_argument("--header", metavar="'NAME: VALUE'", action="append", default=[], help="a header for the URL")
    told = "what a server.json is called here; default: the end of its own name"
    command.add_argument("--name", metavar="NAME", help=told)
    command.add_argument("--from", dest="source", choices=KINDS, help="which of a server.json's offers to take")
    command.add_argument("--replace", action="store_true", help="replace a server of the same name")
    command.add_argument("--dry-run", action="store_true", help="only show what would be written")


async def run(options: argparse.Namespace) -> int:
    from bascule.config.editing.add_server import addition  # noqa: PLC0415 -- slow, and not for the options

    wanted = _wanted(options)
    path = target(options.config)
    added = addition(path, wanted.name, wanted.entry, replace=options.replace)
    if not options.dry_run:
        added.write()
    if options.json:
        print(json_line(as_shape(wanted, added, written=not options.dry_run)))
    else:
        print(legible("\n".join(lines(wanted, added, written=not options.dry_run))))
    return exit_codes.OK


def target(named: str | None) -> Path:
    """The file to write to: the one that is named, the one that is there, or a new one of ours."""
    from bascule.config.locate import CANDIDATES, VARIABLE, find  # noqa: PLC0415 -- as above

    if named is not None:
        return Path.cwd() / named
    if variable := os.environ.get(VARIABLE):
        return Path.cwd() / variable
    return find(None, {}) or Path.cwd() / CANDIDATES[0]


def _wanted(options: argparse.Namespace) -> Wanted:
    from bascule.config.names import NAME_RULE, is_name  # noqa: PLC0415 -- as above

    first, rest = options.what, options.rest
    if not rest:
        if is_name(first):
            raise UsageError(f"how is {first} reached?", fix=_FORMS)
        return _described(first, options)
    if not is_name(first) or options.name is not None:
        evidence = "--name goes with a server.json" if is_name(first) else f"a name is {NAME_RULE}"
        raise UsageError(f"{first!r} cannot be the name of a server here", evidence=evidence, fix=_FORMS)
    if options.source is not None:
        raise UsageError("--from goes with a server.json", fix=_FORMS)
    if len(rest) == 1 and rest[0].endswith(".json"):
        raise UsageError(
            f"{rest[0]} is no command", fix=f"for a server.json: `bascule add {rest[0]} --name {first}`; else {_FORMS}"
        )
    url = len(rest) == 1 and "://" in rest[0]
    return _remote(first, rest[0], options) if url else _process(first, rest, options)


def _process(name: str, argv: list[str], options: argparse.Namespace) -> Wanted:
    if options.header:
        raise UsageError("--header goes with a URL", fix="give a command its credentials with --env NAME")
    _refuse_credentials(argv[1:])
    entry: JsonObject = {"command": argv[0]}
    entry |= {"args": argv[1:]} if argv[1:] else {}
    env = dict(_variable(each) for each in options.env)
    entry |= {"env": env} if env else {}
    return Wanted(name, entry, _needs_of(entry))


def _remote(name: str, url: str, options: argparse.Namespace) -> Wanted:
    if options.env:
        raise UsageError(
            "--env goes with a command", fix="give a URL its credentials with --header 'NAME: ${VARIABLE}'"
        )
    headers = dict(_header(each) for each in options.header)
    entry: JsonObject = {"url": url} | ({"headers": headers} if headers else {})
    return Wanted(name, entry, _needs_of(entry))


def _described(source: str, options: argparse.Namespace) -> Wanted:
    from bascule.config.names import NAME_RULE, is_name  # noqa: PLC0415 -- as above

    if options.env or options.header:
        raise UsageError("a server.json says itself which variables and headers there are", fix=_FORMS)
    described: Described = read_server_json(_read(source), options.name)
    if not is_name(described.name):
        raise UsageError(f"{described.name!r} cannot be the name of a server", evidence=f"a name is {NAME_RULE}")
    plan = described.choose(options.source)
    _refuse_credentials([str(word) for word in plan.entry.get("args", ())])
    other = tuple(f"{each.kind}: {each.what}" for each in described.plans if each is not plan)
    return Wanted(described.name, plan.entry, _once(plan.needs), plan.warnings, plan.notes, (*other, *described.unmet))


def _read(source: str) -> bytes:
    from bascule.files.regular_file import read_regular  # noqa: PLC0415 -- as above

    try:
        data = sys.stdin.buffer.read(MAX_FILE + 1) if source == STDIN else read_regular(source, MAX_FILE + 1)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or type(error).__name__}", fix=_FORMS) from error
    if len(data) > MAX_FILE:
        raise UsageError(f"{source} is larger than {MAX_FILE} bytes, and no server.json")
    return data


def _refuse_credentials(args: list[str]) -> None:
    from bascule.config.credential_detection import ADVICE, credentials_in  # noqa: PLC0415 -- as above

    for index, reason in credentials_in(args):
        raise UsageError(
            f"argument {index + 1} of the command looks like a credential ({reason}); {ADVICE}",
            fix="put it into a variable, and name that: bascule add NAME --env TOKEN -- COMMAND …",
        )


def _variable(text: str) -> tuple[str, str]:
    """`NAME` for a variable of ours that is passed on, `NAME=VALUE` for one with this value."""
    from bascule.config.credential_detection import names_credential  # noqa: PLC0415 -- as above

    name, given, value = text.partition("=")
    if not given:
        return name, f"${{{name}}}"
    if names_credential(name) and "$" not in value:
        raise UsageError(
            f"the value of {name} would stand in the file for everyone to read",
            fix=f"set {name}, and pass --env {name}",
        )
    return name, value


def _header(text: str) -> tuple[str, str]:
    from bascule.config.credential_detection import credentials_in  # noqa: PLC0415 -- as above

    name, given, value = (part.strip() for part in text.partition(":"))
    if not given or not name:
        raise UsageError(f"{text.partition(':')[0]!r} is no header", fix="write --header 'NAME: VALUE'")
    if [*credentials_in(["-H", f"{name}: {value}"])]:
        fix = f"put it into a variable, and name that: --header '{name}: ${{VARIABLE}}'"
        raise UsageError(f"the value of {name} would stand in the file for everyone to read", fix=fix)
    return name, value


def _needs_of(entry: JsonObject) -> tuple[Need, ...]:
    from bascule.config.editing.add_server import variables_in  # noqa: PLC0415 -- as above

    return tuple(Need(name, needed=needed) for name, needed in variables_in(entry).items())


def _once(needs: tuple[Need, ...]) -> tuple[Need, ...]:
    return tuple({need.name: need for need in needs}.values())


def warnings(wanted: Wanted) -> list[tuple[str, str]]:
    """What is worth a second look, each with what to do about it."""
    from bascule.cli.mcp_registry.pinning import unpinned  # noqa: PLC0415 -- as above

    entry = wanted.entry
    found = unpinned([entry["command"], *entry.get("args", ())]) if "command" in entry else None
    return [*([found] if found is not None else []), *((warning, "") for warning in wanted.warnings)]


def is_set(need: Need) -> bool:
    return bool(os.environ.get(need.name))


def lines(wanted: Wanted, added: "Addition", *, written: bool) -> list[str]:
    """What was done, and what is to be done."""
    deed = "replaced in" if added.replaced else "added to"
    told = [f"{wanted.name} {'was' if written else 'would be'} {deed} {added.path}:", *_indented(added.shown)]
    for message, fix in warnings(wanted):
        told += [f"warning: {message}", *([f"  fix: {fix}"] if fix else [])]
    told += [f"note: {note}" for note in wanted.notes]
    told += [_need_line(need) for need in wanted.needs]
    if wanted.other:
        told += ["also described, and not taken:", *(f"  {each}" for each in wanted.other)]
    if written:
        told.append(f"next: bascule list{_config_option(added.path)}")
    return told


def _need_line(need: Need) -> str:
    state = "is set" if is_set(need) else "must be set" if need.needed else "may be set"
    default = f" (default: {need.default})" if need.default is not None else ""
    described = f": {need.description}" if need.description else ""
    return f"{need.name} {state}{default}{described}"


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.rstrip("\n").split("\n")]


def _config_option(path: Path) -> str:
    """How the next command finds the same file."""
    from bascule.config.locate import find  # noqa: PLC0415 -- as above

    return "" if find(None, os.environ) == path else f" --config {shlex.quote(str(path))}"


def as_shape(wanted: Wanted, added: "Addition", *, written: bool) -> "AddShape":
    return {
        "name": wanted.name,
        "file": str(added.path),
        "written": written,
        "replaced": added.replaced,
        "entry": wanted.entry,
        "needs": [
            {
                "name": need.name,
                "description": need.description,
                "required": need.needed,
                "secret": need.secret,
                "default": need.default,
                "set": is_set(need),
            }
            for need in wanted.needs
        ],
        "warnings": [{"message": message, "fix": fix} for message, fix in warnings(wanted)],
        "notes": [*wanted.notes],
        "other": [*wanted.other],
    }
