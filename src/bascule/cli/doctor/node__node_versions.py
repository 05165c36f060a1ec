"""Versions of Node, and the ranges of them that a package asks for, as npm reads them."""

import re
from collections.abc import Iterator

Version = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d+)(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:[-+].*)?")
_SPACED = re.compile(r"([<>=^~])\s+")
_HIGHEST: Version = (10**6, 0, 0)
ANY = frozenset({"", "*", "x", "X", "latest"})


class Unreadable(ValueError):
    """It is no range that we can read."""


def version_in(text: str) -> Version | None:
    """The version in what `node --version` prints."""
    found = _VERSION.fullmatch(text.strip())
    return _numbers(found) if found is not None and found[3] is not None else None


def fits(version: Version, wanted: str) -> bool:
    """Whether a range has a version. What cannot be read asks for nothing: a false alarm helps nobody."""
    try:
        return any(low <= version < high for low, high in _ranges(wanted))
    except Unreadable:
        return True


def least(wanted: str, above: Version) -> str:
    """The lowest version of a range that is higher than one; empty where there is none."""
    try:
        lows = sorted(low for low, high in _ranges(wanted) if high > above and low > above)
    except Unreadable:
        return ""
    return ".".join(map(str, lows[0])).removesuffix(".0").removesuffix(".0") if lows else ""


def _ranges(wanted: str) -> Iterator[tuple[Version, Version]]:
    """From the first, and up to but without the second."""
    for part in wanted.split("||"):
        yield _range(part.strip())


def _range(part: str) -> tuple[Version, Version]:
    first, dash, last = part.partition(" - ")
    if dash:
        return _bounds(">=", first)[0], _bounds("<=", last)[1]
    low, high = (0, 0, 0), _HIGHEST
    for word in _SPACED.sub(r"\1", part).split():
        rest = word.lstrip("<>=^~")
        begins, ends = _bounds(word[: len(word) - len(rest)] or "=", rest)
        low, high = max(low, begins), min(high, ends)
    return low, high


def _bounds(sign: str, text: str) -> tuple[Version, Version]:
    if text.strip() in ANY:
        return (0, 0, 0), _HIGHEST
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise Unreadable(text)
    low, lowest = _numbers(found), (0, 0, 0)
    near = (low[0], low[1] + 1, 0) if _said(found[2]) else (low[0] + 1, 0, 0)
    bounds: dict[str, tuple[Version, Version]] = {
        ">=": (low, _HIGHEST),
        ">": (_after(found), _HIGHEST),
        "<": (lowest, low),
        "<=": (lowest, _after(found)),
        "^": (low, (low[0] + 1, 0, 0)),
        "~": (low, near),
        "~>": (low, near),
    }
    return bounds.get(sign, (low, _after(found)))


def _after(found: re.Match[str]) -> Version:
    """The first version that is beyond all that were named."""
    major, minor, patch = _numbers(found)
    if not _said(found[2]):
        return (major + 1, 0, 0)
    return (major, minor, patch + 1) if _said(found[3]) else (major, minor + 1, 0)


def _numbers(found: re.Match[str]) -> Version:
    return int(found[1]), _number(found[2]), _number(found[3])


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


def _said(text: str | None) -> bool:
    return text is not None and text.isdigit()
