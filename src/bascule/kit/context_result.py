"""`@context_result`: a tool's long result is saved in the workspace, and the model reads a preview.

The result keeps its type: a text becomes a shorter text, a list of objects a shorter one, whose first object says that
it is a part. So what FastMCP promises to clients for `-> str`, `-> list[dict]` or `-> dict` stays true. A narrower
type, such as `-> list[Row]`, cannot be kept by a part of it, and is not promised to clients.
"""

import asyncio
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import is_dataclass
from typing import Any, ParamSpec, TypeVar, Union

import msgspec

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.core.errors import UsageError
from bascule.kit.context_result__content import is_content, is_reply, shortened_content, shortened_reply
from bascule.result_limits.limiter import NOWHERE, limited
from bascule.result_limits.shrink import shrunk
from bascule.workspace.host_paths import current_workspace

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
