"""Scripted servers that offer resources and prompts, and that ask for input."""

from pathlib import Path
from typing import Any

from bascule.config import ServerConfig, StdioTransport
from support.scenarios import scripted

CACHE = {"ttlMs": 60_000, "cacheScope": "private", "resultType": "complete"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "m"}}}
ELICIT = {"method": "elicitation/create", "params": {"message": "How long?", "requestedSchema": SCHEMA}}
SAMPLE = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}


def result(**fields: Any) -> dict[str, Any]:
    return {"result": {**CACHE, **fields}}


def required(state: str | None = None, **questions: Any) -> dict[str, Any]:
    """An answer that asks for input."""
    asked: dict[str, Any] = {"inputRequests": questions} if questions else {}
    if state is not None:
        asked["requestState"] = state
    return {"result": {"resultType": "input_required", **asked}}


DONE = {"result": {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}}


def capable(*capabilities: str) -> dict[str, Any]:
    """An answer to `server/discover`."""
    return result(supportedVersions=["2026-07-28"], capabilities={name: {} for name in ("tools", *capabilities)})


def life(
    *,
    uris: tuple[str, ...] = (),
    templates: tuple[str, ...] = (),
    prompts: tuple[Any, ...] = (),
    name: str = "work",
    scenario: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The scenario of a server of the new era with these, which answers everything else as told."""
    return {
        "server/discover": [capable("resources", "prompts", "completions")],
        "resources/list": [result(resources=[{"uri": uri, "name": uri} for uri in uris])],
        "resources/templates/list": [
            result(resourceTemplates=[{"uriTemplate": text, "name": text} for text in templates])
        ],
        "prompts/list": [result(prompts=[*prompts])],
        "resources/read": [result(contents=[{"uri": "x", "text": f"of {name}"}])],
        "prompts/get": [result(messages=[{"role": "user", "content": {"type": "text", "text": "Hi."}}])],
        "completion/complete": [result(completion={"values": ["one", "two"], "total": 2})],
        **(scenario or {}),
    }


def offering(
    folder: Path,
    *,
    uris: tuple[str, ...] = (),
    templates: tuple[str, ...] = (),
    prompts: tuple[Any, ...] = (),
    name: str = "work",
    scenario: dict[str, Any] | None = None,
    **config: Any,
) -> ServerConfig:
    """Such a server."""
    told = life(uris=uris, templates=templates, prompts=prompts, name=name, scenario=scenario)
    return scripted(folder, told, name=name, **config)


def command_of(server: ServerConfig) -> dict[str, Any]:
    """The same, as a config file names it."""
    assert isinstance(server.transport, StdioTransport)
    return {"command": server.transport.command, "args": [*server.transport.args], "timeouts": {"close": 1}}
