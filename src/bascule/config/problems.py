"""Problems of one config file, collected so that one `ConfigError` reports all of them."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from bascule.core.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""Where a value stands in a file: the keys and indices that lead to it."""

_PLAIN_KEY = re.compile(r"[\w$@-]+")


def dotted(path: KeyPath) -> str:
    """A path as people write it: `mcp_servers.files.args[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _PLAIN_KEY.fullmatch(part) else json.dumps(part))
    return text


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?`, or nothing if no known word is near."""
    by_plain: dict[str, str] = {}
    for name in known:
        by_plain.setdefault(_plain(name), name)
    near = difflib.get_close_matches(_plain(word), by_plain, n=1, cutoff=0.6)
    return f'; did you mean "{by_plain[near[0]]}"?' if near else ""


def _plain(word: str) -> str:
    # inheritEnv and inherit-env are the same mistake.
    return re.sub(r"[^a-z0-9]", "", word.lower())


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: its place in the file, and the whole sentence that tells it."""

    path: KeyPath
    line: int
    told: str


@dataclass(slots=True)
class Problems:
    """What is wrong with one file. `lines` knows on which line a path stands, where the format tells."""

    file: str
    lines: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    found: list[Problem] = field(default_factory=list[Problem])

    def add(self, path: KeyPath, text: str) -> None:
        self.found.append(Problem(path, self.line(path) or 0, self.told(path, text)))

    def told(self, path: KeyPath, text: str) -> str:
        """One sentence with its place: `bascule.yaml:7: mcp_servers.files.args: must be …`."""
        return ": ".join(part for part in (self.place(path), dotted(path), text) if part)

    def touch(self, path: KeyPath) -> bool:
        """Whether something at this path, or inside it, is known to be wrong."""
        return any(problem.path[: len(path)] == path for problem in self.found)

    def line(self, path: KeyPath) -> int | None:
        """The line of the value, or of the nearest one around it that has a line."""
        return next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)

    def place(self, path: KeyPath) -> str:
        line = self.line(path)
        return self.file if line is None else f"{self.file}:{line}"

    def raise_if_any(self) -> None:
        if self.found:
            # In the order of the file, whatever the order of the looking.
            ordered = sorted(self.found, key=lambda problem: problem.line)
            raise config_error(self.file, tuple(problem.told for problem in ordered))

    def unreadable(self, text: str, *, line: int | None = None, fix: str = "") -> NoReturn:
        """Give up at once: nothing after this point can be trusted to mean what it says."""
        where = self.file if line is None else f"{self.file}:{line}"
        raise ConfigError(f"{where}: {text}", problems=(f"{where}: {text}",), where=where, fix=fix)


def config_error(where: str, problems: tuple[str, ...]) -> ConfigError:
    """One error for all of them. The list also shows in a traceback, where only the message would."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    error = ConfigError(
        f"{where} has {count}", problems=problems, where=where, fix="correct what is listed; `bascule doctor` checks it"
    )
    for problem in problems:
        error.add_note(problem)
    return error
