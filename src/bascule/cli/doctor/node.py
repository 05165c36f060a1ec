"""Health check of Node.js: its version against the `engines` range of a server's package."""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from bascule.cli.doctor.check import Check, Insight
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.config.secret import reveal_all
from bascule.core.errors import SandboxError
from bascule.core.json_types import as_object, as_text
from bascule.files.regular_file import read_regular
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.recognise import recognise
from bascule.sandbox.process.child import Command, find_program
from bascule.sandbox.process.environment import child_environment
from bascule.sandbox.spec.run_command import heard

Version = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d+)(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:[-+].*)?")
_SPACED = re.compile(r"([<>=^~])\s+")
_HIGHEST: Version = (10**6, 0, 0)
ANY = frozenset({"", "*", "x", "X", "latest"})


class Unreadable(ValueError):
    """It is no range that we can read."""


def version_in(text: str) -> Version | None:
    """The version in what `node --version` prints."""
    found = _VERSION.fullmatch(text.strip())
    return _numbers(found) if found is not None and found[3] is not None else None


def fits(version: Version, wanted: str) -> bool:
    """Whether a range has a version. What cannot be read asks for nothing: a false alarm helps nobody."""
    try:
        return any(low <= version < high for low, high in _ranges(wanted))
    except Unreadable:
        return True


def least(wanted: str, above: Version) -> str:
    """The lowest version of a range that is higher than one; empty where there is none."""
    try:
        lows = sorted(low for low, high in _ranges(wanted) if high > above and low > above)
    except Unreadable:
        return ""
    return ".".join(map(str, lows[0])).removesuffix(".0").removesuffix(".0") if lows else ""


def _ranges(wanted: str) -> Iterator[tuple[Version, Version]]:
    """From the first, and up to but without the second."""
    for part in wanted.split("||"):
        yield _range(part.strip())


def _range(part: str) -> tuple[Version, Version]:
    first, dash, last = part.partition(" - ")
    if dash:
        return _bounds(">=", first)[0], _bounds("<=", last)[1]
    low, high = (0, 0, 0), _HIGHEST
    for word in _SPACED.sub(r"\1", part).split():
        rest = word.lstrip("<>=^~")
        begins, ends = _bounds(word[: len(word) - len(rest)] or "=", rest)
        low, high = max(low, begins), min(high, ends)
    return low, high


def _bounds(sign: str, text: str) -> tuple[Version, Version]:
    if text.strip() in ANY:
        return (0, 0, 0), _HIGHEST
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise Unreadable(text)
    low, lowest = _numbers(found), (0, 0, 0)
    near = (low[0], low[1] + 1, 0) if _said(found[2]) else (low[0] + 1, 0, 0)
    bounds: dict[str, tuple[Version, Version]] = {
        ">=": (low, _HIGHEST),
        ">": (_after(found), _HIGHEST),
        "<": (lowest, low),
        "<=": (lowest, _after(found)),
        "^": (low, (low[0] + 1, 0, 0)),
        "~": (low, near),
        "~>": (low, near),
    }
    return bounds.get(sign, (low, _after(found)))


def _after(found: re.Match[str]) -> Version:
    """The first version that is beyond all that were named."""
    major, minor, patch = _numbers(found)
    if not _said(found[2]):
        return (major + 1, 0, 0)
    return (major, minor, patch + 1) if _said(found[3]) else (major, minor + 1, 0)


def _numbers(found: re.Match[str]) -> Version:
    return int(found[1]), _number(found[2]), _number(found[3])


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


def _said(text: str | None) -> bool:
    return text is not None and text.isdigit()


WITHIN = 5.0
"""Seconds for Node to say its version. It takes a tenth of one."""

MOST_FOLDERS = 200
"""Of those in which npx keeps what it has fetched."""

_COMPLAINT = re.compile(r"required: \{ node: '([^']{1,80})'")
"""What npm says of a package that wants another Node."""


class TooOld(msgspec.Struct, frozen=True):
    """A Node that is not what a package wants."""

    found: str
    wanted: str
    evidence: str

    @property
    def insight(self) -> Insight:
        version = version_in(self.found)
        assert version is not None
        newer = least(self.wanted, version)
        install = f"install Node {newer} or newer" if newer else f"install a Node of {self.wanted}"
        fix = f"{install} (https://nodejs.org), or give the full path of one as `command`"
        return Insight(f"it runs on Node {self.found}, and wants {self.wanted}", self.evidence, fix)


async def old_node(server: ServerConfig, environ: Mapping[str, str], said: str = "") -> TooOld | None:
    """Whether a server is run by a Node that its package does not want. `said` is what it left on stderr."""
    transport = server.transport
    if not isinstance(transport, StdioTransport) or Path(transport.command).name not in {"node", "nodejs", "npx"}:
        return None
    env = child_environment(reveal_all(transport.env), transport.inherit_env, environ)
    wanted = next(_wanted(transport, env, said), None)
    if wanted is None:
        return None
    # Whatever npx is, it runs on the Node that is found first.
    program = "node" if Path(transport.command).name == "npx" else transport.command
    command = Command((program, "--version"), env, transport.cwd)
    try:
        path = find_program(command)
        found = (await heard(command, WITHIN)).out.decode("utf-8", "replace").strip()
    except SandboxError:
        return None
    version, (asked, where) = version_in(found), wanted
    if version is None or fits(version, asked):
        return None
    return TooOld(found.removeprefix("v"), asked, f"{path} --version: {found}\n{where}: engines.node {asked!r}")


def node_check(name: str, too_old: TooOld | None) -> list[Check]:
    """A word on a server that runs all the same."""
    if too_old is None:
        return []
    insight = too_old.insight
    return [Check(f"node {name}", "warn", insight.cause, insight.evidence, insight.fix)]


def _wanted(transport: StdioTransport, env: Mapping[str, str], said: str) -> Iterator[tuple[str, str]]:
    """What a package asks of Node, and who says so."""
    for path in islice(_descriptions(transport, env), MOST_FOLDERS):
        try:
            read = msgspec.json.decode(read_regular(path, MAX_FILE))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue
        asked = as_text(as_object(as_object(read).get("engines")).get("node"))
        if asked:
            yield asked, str(path)
    complaint = _COMPLAINT.search(said)
    if complaint is not None:
        yield complaint[1], "npm"


MAX_FILE = 4 * 1024 * 1024
"""Largest `package.json` read, in bytes."""


def _text(path: Path) -> str:
    try:
        return read_regular(path, MAX_FILE).decode(errors="replace")
    except OSError:
        return ""


def _descriptions(transport: StdioTransport, env: Mapping[str, str]) -> Iterator[Path]:
    """Where the package of a server may be described."""
    here = Path(transport.cwd or os.curdir).absolute()
    package = recognise([transport.command, *transport.args])
    if not isinstance(package, Package):
        yield from _above(here, transport.args)
        return
    name, _, version = package.specs[0][1:].partition("@")
    name = package.specs[0][:1] + name
    cache = Path(env.get("npm_config_cache") or Path(env.get("HOME", ""), ".npm"))
    folders = (here, *(sorted((cache / "_npx").iterdir()) if (cache / "_npx").is_dir() else ()))
    for folder in folders:
        path = folder / "node_modules" / name / "package.json"
        if path.is_file() and (not package.pinned or f'"{version}"' in _text(path)):
            yield path


def _above(here: Path, args: tuple[str, ...]) -> Iterator[Path]:
    """The package that a script belongs to is described in a folder above it."""
    script = next((arg for arg in args if not arg.startswith("-")), None)
    if script is not None:
        yield from (path for folder in (here / script).parents if (path := folder / "package.json").is_file())
