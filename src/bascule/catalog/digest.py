"""Digests of a tool and of a whole listing as they were when we looked; and a cheaper print to see nothing changed."""

import hashlib
from collections.abc import Mapping

from bascule.catalog.digest__canonical import canonical_json
from bascule.core.json_types import JsonObject


def tool_digest(definition: JsonObject) -> str:
    """Over the whole definition as it came: a field we do not know may be one that a model reads."""
    return _sha256(canonical_json(definition))


def listing_digest(digests: Mapping[str, str], instructions: str) -> str:
    """Over every tool's digest and the server's instructions. The order of the tools does not matter."""
    return _sha256(canonical_json({"instructions": instructions, "tools": dict(digests)}))


def fingerprint_of(encoded: bytes) -> bytes:
    """Equal only if the JSON text is, so a new order of keys changes it. Spares the digest, and never leaves memory."""
    return hashlib.sha256(encoded).digest()


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
