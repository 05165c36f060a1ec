"""Who listens at a port of this machine, as far as this user may know."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

PROC = Path("/proc")

_LISTENS = "0A"
"""The kernel's number for a socket that waits for connections."""

_INTERPRETERS = ("python", "node", "ruby", "perl", "sh", "bash", "deno", "bun")


class Listener(msgspec.Struct, frozen=True):
    """A process that listens. Of its command only the program is told: what comes after may be a secret."""

    pid: int
    program: str
    ours: bool = False
    """Whether it is a Bascule that serves."""

    def __str__(self) -> str:
        return f"process {self.pid} ({self.program})"


def listener_at(port: int, proc: Path = PROC) -> Listener | None:
    """None where nobody is known to listen: another user's process, say, or another system than Linux."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    for pid in _pids(proc) if wanted else ():
        if wanted.intersection(_open(pid, proc)):
            return _told(pid, proc)
    return None


def _inodes(port: int, proc: Path) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        for line in _text(proc / "net" / name).splitlines()[1:]:
            words = line.split()
            if len(words) > 9 and words[3] == _LISTENS and words[1].rpartition(":")[2] == f"{port:04X}":
                yield words[9]


def _pids(proc: Path) -> Iterable[int]:
    try:
        return sorted(int(each.name) for each in proc.iterdir() if each.name.isdigit())
    except OSError:
        return ()


def _open(pid: int, proc: Path) -> Iterator[str]:
    folder = proc / str(pid) / "fd"
    try:
        held = [*folder.iterdir()]
    except OSError:
        return
    for each in held:
        try:
            yield str(each.readlink())
        except OSError:
            # It was closed meanwhile.
            continue


def _told(pid: int, proc: Path) -> Listener:
    words = [word for word in _text(proc / str(pid) / "cmdline").split("\0") if word]
    program = Path(words[0]).name if words else _text(proc / str(pid) / "comm").strip() or "unknown"
    script = _script(words[1:]) if program.startswith(_INTERPRETERS) else ""
    ours = "bascule" in {program, script} and bool({"serve", "run", "up"} & set(words))
    return Listener(pid, f"{program} {script}".strip(), ours)


def _script(words: list[str]) -> str:
    """What an interpreter runs: the name of the file, or of the module."""
    if words[:1] == ["-m"] and len(words) > 1:
        return words[1]
    return Path(words[0]).name if words and not words[0].startswith("-") else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
