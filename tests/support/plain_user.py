"""A user without rights for programs that a test starts as root, with the interpreter and the checkout still readable."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TESTS = Path(__file__).parents[1]

_OPEN_HOME = """
mount --rbind "$2" /mnt && mount -t tmpfs -o mode=755 home "$1" && mkdir -p "$2" && mount --rbind /mnt "$2" || exit 1
shift 2
exec "$@"
"""
"""In a mount namespace of its own. Root's home is closed to others, and the interpreter may be in it."""


def plain_user() -> Sequence[str]:
    """The command line in front of a program. Empty, where the tests run as a plain user themselves."""
    if os.geteuid() != 0:
        return ()
    switched = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    prefix, home = Path(sys.base_prefix).resolve(), Path.home()
    if not prefix.is_relative_to(home):
        return switched
    return ("unshare", "--mount", "sh", "-c", _OPEN_HOME, "sh", str(home), str(prefix), *switched)


def this_python() -> Mapping[str, str]:
    """An environment in which that program finds this package and what belongs to the tests."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nowhere"}
