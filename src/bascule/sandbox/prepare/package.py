"""Package that a command fetches before it runs, parsed from npm and pip specifiers; or the reason to run the command
unchanged."""

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


_NPM_NAME = re.compile(r"(@[a-z0-9~_-][\w.~-]*/)?[a-zA-Z0-9~_-][\w.~-]*(@[^/\s@][^\s]*)?")
_GITHUB = re.compile(r"(github:|gitlab:|bitbucket:)?[\w.-]+/[\w.-]+(#[^\s]+)?")
_PYTHON = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?P<extras>\[[\w\s.,-]*\])?\s*(?P<rest>([=<>!~;(@].*)?)"
)
_AUTHORITY_ENDS = re.compile(r"[/?#\\]")
_REMOTE = ("https://", "http://", "git+https://", "git://")
_NPM_FILES = (".tgz", ".tar.gz", ".tar")
_PYTHON_FILES = (".whl", ".tar.gz", ".zip")

_LOCKED = (
    "its package's address carries a password, which a box that fetches does not get: install the package yourself, "
    "and name its program as the command"
)
_KEY = "its package is fetched with a key of yours, which a box that fetches does not get"
_FOLDER = "its package is a folder of this machine: install it there, and name its program"


class NotUnderstood(Exception):
    """A package that cannot be fetched in another's stead. The text says why."""


@dataclass(frozen=True, slots=True)
class PythonSpec:
    """A requirement as pip takes it."""

    text: str
    name: str | None
    """The package's, where the text says it."""


def npm_spec(text: str) -> str:
    _check(text, _NPM_FILES)
    if local_file(text) or text.startswith(_REMOTE) or _NPM_NAME.fullmatch(text) or _GITHUB.fullmatch(text):
        return text
    raise NotUnderstood(f"{text} is not understood as the name of a package")


def python_spec(text: str) -> PythonSpec:
    """uv writes `name@1.2` and `name@latest` for what pip calls `name==1.2` and `name`."""
    _check(text, _PYTHON_FILES)
    if local_file(text) or text.startswith(_REMOTE):
        return PythonSpec(text, None)
    found = _PYTHON.fullmatch(text)
    if found is None or text.endswith(".py"):
        raise NotUnderstood(f"{text} is not understood as the name of a package")
    name, rest = found["name"], found["rest"]
    if not rest.startswith("@"):
        return PythonSpec(text, name)
    version, plain = rest[1:].strip(), f"{name}{found['extras'] or ''}"
    if version == "latest":
        return PythonSpec(plain, name)
    if version[:1].isdigit():
        return PythonSpec(f"{plain}=={version}", name)
    # An address.
    return PythonSpec(f"{plain} @ {python_spec(version).text}", name)


def has_credentials(text: str) -> bool:
    """Whether an address in a text names a user or a password."""
    return any("@" in _AUTHORITY_ENDS.split(word.partition("://")[2], maxsplit=1)[0] for word in text.split())


def _check(text: str, files: tuple[str, ...]) -> None:
    path = local_file(text)
    if has_credentials(text):
        raise NotUnderstood(_LOCKED)
    if "ssh://" in text or text.startswith("git@"):
        raise NotUnderstood(_KEY)
    if path is not None and not path.endswith(files):
        raise NotUnderstood(_FOLDER)
    if text.startswith(("./", "../", "~", "-")) or text in {".", ".."} or (path is None and text.startswith("file:")):
        raise NotUnderstood(f"{text} depends on the folder it is said in: give the whole path of a packed package")
