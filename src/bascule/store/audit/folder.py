"""Folder of the audit log: its id, its slots, and the files of each chain."""

import os
import re
import secrets
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from bascule.core.errors import StoreError
from bascule.files.regular_file import NotRegular, fix_of, read_regular
from bascule.store.secrets.key_files import sync_folder, write_new

FOLDER = "audit"
ID = "id"

LONGEST_ID = 64
"""Bytes read of the file with the id, which has 17."""

MOST_SLOTS = 9999

_LOG = re.compile(r"(\d{4})(?:\.(\d{6}))?\.log")
_ID = re.compile(r"[0-9a-f]{16}")


class AuditFolder:
    """One folder, with a chain in each slot. Nothing is made before it is asked for."""

    def __init__(self, state: Path) -> None:
        self.path = state / FOLDER

    def make(self) -> str:
        """Make the folder, closed to everyone else, and give it an id. Raises `StoreError`."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            status = self.path.lstat()
            if status.st_uid != os.geteuid():
                raise PermissionError("it belongs to another user")
            if status.st_mode & 0o077:
                self.path.chmod(0o700)
            return self.id() or self._identify()
        except OSError as error:
            raise unusable(self.path, error) from error

    def id(self) -> str | None:
        """Tells this folder from every other. None if there is none, or none that can be read."""
        try:
            text = read_regular(self.path / ID, LONGEST_ID).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unusable(self.path, error) from error
        return text if _ID.fullmatch(text) else None

    def files(self) -> dict[str, list[Path]]:
        """The files of each slot in the order in which they were written."""
        found: dict[str, list[tuple[int, Path]]] = defaultdict(list)
        with suppress(FileNotFoundError):
            for path in self.path.iterdir():
                if (name := _LOG.fullmatch(path.name)) is not None:
                    # The one without a number is the newest.
                    found[name[1]].append((int(name[2]) if name[2] else 1_000_000, path))
        return {slot: [path for _, path in sorted(files)] for slot, files in sorted(found.items())}

    def current(self, slot: str) -> Path:
        """The file to which the chain in a slot is written."""
        return self.path / f"{slot}.log"

    def segment(self, slot: str) -> Path:
        """What the newest file is called once it is full."""
        full = self.files().get(slot, [])
        numbers = [int(name[2]) for path in full if (name := _LOG.fullmatch(path.name)) and name[2]]
        return self.path / f"{slot}.{max(numbers, default=0) + 1:06}.log"

    def lock(self, slot: str) -> Path:
        """Held by the runtime that writes to a slot. A file of its own: the log's is renamed once it is full."""
        return self.path / f"{slot}.lock"

    def _identify(self) -> str:
        path = self.path / ID
        fresh = path.with_name(f".{ID}.{secrets.token_hex(8)}")
        try:
            write_new(fresh, secrets.token_hex(8).encode() + b"\n")
            # Unlike a rename, this replaces nothing: of several processes the first one wins.
            with suppress(FileExistsError):
                path.hardlink_to(fresh)
        finally:
            fresh.unlink(missing_ok=True)
        sync_folder(self.path)
        found = self.id()
        if found is None:
            raise OSError(f"{ID} cannot be read")
        return found


def writer_of(folder: str, slot: str) -> str:
    """What a chain is called wherever it is spoken of."""
    return f"{folder}-{slot}"


_CAUSE = "the folder is not ours to write, or the disk is full; nothing is done that could not be written down"


def unusable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the audit log in {path} cannot be used: {error.strerror or error}",
        cause="" if isinstance(error, NotRegular) else _CAUSE,
        fix=fix_of(str(error.filename), error, f"make {path} writable") + ", or set BASCULE_HOME to another folder",
    )
