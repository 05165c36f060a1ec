"""From when on records are wanted, as it is typed: so long ago, or a day and a time of day."""

import re
from datetime import datetime

from bascule.core.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGO = re.compile(r"(\d{1,9})([smhd])")


def since(text: str | None, now: float) -> float:
    """Seconds since the epoch. What is not given is the beginning."""
    if text is None:
        return 0.0
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{text[:40]!r} is no time", fix="write 30s, 10m, 2h or 7d, or a time such as 2026-11-01T08:30"
        ) from error
