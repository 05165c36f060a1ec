"""Undo of config edits: the text before each edit is stored, and restored unless the file has changed since."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bascule.config.editing.atomic_write import replace_file
from bascule.config.loading.document import read_text
from bascule.core.errors import ConfigError, UsageError
from bascule.core.json_types import as_array, as_object, as_text
from bascule.files.regular_file import read_regular

MOST = 20
"""Changes of one file that are remembered."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after. None: there was no such file."""

    path: Path
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back."""

    restored: tuple[Path, ...]
    removed: tuple[Path, ...]


def remember(state: Path, target: Path, changes: list[Change]) -> Path:
    """Keep what is needed to take the changes back, for the user alone. Raises `ConfigError`."""
    folder = _folder(state, target)
    kept = _kept(folder)
    number = int(kept[-1].stem) + 1 if kept else 1
    record = {
        "target": str(target),
        "changes": [{"path": str(each.path), "before": each.before, "after": _digest(each.after)} for each in changes],
    }
    path = folder / f"{number:06}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, json.dumps(record), 0o600)
        for old in kept[: max(0, len(kept) + 1 - MOST)]:
            old.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{path} cannot be written: {reason}", where=str(path)) from error
    return path


def undo(state: Path, target: Path) -> Undone:
    """Take the last change back. Raises `UsageError` where there is none, or a file was changed since."""
    kept = _kept(_folder(state, target))
    if not kept:
        raise UsageError(
            f"there is no import into {target} to undo",
            fix="name with --config the file that servers were taken over into, with `bascule import --write`",
        )
    changes = _read(kept[-1])
    for path, _before, after in changes:
        if not path.exists() or _digest(read_text(path)) != after:
            raise UsageError(
                f"{path} was changed since it was imported into, so it stays as it is",
                fix=f"edit it; what it was before is in {kept[-1]}",
            )
    for path, before, _after in changes:
        if before is None:
            path.unlink()
        else:
            replace_file(path, before)
    kept[-1].unlink()
    restored = tuple(path for path, before, _ in changes if before is not None)
    return Undone(restored, tuple(path for path, before, _ in changes if before is None))


def _read(record: Path) -> list[tuple[Path, str | None, str]]:
    raw: Any = json.loads(read_regular(record))
    changes = map(as_object, as_array(as_object(raw).get("changes")))
    return [(Path(str(each["path"])), as_text(each["before"]), str(each["after"])) for each in changes]


def _folder(state: Path, target: Path) -> Path:
    return state / "imports" / _digest(str(target.absolute()))[:16]


def _kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
