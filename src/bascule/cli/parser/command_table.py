"""Command table: group, name, summary and module of every command, and the parser that is made from it."""

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from bascule.cli.parser.grammar import Parser


class Command(NamedTuple):
    """One command. Its module has `add_options(command)` and `run(options)`."""

    name: str
    summary: str
    module: str
    """Below `bascule.cli`. Imported only if the command is named: `bascule --help` has to be instant."""


GROUPS: dict[str, tuple[Command, ...]] = {
    "start here": (
        Command("demo", "watch an agent read private data, work on, and fail to leak it", "commands.demo"),
        Command("add", "write a server into the config", "commands.add"),
        Command("import", "take over the servers that other programs have configured", "commands.import_"),
        Command("list", "list the tools of every server, and how each server stands", "commands.list"),
        Command("call", "call one tool, under the same rules as an agent", "commands.call"),
        Command("doctor", "check everything, and say how to mend what is wrong", "doctor.command"),
        Command("explain", "explain an error by its code, and how to mend it", "commands.explain"),
    ),
    "every day": (
        Command("up", "link to every server, show how each stands, follow edits", "serve.up"),
        Command("inspect", "show all that is known of a server or a tool", "commands.inspect"),
        Command("read", "read one resource", "commands.read"),
        Command("prompt", "fill in one prompt", "commands.prompt"),
        Command("approve", "look at new and changed tools, and lock them as they are", "commands.approve"),
        Command("login", "log in at a remote server", "commands.login"),
        Command("logout", "forget the login at a remote server", "commands.logout"),
        Command("logs", "show what a server said on stderr, and how its links fared", "commands.logs"),
        Command("stubs", "write the tools as a typed Python module, for an editor", "commands.stubs"),
        Command("snippet", "print a program that uses the tools in a framework", "commands.snippet"),
    ),
    "operate": (
        Command("serve", "serve every server of the config at one MCP endpoint", "serve.command"),
        Command("sessions", "show how private agent sessions are; raise, lower or end one", "commands.sessions"),
        Command("audit", "show what was done, verify that nobody changed the log", "commands.audit"),
        Command("sandbox", "list and end boxes; serve commands and files in one", "commands.sandbox"),
    ),
    "build servers": (
        Command("new", "write a working server of your own, to begin with", "commands.new"),
        Command("run", "serve a server of your own, as the config describes it", "commands.run"),
        Command("token", "mint a short-lived token to try out a server of your own", "commands.token"),
    ),
    "this command": (
        Command("completion", "print what makes a shell complete our words", "commands.completion"),
        Command("help", "show what a command does and takes, with examples", "commands.help"),
    ),
}
"""The commands of each group, in the order of `--help`. A new command is a row here and its module."""

COMMANDS = {command.name: command for commands in GROUPS.values() for command in commands}

EXIT_CODES = {
    0: "ok",
    1: "the tool failed",
    2: "config or usage",
    3: "not reachable",
    4: "denied",
    130: "aborted",
}


def module_of(name: str) -> ModuleType:
    return import_module(f"bascule.cli.{COMMANDS[name].module}")


def build_parser(argv: Iterable[str] | None = None) -> Parser:
    """The parser of the whole command line. Given `argv`, only the command named there has its options: those of the
    others would take their modules, and with them most of Bascule."""
    codes = [f"{code} {told}" for code, told in EXIT_CODES.items()]
    told = f"exit codes: {' · '.join(codes[:3])}\n            {' · '.join(codes[3:])}"
    parser = Parser(
        prog="bascule",
        description="A governed MCP runtime for agents:\nevery server behind one policy, every call on one path.",
        epilog=f"`bascule help COMMAND` shows one of them, with examples.\n\n{told}",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.has_words("command")
    parser.groups = {title: [command.name for command in commands] for title, commands in GROUPS.items()}
    for command in COMMANDS.values():
        parser.word(command.name, command.summary)
    for name in COMMANDS if argv is None else _named(argv):
        module_of(name).add_options(parser.words[name])
    return parser


def _named(argv: Iterable[str]) -> list[str]:
    """The command of a command line: no option that may precede it has a value, so it is the first word that fits."""
    return [word for word in argv if word in COMMANDS][:1]
