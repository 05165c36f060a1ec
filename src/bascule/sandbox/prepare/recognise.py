"""Recognition of commands that fetch a package (npx, uvx, pipx), with the tables of their options. A command with an
unknown option is run unchanged: the option may change the program, and the fetch then needs a network."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath

from bascule.sandbox.prepare.package import (
    Kind,
    NotUnderstood,
    Package,
    Unprepared,
    has_credentials,
    npm_spec,
    python_spec,
)


class Meaning(Enum):
    """What is made of an option."""

    PACKAGE = "the package that brings the program"
    MORE = "one more package beside it"
    PYTHON = "which interpreter"
    SAID_ON = "said to who fetches"
    SAID_ON_WITH_VALUE = "said to who fetches, with its value"
    PASSED_OVER = "of no consequence for what is run"
    PASSED_OVER_WITH_VALUE = "of no consequence, and so is its value"

    @property
    def with_value(self) -> bool:
        return self not in {Meaning.SAID_ON, Meaning.PASSED_OVER}


class Table:
    """Options by their names. A text in place of a meaning says why a command with it is run as it is."""

    __slots__ = ("_meanings", "_short")

    def __init__(self, meanings: Mapping[str, Meaning | str], short: Mapping[str, str]) -> None:
        self._meanings = meanings
        self._short = short

    def get(self, name: str) -> Meaning | str | None:
        return self._meanings.get(self.long(name))

    def long(self, name: str) -> str:
        return self._short.get(name, name)


_SHELL = "runs a line of shell"
_OF_A_PROJECT = "speaks of a project in a folder, which is not ours to change"
_FILE = "names a file, which a box that fetches does not see"
_NOTHING_FETCHED = "forbids to fetch"
_OTHER_CONFIG = "names another configuration"
_RUNS_OTHERWISE = "changes how the program is run"

_PASSED_OVER = Meaning.PASSED_OVER
_SAID_ON = Meaning.SAID_ON
_VALUE = Meaning.SAID_ON_WITH_VALUE

NPM = Table(
    {
        "--package": Meaning.PACKAGE,
        "--yes": _PASSED_OVER,
        "--quiet": _PASSED_OVER,
        "--silent": _PASSED_OVER,
        "--verbose": _PASSED_OVER,
        "--prefer-online": _PASSED_OVER,
        "--prefer-offline": _PASSED_OVER,
        "--no-audit": _PASSED_OVER,
        "--no-fund": _PASSED_OVER,
        "--no-update-notifier": _PASSED_OVER,
        "--loglevel": Meaning.PASSED_OVER_WITH_VALUE,
        "--cache": Meaning.PASSED_OVER_WITH_VALUE,
        "--registry": _VALUE,
        "--ignore-scripts": _SAID_ON,
        "--legacy-peer-deps": _SAID_ON,
        "--force": _SAID_ON,
        "--omit": _VALUE,
        "--call": _SHELL,
        "--shell-mode": _SHELL,
        "--shell": _SHELL,
        "--workspace": _OF_A_PROJECT,
        "--workspaces": _OF_A_PROJECT,
        "--prefix": _OF_A_PROJECT,
        "--no": _NOTHING_FETCHED,
        "--no-install": _NOTHING_FETCHED,
        "--offline": _NOTHING_FETCHED,
        "--userconfig": _OTHER_CONFIG,
        "--globalconfig": _OTHER_CONFIG,
        "--node-options": _RUNS_OTHERWISE,
        "--bun": _RUNS_OTHERWISE,
    },
    {"-p": "--package", "-y": "--yes", "-q": "--quiet", "-s": "--silent", "-c": "--call", "-w": "--workspace"},
)

UV = Table(
    {
        "--from": Meaning.PACKAGE,
        "--with": Meaning.MORE,
        "--python": Meaning.PYTHON,
        "--isolated": _PASSED_OVER,
        "--quiet": _PASSED_OVER,
        "--verbose": _PASSED_OVER,
        "--no-cache": _PASSED_OVER,
        "--refresh": _PASSED_OVER,
        "--reinstall": _PASSED_OVER,
        "--upgrade": _PASSED_OVER,
        "--no-progress": _PASSED_OVER,
        "--no-python-downloads": _PASSED_OVER,
        "--no-managed-python": _PASSED_OVER,
        "--no-env-file": _PASSED_OVER,
        "--compile-bytecode": _PASSED_OVER,
        "--system-certs": _PASSED_OVER,
        "--native-tls": _PASSED_OVER,
        "--cache-dir": Meaning.PASSED_OVER_WITH_VALUE,
        "--link-mode": Meaning.PASSED_OVER_WITH_VALUE,
        "--color": Meaning.PASSED_OVER_WITH_VALUE,
        "--refresh-package": Meaning.PASSED_OVER_WITH_VALUE,
        "--index": _VALUE,
        "--default-index": _VALUE,
        "--index-url": _VALUE,
        "--extra-index-url": _VALUE,
        "--find-links": _VALUE,
        "--no-index": _SAID_ON,
        "--index-strategy": _VALUE,
        "--prerelease": _VALUE,
        "--resolution": _VALUE,
        "--exclude-newer": _VALUE,
        "--no-build": _SAID_ON,
        "--with-requirements": _FILE,
        "--constraints": _FILE,
        "--build-constraints": _FILE,
        "--overrides": _FILE,
        "--env-file": _RUNS_OTHERWISE,
        "--with-editable": _OF_A_PROJECT,
        "--directory": _OF_A_PROJECT,
        "--project": _OF_A_PROJECT,
        "--offline": _NOTHING_FETCHED,
        "--config-file": _OTHER_CONFIG,
        "--no-config": _OTHER_CONFIG,
    },
    {
        "-w": "--with",
        "-p": "--python",
        "-q": "--quiet",
        "-v": "--verbose",
        "-n": "--no-cache",
        "-U": "--upgrade",
        "-i": "--index-url",
        "-f": "--find-links",
        "-c": "--constraints",
        "-b": "--build-constraints",
        "--constraint": "--constraints",
        "--no-cache-dir": "--no-cache",
    },
)

PIPX = Table(
    {
        "--spec": Meaning.PACKAGE,
        "--with": Meaning.MORE,
        "--python": Meaning.PYTHON,
        "--no-cache": _PASSED_OVER,
        "--quiet": _PASSED_OVER,
        "--verbose": _PASSED_OVER,
        "--index-url": _VALUE,
        "--pip-args": "is for pip alone, and may say anything to it",
        "--editable": _OF_A_PROJECT,
        "--path": _FILE,
        "--pypackages": _OF_A_PROJECT,
        "--system-site-packages": "mixes the package with those of this machine",
        "--fetch-missing-python": "fetches an interpreter",
    },
    {"-i": "--index-url", "-q": "--quiet", "-v": "--verbose", "-e": "--editable"},
)


@dataclass(frozen=True, slots=True)
class _Runner:
    """One way to say *fetch and run*: the words behind the program's name, and what its options mean."""

    program: str
    words: tuple[str, ...]
    table: Table
    kind: Kind
    separated: bool = False
    """Whether it takes every option for its own up to a `--`."""


_RUNNERS = (
    _Runner("npx", (), NPM, "npm"),
    _Runner("npm", ("exec",), NPM, "npm", separated=True),
    _Runner("npm", ("x",), NPM, "npm", separated=True),
    _Runner("pnpx", (), NPM, "npm"),
    _Runner("pnpm", ("dlx",), NPM, "npm"),
    _Runner("yarn", ("dlx",), NPM, "npm"),
    _Runner("bunx", (), NPM, "npm"),
    _Runner("bun", ("x",), NPM, "npm"),
    _Runner("uvx", (), UV, "python"),
    _Runner("uv", ("tool", "run"), UV, "python"),
    _Runner("pipx", ("run",), PIPX, "python"),
)

_ENDINGS = (".cmd", ".exe", ".ps1")
"""What Windows adds to the names of these programs: configs are passed around."""

_SCOPE = re.compile(r"--@[\w.~-]+:registry")
_PLAIN = re.compile(r"[A-Za-z0-9_@][\w.@+-]*")

_PROJECT = Unprepared(
    "`uv run` runs a project in its own folder: run `uv sync` there, and name the program in its .venv/bin"
)


@dataclass(slots=True)
class _Asked:
    """What the options of a command have said so far."""

    packages: list[str] = field(default_factory=list[str])
    more: list[str] = field(default_factory=list[str])
    options: list[str] = field(default_factory=list[str])
    python: str | None = None
    separated: bool = False

    def take(self, name: str, meaning: Meaning, value: str) -> None:
        match meaning:
            case Meaning.PACKAGE:
                self.packages.append(value)
            case Meaning.MORE:
                self.more.append(value)
            case Meaning.PYTHON:
                self.python = value
            case Meaning.SAID_ON:
                self.options.append(name)
            case Meaning.SAID_ON_WITH_VALUE:
                self.options.append(f"{name}={value}")
            case Meaning.PASSED_OVER | Meaning.PASSED_OVER_WITH_VALUE:
                pass


def recognise(argv: Sequence[str]) -> Package | Unprepared | None:
    """What a command fetches. None if it is none that fetches."""
    if not argv:
        return None
    program, words = _name(argv[0]), tuple(argv[1:])
    for runner in _RUNNERS:
        asked = _Asked()
        if runner.program != program:
            continue
        try:
            behind = _behind_words(runner, words, asked)
            if behind is not None:
                return _package(runner, asked, behind)
        except NotUnderstood as reason:
            return Unprepared(str(reason))
    return _PROJECT if program == "uv" and "run" in words else None


def _name(program: str) -> str:
    name = PurePath(program.replace("\\", "/")).name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _behind_words(runner: _Runner, words: tuple[str, ...], asked: _Asked) -> tuple[str, ...] | None:
    """What stands behind `dlx`, or the like. None where that is not there."""
    if not runner.words:
        return words
    if not set(runner.words) <= set(words):
        return None
    behind = _options(runner.table, words, asked)
    return behind[len(runner.words) :] if behind[: len(runner.words)] == runner.words else None


def _options(table: Table, words: tuple[str, ...], asked: _Asked) -> tuple[str, ...]:
    """What stands behind the options."""
    while words and words[0].startswith("-"):
        word, words = words[0], words[1:]
        if word == "--":
            asked.separated = True
            break
        name, given, value = word.partition("=")
        meaning = _meaning(name, table)
        if meaning.with_value and not given:
            value, words = (words[0], words[1:]) if words else ("", ())
        if meaning.with_value is not bool(value) and value != "true":
            raise NotUnderstood(f"its option {name} is not understood as {word}")
        if has_credentials(value):
            raise NotUnderstood(f"its option {name} carries a password, which a box that fetches does not get")
        asked.take(table.long(name), meaning, value)
    return words


def _meaning(name: str, table: Table) -> Meaning:
    if table is NPM and _SCOPE.fullmatch(name):
        return Meaning.SAID_ON_WITH_VALUE
    meaning = table.get(name)
    if meaning is None:
        raise NotUnderstood(f"what its option {name} means for a fetched package is not known")
    if isinstance(meaning, str):
        raise NotUnderstood(f"its option {name} {meaning}")
    return meaning


def _package(runner: _Runner, asked: _Asked, words: tuple[str, ...]) -> Package:
    rest = _options(runner.table, words, asked)
    if runner.separated and not asked.separated:
        said = " ".join((runner.program, *runner.words))
        raise NotUnderstood(f"`{said}` takes every option for its own, unless `--` stands before the package")
    if not rest:
        raise NotUnderstood("it names no program to run")
    specs, binary = (_npm if runner.kind == "npm" else _python)(asked, rest[0])
    if binary is not None and not _PLAIN.fullmatch(binary):
        raise NotUnderstood(f"{rest[0]} does not say which program of the package is to be run")
    return Package(runner.kind, specs, binary, rest[1:], runner.program, tuple(asked.options), asked.python)


def _npm(asked: _Asked, named: str) -> tuple[tuple[str, ...], str | None]:
    if asked.packages:
        return tuple(map(npm_spec, asked.packages)), named
    return (npm_spec(named),), None


def _python(asked: _Asked, named: str) -> tuple[tuple[str, ...], str]:
    more = tuple(python_spec(each).text for each in asked.more)
    if asked.packages:
        return (*(python_spec(each).text for each in asked.packages), *more), named
    package = python_spec(named)
    if package.name == "python":
        raise NotUnderstood("it runs the interpreter itself, and no package")
    return (package.text, *more), package.name or ""
