"""What a reference means beside the URI of the document it stands in (RFC 3986, section 5). Texts only: nothing is
asked of any network, and no two spellings are taken for one."""

import re
from typing import NamedTuple

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_ALLOWED = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")


class _Parts(NamedTuple):
    scheme: str | None
    authority: str | None
    path: str
    query: str | None


def is_reference(text: str) -> bool:
    """Whether a text can be a reference at all."""
    parts = _parts(text)
    # Before the first slash, a colon would end a scheme.
    misread = parts.scheme is None and parts.authority is None and ":" in parts.path.partition("/")[0]
    return not misread and _ALLOWED.fullmatch(text) is not None


def split_fragment(reference: str) -> tuple[str, str]:
    """What a reference leads to, and the fragment in it."""
    whole, _, fragment = reference.partition("#")
    return whole, fragment


def resolved(base: str, reference: str) -> str:
    """A reference beside an absolute URI as an absolute URI, without its fragment."""
    there = _parts(reference)
    if there.scheme is not None:
        return _written(there._replace(path=_without_dots(there.path)))
    here = _parts(base)
    if there.authority is not None:
        return _written(there._replace(scheme=here.scheme, path=_without_dots(there.path)))
    if not there.path:
        return _written(here._replace(query=here.query if there.query is None else there.query))
    return _written(here._replace(path=_without_dots(_merged(here, there.path)), query=there.query))


def _parts(text: str) -> _Parts:
    found = _PARTS.fullmatch(text)
    assert found is not None, "it matches every text"
    scheme, authority, path, query, _ = found.groups()
    return _Parts(scheme, authority, path or "", query)


def _merged(base: _Parts, path: str) -> str:
    if path.startswith("/"):
        return path
    if base.authority is not None and not base.path:
        return f"/{path}"
    return base.path[: base.path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    if "." not in path:
        return path
    steps = path.split("/")
    kept: list[str] = []
    for step in steps:
        if step == "..":
            # Nothing is above the top, which is the empty step before the first slash.
            if kept and kept != [""]:
                kept.pop()
        elif step != ".":
            kept.append(step)
    if steps[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept)


def _written(parts: _Parts) -> str:
    scheme = "" if parts.scheme is None else f"{parts.scheme}:"
    authority = "" if parts.authority is None else f"//{parts.authority}"
    query = "" if parts.query is None else f"?{parts.query}"
    return f"{scheme}{authority}{parts.path}{query}"
