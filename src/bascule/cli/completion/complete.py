"""Completion of a command line: candidates for the word at the cursor, one per line. Starts no server and imports
nothing of MCP, so that a TAB stays fast."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bascule.cli.parser.command_table import build_parser
from bascule.cli.parser.grammar import Parser

FILES, FOLDERS = ":files", ":folders"
"""What a shell is told to complete by itself."""

_PLACES = {"FILE": FILES, "PATH": FILES, "NAME|FILE": FILES, "COMMAND|URL": FILES, "DIR": FOLDERS, "FOLDER": FOLDERS}
"""What an argument's word in the help says of its kind. What is not here, and no name of a server or tool, is free."""


@dataclass(slots=True)
class Position:
    """Where a line has come to: the command, how many of its arguments were given, and which options."""

    parser: Parser
    taken: int = 0
    given: list[argparse.Action] = field(default_factory=list[argparse.Action])
    pending: argparse.Action | None = None
    """An option whose value comes next."""
    only_words: bool = False
    """After `--`."""
    config: str | None = None

    def step(self, word: str) -> None:
        if self.pending is not None:
            self._note(self.pending, word)
            self.pending = None
        elif word == "--" and not self.only_words:
            self.only_words = True
        elif word.startswith("-") and not self.only_words:
            self._option(word)
        elif word in self.parser.words and not self.only_words:
            self.parser, self.taken, self.given = self.parser.words[word], 0, []
        else:
            self.taken += 1

    def _option(self, word: str) -> None:
        name, equals, value = word.partition("=")
        action = next((each for each in self.parser.settings if name in each.option_strings), None)
        if action is None:
            return
        self.given.append(action)
        if equals:
            self._note(action, value)
        elif action.nargs != 0:
            self.pending = action

    def _note(self, action: argparse.Action, value: str) -> None:
        if action.dest == "config":
            self.config = value

    def argument(self) -> argparse.Action | None:
        """The argument that comes next."""
        arguments = [action for action in self.parser.settings if not action.option_strings]
        if self.taken < len(arguments):
            return arguments[self.taken]
        return arguments[-1] if arguments and arguments[-1].nargs in {"*", "+"} else None


Answer = tuple[str, str]
"""A word, and what it is."""


def answers(parser: Parser, words: Sequence[str]) -> Iterator[Answer]:
    """What could stand in place of the last of these words. Those before it are as they are."""
    *before, current = joined(words) or [""]
    at = Position(parser)
    for word in before:
        at.step(word)
    name, equals, value = current.partition("=")
    if equals and name.startswith("--") and not at.only_words:
        at.step(name)
        if at.pending is not None:
            found = _values(at, at.pending, value)
            # Bash takes what stands behind the equals sign for a word of its own.
            yield from _fitting(found, value) if "=" in words else _fitting(_behind(found, name), current)
        return
    yield from _fitting(_possible(at, current), current)


def joined(words: Sequence[str]) -> list[str]:
    """Words as they were typed: Bash takes equals signs for words of their own."""
    put: list[str] = []
    glue = False
    for word in words:
        if (word == "=" or glue) and put and put[-1].startswith("--"):
            put[-1] += word
        else:
            put.append(word)
        glue = word == "="
    return put


def _possible(at: Position, current: str) -> Iterator[Answer]:
    if at.pending is not None:
        yield from _values(at, at.pending, current)
        return
    if current.startswith("-") and not at.only_words:
        yield from _options(at)
        return
    if not at.only_words:
        yield from ((name, at.parser.summaries[name]) for name in at.parser.words)
    argument = at.argument()
    if argument is not None:
        yield from _values(at, argument, current)


def _options(at: Position) -> Iterator[Answer]:
    for action in at.parser.settings:
        again = action not in at.given or isinstance(action.default, list)
        if again and action.option_strings and action.help != argparse.SUPPRESS:
            yield action.option_strings[-1], action.help or ""


def _values(at: Position, action: argparse.Action, current: str) -> Iterable[Answer]:
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    word = str(action.metavar)
    if word in _PLACES:
        return [(_PLACES[word], "")]
    if action.dest == "words" and at.parser.prog.endswith(" help"):
        return []
    from bascule.cli.completion.names import names_for  # noqa: PLC0415 -- not for what the parser alone knows

    return names_for(word, at.config, current)


def _behind(found: Iterable[Answer], name: str) -> Iterator[Answer]:
    return ((word if word.startswith(":") else f"{name}={word}", told) for word, told in found)


def _fitting(found: Iterable[Answer], current: str) -> Iterator[Answer]:
    return ((word, told) for word, told in found if word.startswith((current, ":")))


def tell(words: Sequence[str]) -> int:
    """Print the answers to a shell. The first word is the name of the shell."""
    shell, *typed = words
    if typed[:1] == ["help"]:
        # Its words are those that it explains.
        typed = typed[1:]
    for word, told in answers(build_parser(typed), typed):
        print(f"{word}\t{told}" if shell != "bash" and told else word)
    return 0
