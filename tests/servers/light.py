"""What a stand-in needs, without what importing it costs. A run of all tests starts thousands of them: `json`, `pathlib`,
`signal` and `typing` take a stand-in three times as long as Python itself takes to start, and do no more for it than this.
"""

from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal  # noqa: PLC0414 -- offered to the stand-ins
    from collections.abc import Callable as Callable  # noqa: PLC0414 -- the same
    from collections.abc import Iterable as Iterable  # noqa: PLC0414 -- the same
    from collections.abc import Iterator as Iterator  # noqa: PLC0414 -- the same
    from typing import IO
    from typing import Any as Any  # noqa: PLC0414 -- the same
    from typing import Never as Never  # noqa: PLC0414 -- the same
else:
    import _signal as signal  # noqa: F401 -- the same
    from _collections_abc import Callable, Iterable, Iterator  # noqa: F401 -- the same

    Any = Never = object


class _Usual:
    """Reads as `json.loads` does that is told nothing else."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _unknown(value: object) -> str:
    raise TypeError(f"{value!r} is nothing that JSON has")


_scan: Any = make_scanner(_Usual)  # pyright: ignore[reportArgumentType] -- it takes whatever has these attributes
_encode: Any = make_encoder(None, _unknown, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def loads(text: str | bytes) -> Any:
    """As `json.loads`."""
    stripped = (text if isinstance(text, str) else text.decode()).strip(" \t\r\n")
    try:
        value, end = _scan(stripped, 0)
    except StopIteration as stop:
        raise ValueError(f"no JSON at {stop.value}: {stripped[:200]!r}") from None
    if end != len(stripped):
        raise ValueError(f"more than JSON at {end}: {stripped[:200]!r}")
    return value


def dumps(value: object) -> str:
    """As `json.dumps`."""
    return "".join(_encode(value, 0))


def opened(path: str, mode: str = "r") -> "IO[str]":
    """A text file, each line of which is written at once."""
    return open(path, mode, buffering=1, encoding="utf-8")  # noqa: PTH123 -- without `pathlib`
