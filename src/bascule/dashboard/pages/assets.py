"""Static assets of the dashboard (style sheets, scripts, pictures), each at a URL with a digest of its content, so that
browsers cache it without revalidation."""

import hashlib
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parents[1] / "static"

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(msgspec.Struct, frozen=True):
    """One file as it is sent."""

    data: bytes
    kind: str
    digest: str


@cache
def assets() -> dict[str, Asset]:
    """All of them, by name. There are few, and they do not change while we run."""
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in KINDS)
    return {path.name: _asset(path) for path in files}


def _asset(path: Path) -> Asset:
    data = path.read_bytes()
    return Asset(data, KINDS[path.suffix], hashlib.sha256(data).hexdigest()[:16])
