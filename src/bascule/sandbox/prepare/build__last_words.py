"""Why a fetch failed, as its last words tell."""

import re
from dataclasses import dataclass

from bascule.core.errors import SandboxError

LINES = 12
LONGEST = 2000
"""Characters of a program's last words that are told."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\n\u00a0-\uffff]")


@dataclass(frozen=True, slots=True)
class _Sign:
    seen: re.Pattern[str]
    cause: str
    fix: str


_SIGNS = (
    _Sign(
        re.compile(
            r"\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|ECONNRESET|ETIMEDOUT)\b|dns error|name resolution"
            r"|Failed to establish a new connection|error sending request|Network is unreachable|tcp connect error"
        ),
        "the registry cannot be reached from here",
        "look at the network and at HTTPS_PROXY; once fetched, a package is not asked for again",
    ),
    _Sign(
        re.compile(
            r"\b(SELF_SIGNED_CERT\w*|UNABLE_TO_\w*CERT\w*|DEPTH_ZERO\w*)\b|CERTIFICATE_VERIFY_FAILED|UnknownIssuer"
        ),
        "the registry's certificate is not known here",
        "name the authority in NODE_EXTRA_CA_CERTS (npm), SSL_CERT_FILE (uv) or PIP_CERT (pip)",
    ),
    _Sign(
        re.compile(r"\b(E401|E403|ENEEDAUTH)\b|401 Unauthorized|403 Forbidden"),
        "the registry wants to know who asks, and a box that fetches has no credentials",
        "install the package yourself, and name its program as the command",
    ),
    _Sign(
        re.compile(r"not satisfy Python|requires a different Python|does not satisfy Python|depends on Python"),
        "the package wants another version of Python than the one it was fetched for",
        "name one with --python, as in `uvx --python 3.12 …`",
    ),
    _Sign(
        re.compile(
            r"\b(E404|ETARGET|EINVALIDPACKAGENAME)\b|No matching distribution|No solution found"
            r"|was not found in the package"
        ),
        "there is no such package, or no such version of it",
        "look at the name and the version in `args`",
    ),
    _Sign(
        re.compile(r"\bENOSPC\b|No space left"),
        "there is no room",
        "make room on the disk with the state folder, or set BASCULE_HOME to a folder on another",
    ),
    _Sign(
        re.compile(r"ensurepip is not available|No module named (venv|ensurepip)"),
        "this machine's Python comes without venv",
        "install uv, or python3-venv",
    ),
)


def fetch_failed(what: str, code: int, output: str, left_out: tuple[str, ...] = ()) -> SandboxError:
    sign = next((each for each in _SIGNS if each.seen.search(output)), None)
    without = f"left out, since they carry credentials: {', '.join(left_out)}" if left_out else ""
    return SandboxError(
        f"{what} could not be fetched",
        where="prepare",
        evidence="\n".join(part for part in (last_words(output) or f"exit code {code}", without) if part),
        cause=sign.cause if sign else f"its installation ended with the code {code}",
        fix=sign.fix if sign else "run the same command in a terminal to see all it says",
    )


def last_words(output: str) -> str:
    """Without what would move a cursor."""
    plain = _UNPRINTABLE.sub("", _ESCAPES.sub("", output.replace("\r\n", "\n").replace("\r", "\n")))
    lines = [line.rstrip() for line in plain.splitlines() if line.strip()]
    return "\n".join(lines[-LINES:])[-LONGEST:]
