"""Server names: their syntax, and conversion of the names that other programs use."""

import hashlib
import re
import unicodedata

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
NAME_RULE = "a small letter, then at most 31 of a-z, 0-9, - and _"

MAX_NAME = 32
"""Longest server name. It is put before tool names, and model APIs take 64 characters for both together."""


def is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def fold_name(text: str) -> str:
    """The name of ours for a name of another program's: `Figma MCP` becomes `figma-mcp`. Always gives a valid name."""
    if is_name(text):
        return text
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    folded = re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_")
    if not folded:
        # A name with no letter of ours in it; a digest keeps it apart from the next such name.
        folded = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    if not folded[0].isalpha():
        folded = f"mcp-{folded}"
    return folded[:MAX_NAME].rstrip("-_")
