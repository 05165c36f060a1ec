"""Result of one health check, and insights into the cause of a failure."""

import msgspec

from bascule.core.errors import BasculeError


class Check(msgspec.Struct, frozen=True):
    """What was looked at, and what came of it: `ok`, `warn` or `fail`."""

    subject: str
    status: str
    message: str
    evidence: str = ""
    fix: str = ""


class Insight(msgspec.Struct, frozen=True):
    """What was found out about why something fails, by looking where the failure itself could not."""

    cause: str = ""
    """Empty where only evidence was found."""
    evidence: str = ""
    fix: str = ""


def failed(subject: str, error: BasculeError, status: str = "fail") -> Check:
    cause = f" ({error.cause})" if error.cause else ""
    return Check(subject, status, f"{error.code} {error.message}{cause}", error.evidence, error.fix)


def explained(check: Check, insights: list[Insight]) -> Check:
    """A failure in the light of what else is known. The first cause that was found is the one to mend."""
    evidence = "\n".join(filter(None, (check.evidence, *(each.evidence for each in insights))))
    cause = next((each for each in insights if each.cause), None)
    if cause is None:
        return msgspec.structs.replace(check, evidence=evidence)
    return Check(check.subject, check.status, f"{check.message}: {cause.cause}", evidence, cause.fix or check.fix)
