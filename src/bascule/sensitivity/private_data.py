"""What a tool tells of the data that it reads, before it gives any of it back."""

from contextvars import ContextVar
from typing import Protocol

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity.private_data__dataset import check_dataset


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
