"""Version pinning of packages that a server's command fetches: unpinned ones, and the text to write instead."""

import re
from collections.abc import Sequence

from bascule.sandbox.prepare.package import Package, local_file
from bascule.sandbox.prepare.recognise import recognise


def unpinned(argv: Sequence[str]) -> tuple[str, str] | None:
    """What is wrong with a command that fetches a package of no exact version, and how to mend it."""
    package = recognise(argv)
    if not isinstance(package, Package) or package.pinned:
        return None
    loose = [spec for spec in package.specs if not local_file(spec) and not _alone(package, spec).pinned]
    joint, ask = ("@", "npm view {} version") if package.kind == "npm" else ("==", "pip index versions {}")
    named = [_name(spec, package.kind) for spec in loose]
    message = (
        f"{', '.join(loose)} is not pinned: {package.runner} runs whatever was published last, by whoever could publish"
    )
    instead = " and ".join(f"{name}{joint}VERSION" for name in named)
    return message, f"write {instead}; `{ask.format(named[0])}` tells the newest"


def _alone(package: Package, spec: str) -> Package:
    return Package(package.kind, (spec,), None, ())


def _name(spec: str, kind: str) -> str:
    if kind == "npm":
        # The first sign may be that of a scope.
        return spec[:1] + spec[1:].partition("@")[0]
    return re.split(r"[=<>!~;(@\s]", spec, maxsplit=1)[0]
