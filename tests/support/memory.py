"""How much memory this process takes at its worst while something is done."""

import ctypes
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_FORGET_THE_PEAK = "5"
_M_MMAP_THRESHOLD = -3
_LARGE = 128 * 1024


class Growth:
    """What was added at the peak, in bytes. Known once the block is left."""

    peak = 0


@contextmanager
def measured_growth() -> Generator[Growth]:
    """The growth of resident memory from the start of the block to its highest moment within it."""
    _return_large_blocks()
    growth = Growth()
    forgotten = _forget_the_peak()
    before = _kibibytes("VmRSS") if forgotten else _highest_ever()
    yield growth
    highest = _kibibytes("VmHWM") if forgotten else _highest_ever()
    growth.peak = max(0, highest - before) * 1024


def _return_large_blocks() -> None:
    """Make the allocator give large blocks back and grow them in place, always. It learns not to, after a while, and then
    what is measured is its habits, and which test came before."""
    if sys.platform == "linux":
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


def _forget_the_peak() -> bool:
    """Linux can start anew; elsewhere only the highest moment of the whole process is known."""
    try:
        _CLEAR.write_text(_FORGET_THE_PEAK)
    except OSError:
        return False
    return True


def _kibibytes(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


def _highest_ever() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
