"""Limits of a sandbox: its lifetime (`session_limit`), the workspace quota of its agent session, and the files under
its masks, which must stay the same. Separate from the factory on purpose: it needs clock and disk, but no engine."""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

from bascule.sandbox.mounts.masks import replaced
from bascule.sandbox.spec.box import FileIdentity
from bascule.sandbox.spec.launch_request import Order
from bascule.workspace.quota import cost_of

PAUSE = 1.0
"""Seconds between two looks at what was written."""

SHARE = 20
"""How many times longer than the last look the pause after it is at least: many files take long to count."""


async def spent(order: Order, guarded: Mapping[str, FileIdentity]) -> str:
    """Wait until a sandbox has to end, and return the reason."""
    over = time.monotonic() + order.settings.session_limit
    due = 0.0
    while (left := over - time.monotonic()) > 0:
        await asyncio.sleep(min(left, PAUSE))
        if path := await asyncio.to_thread(replaced, guarded):
            return f"its sandbox ended: {path} was replaced, which removes its mask; the next call gets a new one"
        if order.workspace is None or order.room is None or time.monotonic() < due:
            continue
        began = time.monotonic()
        if await asyncio.to_thread(taken, order.workspace) > order.room:
            return f"its box has written more into the workspace than the {order.room} bytes of `workspace.quota`"
        due = time.monotonic() + SHARE * (time.monotonic() - began)
    limit = order.settings.session_limit
    return f"its box has lived for the {limit:g} s of `sandbox.session_limit`; the next call gets a new one"


def taken(folder: str) -> int:
    """Bytes that all in a folder counts for. What disappears while we look counts for nothing."""
    return sum(_costs(folder))


def _costs(folder: str) -> Iterator[int]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                yield cost_of(entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False):
                    yield from _costs(entry.path)
