"""One thing that `bascule doctor` looked at."""

import msgspec

from bascule.core.errors import BasculeError


class Check(msgspec.Struct, frozen=True):
    """What was looked at, and what came of it: `ok`, `warn` or `fail`."""

    subject: str
    status: str
    message: str
    evidence: str = ""
    fix: str = ""


def failed(subject: str, error: BasculeError, status: str = "fail") -> Check:
    cause = f" ({error.cause})" if error.cause else ""
    return Check(subject, status, f"{error.code} {error.message}{cause}", error.evidence, error.fix)
