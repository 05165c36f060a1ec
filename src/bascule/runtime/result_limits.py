"""Result limits that an operator sets for a server: a long result is saved in the agent session's workspace, and only a
preview is shown. The saved file is a change of its call, so a failed call takes it back."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from bascule.config.model.result_presets import Preset
from bascule.core.json_types import JsonObject, as_array, as_object, as_text
from bascule.core.outcome import Result, ToolFailure, ToolResult
from bascule.core.tool import ToolSpec
from bascule.result_limits.limiter import META, Saver
from bascule.result_limits.reply import Shortened, shorten
from bascule.runtime.session_context import Standing

AnyOutcome = TypeVar("AnyOutcome", bound=Result | ToolFailure)


async def limited_outcome(standing: Standing, outcome: AnyOutcome, preset: Preset) -> AnyOutcome:
    """The same where it is short enough, or no result of a tool. Images, audio, links and resources stay as they
    are."""
    if not isinstance(outcome, ToolResult):
        return outcome
    raw = outcome.raw
    blocks, structured = as_array(raw.get("content")), raw.get("structuredContent")
    texts = [text for block in blocks if (text := _text(block)) is not None]
    if structured is None and sum(map(len, texts)) + len(texts) <= preset.characters:
        return outcome
    found = await _seen_to_its_end(partial(shorten, texts, structured, preset, _saver(standing)))
    return outcome if found is None else msgspec.structs.replace(outcome, raw=_with(raw, blocks, found))


def without_promise(standing: Standing, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """What agents are shown. A result that was cut has no structured content, so a server whose results are limited
    promises none: clients that validate would else take every preview for an error. What the server itself sends is
    held against its promise all the same, before anything is cut."""
    limited = {name for name, server in standing.roster.servers.items() if server.limit is not None}
    if not limited:
        return tuple(specs)
    return tuple(
        replace(spec, output_schema=None) if spec.key.server in limited and spec.output_schema is not None else spec
        for spec in specs
    )


async def _seen_to_its_end(work: partial[Shortened | None]) -> Shortened | None:
    """In a thread, since it waits for the disk. A caller who stops waiting does so when nothing is written any more:
    what would be written later would belong to no call, and nobody would take it back."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


def _saver(standing: Standing) -> Saver | None:
    workspace = standing.workspace
    if workspace is None:
        return None
    return lambda path, data: workspace().write_bytes(path, data)


def _text(block: Any) -> str | None:
    fields = as_object(block)
    return as_text(fields.get("text")) if fields.get("type") == "text" else None


def _with(raw: JsonObject, blocks: list[Any], found: Shortened) -> JsonObject:
    """A new reply: what is shown stands where the first text stood, and all that is no text where it was."""
    content: list[Any] = []
    left: str | None = found.text
    for block in blocks:
        if _text(block) is None:
            content.append(block)
        elif left is not None:
            content.append({**as_object(block), "text": left})
            left = None
    if left is not None:
        content.insert(0, {"type": "text", "text": left})
    rest = {key: value for key, value in raw.items() if key not in {"content", "structuredContent"}}
    return {**rest, "content": content, "_meta": {**as_object(raw.get("_meta")), META: list(found.meta)}}
