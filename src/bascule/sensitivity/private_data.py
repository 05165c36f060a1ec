"""Private data as tools declare it: names of datasets, raises of the sensitivity level by a tool's code, and labels in
the `_meta` of a result."""

from contextvars import ContextVar
from typing import Protocol

from bascule.core.errors import UsageError
from bascule.core.json_types import JsonObject, as_array, is_object
from bascule.core.principal import MAX_ID
from bascule.core.sensitivity import DataSensitivity


def check_dataset(name: str) -> None:
    """Raises `UsageError` for a text that is no name of a dataset: names stand in receipts, which operators read on a
    screen."""
    if not 1 <= len(name) <= MAX_ID or not name.isprintable():
        raise UsageError(
            f"the name of a dataset is 1 to {MAX_ID} printable characters, not {name[:40]!r}",
            fix="name it as its owner does, in a few words",
        )


class Seen(Protocol):
    """What one agent session has seen, as whoever carries out its request keeps it."""

    @property
    def level(self) -> DataSensitivity: ...

    def add(self, dataset: str, sensitivity: DataSensitivity) -> None:
        """Durable when this returns. May be called from any thread."""
        ...


CURRENT: ContextVar[Seen | None] = ContextVar("bascule_private_data", default=None)
"""Set by whoever carries out a request, for as long as that takes."""


class PrivateData:
    """What the agent session has seen in the course of whose request this code runs."""

    def add_private_dataset(self, name: str, sensitivity: DataSensitivity) -> None:
        """Say that data of this name is about to be given out. It is kept for good when this returns, and only then may
        the data be returned: tools that reach out are refused from CONFIDENTIAL on."""
        check_dataset(name)
        self._seen().add(name, DataSensitivity(sensitivity))

    @property
    def sensitivity(self) -> DataSensitivity:
        return self._seen().level

    def _seen(self) -> Seen:
        seen = CURRENT.get()
        if seen is None:
            # Nothing to write it down in must never mean that nothing private was read.
            raise UsageError(
                "it is not known in whose agent session this data is seen",
                fix="ask in the course of a request of a server made by create_mcp_server",
            )
        return seen


LABELS_KEY = "dev.bascule/labels"


def labelled_level(result: JsonObject) -> DataSensitivity | None:
    """The highest level the result claims, or None where it makes no claim. An unknown label counts as SECRET: it may
    be one of a newer version, and guessing low would let data out."""
    meta = result.get("_meta")
    if meta is None:
        return None
    if not is_object(meta):
        # Whether it was meant to hold labels cannot be told.
        return DataSensitivity.SECRET
    if LABELS_KEY not in meta:
        return None
    return max((_level_of(label) for label in as_array(meta[LABELS_KEY])), default=DataSensitivity.SECRET)


def _level_of(label: object) -> DataSensitivity:
    name = str(label).upper()
    return DataSensitivity[name] if name in DataSensitivity.__members__ else DataSensitivity.SECRET
