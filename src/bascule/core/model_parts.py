"""Tool result as text and image parts in their order, for models that accept images."""

from typing import Any, NamedTuple

from bascule.core.json_types import as_array, is_object
from bascule.core.outcome import ToolResult
from bascule.core.rendering import render_block


class Picture(NamedTuple):
    """An image, in base64."""

    data: str
    mime_type: str


def parts(result: ToolResult) -> tuple[str | Picture, ...]:
    """The rendered text alone where there is no picture. Structured content stands for all words, as it does there."""
    blocks = [_picture(block) or block for block in as_array(result.raw.get("content"))]
    pictures = [block for block in blocks if isinstance(block, Picture)]
    if not pictures or result.structured is not None:
        return (result.text, *pictures)
    return tuple(block if isinstance(block, Picture) else render_block(block) for block in blocks)


def _picture(block: Any) -> Picture | None:
    if not is_object(block) or block.get("type") != "image":
        return None
    data, mime_type = block.get("data"), block.get("mimeType")
    return Picture(data, mime_type) if isinstance(data, str) and isinstance(mime_type, str) else None
