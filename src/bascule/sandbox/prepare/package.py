"""A package that a command fetches before it runs, as data; or why such a command is run as it is."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["npm", "python"]

_EXACT_NPM = re.compile(r".+@\d+\.\d+\.\d+[\w.+-]*")
_EXACT_PYTHON = re.compile(r"[^=<>!~]+===?\s*[\w.!+-]+")
_FILE = ("file://", "file:")


@dataclass(frozen=True, slots=True)
class Package:
    """What a fetching command asks for. All of it is the command's own: nothing was looked up."""

    kind: Kind
    specs: tuple[str, ...]
    """What is installed, as npm or pip take it. The first one brings the program."""
    binary: str | None
    """The program's name. None: the only one that the package has, or the one that is called like it."""
    arguments: tuple[str, ...]
    """What the program is given."""
    runner: str = "npx"
    """Whose command it is: npx, uvx, pipx, …"""
    options: tuple[str, ...] = ()
    """What the command says on how to fetch, to be said to whoever fetches."""
    python: str | None = None
    """The interpreter that is asked for, as a version or a path."""

    @property
    def pinned(self) -> bool:
        """Whether it names exact versions. Else what is fetched is what was newest on that day."""
        exact = _EXACT_NPM if self.kind == "npm" else _EXACT_PYTHON
        return all(exact.fullmatch(spec) or local_file(spec) for spec in self.specs)

    @property
    def files(self) -> tuple[str, ...]:
        """Packages that lie on this machine."""
        return tuple(path for path in map(local_file, self.specs) if path is not None)

    @property
    def described(self) -> str:
        return " ".join(self.specs)


@dataclass(frozen=True, slots=True)
class Unprepared:
    """A command that fetches, yet is run as it is: why. It may need a network to start."""

    reason: str


def local_file(spec: str) -> str | None:
    """The path of a package that is a file of this machine."""
    path = next((spec.removeprefix(each) for each in _FILE if spec.startswith(each)), spec)
    return path if path.startswith("/") else None
