"""What a person does at the dashboard. Each is done through the runtime, and written into the audit log by name."""

from collections.abc import Mapping
from typing import Protocol

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.shapes import Deed


class Deeds(Protocol):
    """What a page can do. `by` is the name of the person. Nothing raises for what people do wrong: `Deed.ok` tells."""

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        """Approve tools of a server, each by its own name and the digest that was shown (`Drift.digest`, empty for one
        that is gone). Where one of them is another by now, nothing is approved."""
        ...

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        """Let a call that waits go on, or refuse it. The first answer counts."""
        ...

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed: ...
