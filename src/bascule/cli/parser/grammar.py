"""Grammar of the command line on top of argparse: groups of commands, examples in the help, the nearest valid word for
a wrong one. Imports only the standard library: `--help` has to be instant."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, NoReturn

_CHOICE = re.compile(r"argument (?P<of>\S+): invalid choice: '(?P<word>[^']*)'")
_VALUE = re.compile(r"argument (?P<of>\S+): invalid (?P<kind>\w+) value: (?P<word>.*)", re.DOTALL)
_MISSING = re.compile(r"the following arguments are required: (?P<names>.*)", re.DOTALL)
_LEFT = re.compile(r"unrecognized arguments: (?P<words>.*)", re.DOTALL)

_DEEP = " " * 6
_GAP = re.compile(r" {2,}")

_TAKEN = {"seconds": "a number of seconds above 0", "count": "a whole number, 0 or more", "int": "a whole number"}
"""What an option takes, by the name of what reads it."""

_SHOWN = {"command": "COMMAND", "deed": "SUBCOMMAND"}
"""What stands for it in usage lines."""

_OTHER_WORDS = {
    "check": "doctor",
    "config": "doctor",
    "connect": "up",
    "create": "new",
    "describe": "inspect",
    "exec": "call",
    "get": "read",
    "init": "new",
    "install": "add",
    "invoke": "call",
    "lock": "approve",
    "log": "logs",
    "ls": "list",
    "remove": "rm",
    "resources": "list",
    "servers": "list",
    "show": "inspect",
    "start": "up",
    "status": "up",
    "tools": "list",
}
"""What other programs call what ours do."""

_BY_HAND = dict.fromkeys(
    ("delete", "remove", "rm", "uninstall"), "to remove a server, take its entry out of the config; "
)
"""What has no command here, and how it is done."""


class WrongWords(SystemExit):
    """The words of a command line do not make a command. Raised where argparse would print and exit."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(2)
        self.message = message
        self.fix = fix


class Parser(argparse.ArgumentParser):
    """A command, or the whole line. Knows its words, so that it can tell which one was meant."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.examples: list[tuple[str, ...]] = []
        """Commands, each perhaps with what it is for."""
        self.groups: dict[str, list[str]] = {}
        """The names of the commands by the title of their group."""
        self.words: dict[str, Parser] = {}
        """The commands, or the sub-commands of one, by name."""
        self.summaries: dict[str, str] = {}
        self.exits: dict[int, str] = {}
        """What an exit code says of this command, where it says more than it does of all."""
        self.needs_word = False
        """Whether one of these words must follow."""
        self._adding: Any = None
        # An option is written out: what a short form stands for would change with every option that is added.
        kwargs = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False, **kwargs}
        super().__init__(*args, **kwargs)

    @property
    def settings(self) -> list[argparse.Action]:
        """The options and arguments, in their order, those of groups that exclude each other too."""
        return [action for action in self._actions if action.nargs != argparse.PARSER]

    def has_words(self, kind: str, *, required: bool = False) -> None:
        """What comes next is a word with options of its own: a `command`, or the `deed` of one."""
        self.needs_word = required
        self._adding = self.add_subparsers(dest=kind, metavar=_SHOWN[kind], required=required)

    def word(self, name: str, summary: str) -> "Parser":
        """Adds a command, or a sub-command, and returns its parser."""
        added: Parser = self._adding.add_parser(name, description=f"{summary[0].upper()}{summary[1:]}.")
        self.words[name], self.summaries[name] = added, summary
        return added

    def document(self, examples: str, exits: Mapping[int, str] | None = None) -> "Parser":
        """Sets examples and exit codes of the help. A line of `examples` is a command, perhaps a gap and its use."""
        self.examples = [tuple(_GAP.split(line.strip(), maxsplit=1)) for line in examples.splitlines()]
        self.exits = {**(exits or {})}
        return self

    def chosen(self, options: argparse.Namespace) -> "Parser":
        """The innermost command that was named."""
        parser = self
        for name in (getattr(options, "command", None), getattr(options, "deed", None)):
            parser = parser.words.get(name or "", parser)
        return parser

    def refuse_left(self, left: Sequence[str]) -> NoReturn:
        """Words that nobody takes."""
        option = next((word for word in left if word.startswith("-")), None)
        if option is None:
            raise self.wrong(f"{self.prog} does not take {' '.join(left)!r}")
        name = option.partition("=")[0]
        known = [string for action in self.settings for string in action.option_strings]
        raise self.wrong(f"{self.prog} has no option {name}", likely(name, known))

    def no_such(self, word: str) -> WrongWords:
        """There is no command, or no sub-command, of this name."""
        kind = "command" if self.groups else "sub-command"
        if self.groups and word in _BY_HAND:
            return self._told(f"there is no command {word!r}", _BY_HAND[word])
        return self.wrong(f"there is no {kind} {word!r}", [f"{self.prog} {each}" for each in likely(word, self.words)])

    def error(self, message: str) -> NoReturn:
        """What argparse has to say, in our words. What it says otherwise is told as it is."""
        if found := _CHOICE.match(message):
            raise self._not_a_choice(found["of"], found["word"])
        if found := _VALUE.match(message):
            taken = _TAKEN.get(found["kind"], "")
            raise self.wrong(f"{found['of']} cannot be {found['word']}{taken and f'; it takes {taken}'}")
        if found := _MISSING.match(message):
            raise self._needs(found["names"].split(", "))
        if found := _LEFT.match(message):
            self.refuse_left(found["words"].split())
        raise self.wrong(message)

    def _needs(self, names: Sequence[str]) -> WrongWords:
        # Where something else is missing, argparse names what may be left out as well.
        optional = {str(action.metavar) for action in self.settings if action.nargs in {"*", "?"}}
        told = [name for name in names if name not in optional]
        choices = self._choices(told[0]) if len(told) == 1 else []
        one_of = f", one of {', '.join(choices)}" if choices else ""
        words = [*self.words] or [each[0].removeprefix(f"{self.prog} ") for each in self.examples[:1]]
        written = " or ".join(f"`{self.prog} {each}`" for each in words)
        lead = "write " if self.words else "write for example "
        return self._told(f"{self.prog} needs {', '.join(told)}{one_of}", f"{lead}{written}; " if words else "")

    def _not_a_choice(self, of: str, word: str) -> WrongWords:
        if self.words and of in _SHOWN.values():
            return self.no_such(word)
        choices = self._choices(of)
        return self.wrong(f"{of} cannot be {word!r}; it is one of {', '.join(choices)}", likely(word, choices))

    def _choices(self, of: str) -> list[str]:
        return [str(each) for action in self.settings if of in _names(action) for each in action.choices or ()]

    def wrong(self, message: str, near: Sequence[str] = ()) -> WrongWords:
        return self._told(message, f"did you mean {', or '.join(f'`{each}`' for each in near)}? " if near else "")

    def _told(self, message: str, meant: str) -> WrongWords:
        program, _, command = self.prog.partition(" ")
        shows = f"`{program} help {command}` shows how it is used" if command else f"`{program} help` shows them all"
        return WrongWords(message, meant + shows)

    def format_help(self) -> str:
        """As argparse does it; but commands stand in their groups, and before the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, actions in self._sections():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text("\n".join(self._example_lines()))
        formatter.add_text("\n".join(self._exit_lines()))
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        # Not left to the end of the process, where nobody can tell that the reader has gone.
        sys.stdout.flush()
        super().exit(status, message)

    def _example_lines(self) -> Iterator[str]:
        """What each is for stands beside it, or below where the terminal is too narrow for that."""
        if not self.examples:
            return
        yield "examples:"
        width = max((len(command) for command, *told in self.examples if told), default=0)
        fits = all(width + len("".join(told)) + 4 <= get_terminal_size().columns for _, *told in self.examples)
        for command, *told in self.examples:
            if told and fits:
                yield f"  {command:<{width}}  {told[0]}"
            else:
                yield f"  {command}"
                for each in told:
                    yield from wrap(
                        each, get_terminal_size().columns - 2, initial_indent=_DEEP, subsequent_indent=_DEEP
                    )

    def _exit_lines(self) -> Iterator[str]:
        if self.exits:
            yield "exit codes:"
        for code, told in self.exits.items():
            yield from wrap(told, get_terminal_size().columns, initial_indent=f"  {code:<5}", subsequent_indent=" " * 7)

    def _sections(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        if self.words and not self.groups:
            yield "sub-commands", self._named(self.words)
        for title, names in self.groups.items():
            yield title, self._named(names)
        yield "arguments", [action for action in self.settings if not action.option_strings]
        yield "options", [action for action in self.settings if action.option_strings]

    def _named(self, names: Iterable[str]) -> list[argparse.Action]:
        return [argparse.Action([], name, metavar=name, help=self.summaries[name]) for name in names]


def likely(word: str, known: Iterable[str]) -> list[str]:
    """The words that may have been meant."""
    from bascule.catalog.naming import nearest_names  # noqa: PLC0415 -- only where somebody erred

    known = [*known]
    other = _OTHER_WORDS.get(word.lower(), "")
    return [other] if other in known else [*nearest_names(word, known, 1)]


def _names(action: argparse.Action) -> set[str]:
    """What argparse calls it in its messages."""
    return {"/".join(action.option_strings), str(action.metavar), action.dest}
