"""Rendering of a tool result as text for a model: structured content if there is any, else the content blocks, never
both."""

from functools import partial
from typing import Any, Literal

import msgspec

from bascule.core.json_types import as_array, as_object, as_text, is_object

Style = Literal["yaml", "json"]


def render(raw: dict[str, Any], style: Style) -> str:
    structured = raw.get("structuredContent")
    if structured is not None:
        return render_structured(structured, style)
    return "\n".join(render_block(block) for block in as_array(raw.get("content")))


def render_structured(value: Any, style: Style) -> str:
    if style == "json":
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    import yaml  # noqa: PLC0415 -- only a caller who reads the text needs it

    dump = partial(yaml.dump, value, sort_keys=False, allow_unicode=True, width=1000)
    text: str = dump(Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    if "\\U" in text:
        # The fast dumper writes emoji as escapes, which cost a model five times their worth.
        text = dump(Dumper=yaml.SafeDumper)
    # A bare scalar is dumped with an end-of-document mark, on a line of its own: a text may well end in three dots.
    return text.removesuffix("\n...\n").rstrip("\n")


def render_block(block: Any) -> str:
    """One content block. Binary content is named, not shown: its bytes mean nothing as text."""
    if not is_object(block):
        return str(block)
    kind = block.get("type")
    text = as_text(block.get("text"))
    if kind == "text" and text is not None:
        return text
    if kind in {"image", "audio"}:
        return f"[{kind} {block.get('mimeType', 'of unknown type')}, {_decoded_size(block.get('data'))} bytes]"
    if kind == "resource":
        return render_contents(as_object(block.get("resource")))
    if kind == "resource_link":
        return f"[link {block.get('uri')}]"
    return msgspec.json.encode(block).decode()


def render_contents(resource: dict[str, Any]) -> str:
    """What a resource holds, or that it holds what cannot be read."""
    text = as_text(resource.get("text"))
    return text if text is not None else f"[resource {resource.get('uri')}]"


def _decoded_size(data: Any) -> int:
    return len(data) * 3 // 4 if isinstance(data, str) else 0
