"""`@context_result`: saves a tool's long result in the workspace, and returns a preview to the model. The preview keeps
the type: a text becomes a shorter text, a list of objects a shorter list whose first object marks it as a part."""

import asyncio
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import is_dataclass
from typing import Any, ParamSpec, TypeVar, Union, cast

import msgspec

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.core.errors import UsageError
from bascule.result_limits.limiter import META, NOWHERE, Saver, limited
from bascule.result_limits.reply import Shortened, shorten
from bascule.result_limits.shrink import shrunk
from bascule.workspace.host_paths import current_workspace

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
    """Classes of a module, if it is imported already: a tool that returns one of them has imported it."""
    loaded = sys.modules.get(module)
    return tuple(found for name in names if isinstance(found := getattr(loaded, name, None), type))


P = ParamSpec("P")
R = TypeVar("R")

CURRENT: ContextVar[Mapping[str, Preset]] = ContextVar("bascule_presets", default=PRESETS)
"""The presets of the server in whose course this code runs. Set by whoever carries its requests out."""

_OPEN = (str, dict, list, Any, object, None, type(None), inspect.Parameter.empty)
_OPEN_INSIDE = (str, Any, object, dict, dict[str, Any])


def context_result(preset: str = "default") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For tools, sync and async: a result over the preset's characters is saved to `/workspace/results/…`, and a
    preview with its path and size takes its place. Where it cannot be saved, the preview says so. Errors, images and
    links are never cut. An unknown preset is refused before the tool runs."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def answer(*args: P.args, **kwargs: P.kwargs) -> Any:
                chosen = _chosen(preset)
                result: Any = await function(*args, **kwargs)
                return await asyncio.to_thread(_shortened, result, chosen)

            return typing.cast("Callable[P, R]", _with_promise(answer, function))

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            chosen = _chosen(preset)
            return _shortened(function(*args, **kwargs), chosen)

        return typing.cast("Callable[P, R]", _with_promise(call, function))

    return decorate


def _chosen(name: str) -> Preset:
    presets = CURRENT.get()
    if name not in presets:
        raise UsageError(
            f"there is no preset {name!r} for results",
            evidence=f"known: {', '.join(presets)}",
            fix="use one of these, or add it under `results.presets` in the config",
        )
    return presets[name]


def _save(path: str, data: bytes) -> None:
    workspace = current_workspace()
    if workspace is None:
        raise UsageError(NOWHERE)
    workspace.write_bytes(path, data)


def _shortened(result: Any, preset: Preset) -> Any:
    if is_reply(result):
        return shortened_reply(result, preset, _save)
    if is_content(result):
        return shortened_content(result, preset, _save)
    value = _plain(result)
    if not isinstance(value, str | bytes | Mapping | list | tuple):
        return result
    found = limited(value, preset, _save)
    if found is None:
        return result
    return found.preview if isinstance(value, str | bytes) else shrunk(value, preset, found.notice)


def _plain(result: Any) -> Any:
    """A model or a dataclass as what it becomes on its way to the client."""
    dump = getattr(result, "model_dump", None)
    if callable(dump) and not type(result).__module__.startswith(("mcp", "fastmcp")):
        return dump(mode="json")
    if is_dataclass(result):
        return msgspec.to_builtins(result, enc_hook=str)
    return result


def _with_promise(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, without a result type that a part of the result would not have."""
    try:
        hinted = typing.get_type_hints(function).get("return", inspect.Parameter.empty)
    except (NameError, TypeError):
        hinted = NotImplemented
    if not _is_open(hinted):
        call.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
        signature = inspect.signature(function)
        call.__signature__ = signature.replace(return_annotation=inspect.Signature.empty)  # pyright: ignore[reportFunctionMemberAccess]
    return call


def _is_open(hinted: Any) -> bool:
    """Whether a preview is of this type as well."""
    if any(hinted is each for each in _OPEN):
        return True
    origin, inside = typing.get_origin(hinted), typing.get_args(hinted)
    if origin in {Union, types.UnionType}:
        return all(_is_open(each) for each in inside)
    return origin in {list, dict} and inside[-1] in _OPEN_INSIDE
