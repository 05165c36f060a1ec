"""Results that are made of content blocks already, as FastMCP and the SDK have them: only their texts are cut.

Nothing is imported to know them by: whoever returns one has imported it.
"""

import sys
from collections.abc import Sequence
from typing import Any, cast

from bascule.config.model.result_presets import Preset
from bascule.result_limits.limiter import META, Saver
from bascule.result_limits.reply import Shortened, shorten

_BLOCKS = ("TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")
_HELPERS = ("Image", "Audio", "File")


def is_reply(result: Any) -> bool:
    """Whether it is a whole reply."""
    return isinstance(
        result, (*_classes("fastmcp.tools.base", ("ToolResult",)), *_classes("mcp_types", ("CallToolResult",)))
    )


def is_content(result: Any) -> bool:
    """Whether it is a content block, or a list with one in it."""
    classes = (*_classes("mcp_types", _BLOCKS), *_classes("fastmcp.utilities.types", _HELPERS))
    if isinstance(result, list | tuple):
        return any(isinstance(item, classes) for item in cast("Sequence[Any]", result))
    return isinstance(result, classes)


def shortened_reply(reply: Any, preset: Preset, save: Saver) -> Any:
    """An error is never cut. Structured content that is too long is left out: a part of it would pass for the whole."""
    if reply.is_error:
        return reply
    found = shorten(_texts(reply.content), reply.structured_content, preset, save)
    if found is None:
        return reply
    content = _replaced(reply.content, found)
    meta: dict[str, Any] = {**(reply.meta or {}), META: list(found.meta)}
    if isinstance(reply, _classes("mcp_types", ("CallToolResult",))):
        return reply.model_copy(update={"content": content, "structured_content": None, "meta": meta})
    return type(reply)(content=content, meta=meta)


def shortened_content(result: Any, preset: Preset, save: Saver) -> Any:
    several = isinstance(result, list | tuple)
    blocks = cast("Sequence[Any]", result if several else [result])
    found = shorten(_texts(blocks), None, preset, save)
    if found is None:
        return blocks if several else blocks[0]
    replaced = _replaced(blocks, found)
    return replaced if several else replaced[0]


def _texts(blocks: Sequence[Any]) -> list[str]:
    return [text for block in blocks if (text := _text(block)) is not None]


def _text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    return block.text if isinstance(block, _classes("mcp_types", ("TextContent",))) else None


def _replaced(blocks: Sequence[Any], found: Shortened) -> list[Any]:
    """What is shown where the first text stood, and all that is no text where it was."""
    made: list[Any] = []
    left: str | None = found.text
    for block in blocks:
        if _text(block) is None:
            made.append(block)
        elif left is not None:
            made.append(left if isinstance(block, str) else block.model_copy(update={"text": left}))
            left = None
    if left is not None:
        from mcp_types import TextContent  # noqa: PLC0415 -- half a second, and hardly a result has no text

        made.append(TextContent(type="text", text=left))
    return made


def _classes(module: str, names: Sequence[str]) -> tuple[type, ...]:
    loaded = sys.modules.get(module)
    return tuple(found for name in names if isinstance(found := getattr(loaded, name, None), type))
