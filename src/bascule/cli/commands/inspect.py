"""`bascule inspect`: everything known of one server or one tool, such as schema, digest, permissions and sandbox."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bascule.catalog.pinning.definition_diff import definition_diff
from bascule.catalog.signature import signature
from bascule.cli import exit_codes
from bascule.cli.json_output.listings import (
    BoxShape,
    InspectedServerShape,
    InspectedToolShape,
    ReportShape,
    TwinShape,
    WordShape,
)
from bascule.cli.output.errors import as_json, finding_shapes, json_line, legible
from bascule.cli.output.level_messages import how_to_go_on, level_word
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common
from bascule.cli.session import agent_session
from bascule.core.errors import Refused, SandboxError, UnknownTool
from bascule.core.rendering import render_structured
from bascule.core.text.invisible_chars import escaped
from bascule.core.tool import ToolSpec
from bascule.runtime.servers.status import ServerReport

if TYPE_CHECKING:
    from bascule.config.model.runtime_config import ServerConfig
    from bascule.config.model.transport import Transport
    from bascule.runtime.session import AgentSession
    from bascule.sandbox.factory import Boxing


def box_shape(server: "ServerConfig", boxing: "Boxing", environ: Mapping[str, str] = os.environ) -> BoxShape | None:
    """The engine of a server's sandbox, and the paths of the host that it shows, leaves out or masks. None if the
    server has no sandbox. Fetched packages and the workspace are left out: the operator does not choose them."""
    from bascule.sandbox.mounts.layout import shown  # noqa: PLC0415 -- slow, and not for the options

    engine = boxing.engine_of(server)
    if engine is None or isinstance(engine, SandboxError):
        return None
    try:
        box = boxing.preview(server, environ)
    except SandboxError as error:
        return {"engine": engine.kind, "error": error.message}
    if box is None:
        return None
    return {
        "engine": engine.kind,
        "shows": [{"path": each.path, "mode": each.mode, "why": each.why} for each in shown(box)],
        "masked": [{"path": mask.path, "why": mask.why} for mask in box.masks],
        "unscanned": list(box.unscanned),
        "bounds": dict(engine.bounds()),
    }


async def sandbox_shape(
    server: "ServerConfig", boxing: "Boxing", environ: Mapping[str, str] = os.environ
) -> BoxShape | None:
    """The same, with the inodes that a sealed sandbox shares with others."""
    shape = await asyncio.to_thread(box_shape, server, boxing, environ)
    if shape is None or "error" in shape:
        return shape
    try:
        shared = await boxing.shared_inodes(server, environ)
    except SandboxError as error:
        return {**shape, "error": error.message}
    return {**shape, "shared_inodes": list(shared.paths), "shared_why": shared.why} if shared.paths else shape


_EXAMPLES = """\
  bascule inspect everything  a server: how it stands, what it says of itself, its tools
  bascule inspect everything_echo  a tool: its schema, its digest, its permissions
  bascule inspect everything_echo --json"""


def add_options(command: Parser) -> None:
    exits = {3: "the server cannot be reached", 4: "the rules keep it from this agent session"}
    add_common(command.document(_EXAMPLES, exits))
    command.add_argument("name", metavar="SERVER|TOOL", help="a server's name, or a tool's exposed name")


async def run(options: argparse.Namespace) -> int:
    async with agent_session(options) as session:
        shape = await known_of(session, options.name)
        refused = any(isinstance(report.error, Refused) for report in session.servers() if report.name == options.name)
        if refused and (advice := how_to_go_on(session)):
            print(legible(f"note: {advice}"), file=sys.stderr)
    if options.json:
        print(json_line(shape))
    else:
        told = {key: value for key, value in msgspec.to_builtins(shape).items() if value not in (None, "", [], {})}
        print(escaped(render_structured(told, "yaml")))
    if shape.get("error") is None:
        return exit_codes.OK
    return exit_codes.DENIED if refused else exit_codes.UNREACHABLE


async def known_of(session: "AgentSession", name: str) -> InspectedServerShape | InspectedToolShape:
    """Everything known under a name. Raises `UnknownTool` where it is neither a server nor a tool."""
    server = next((report for report in session.servers() if report.name == name), None)
    if server is not None:
        report = await session.settle(name)
        tools = [spec for spec in session.toolbox.all_specs() if spec.key.server == name]
        config = session.config(name)
        word = word_shape(config, boxed=session.boxed(name))
        return {**server_shape(report, tools), **word, "box": await sandbox_shape(config, session.boxing)}
    await session.find(name)
    spec = next((spec for spec in session.toolbox.all_specs() if spec.name == name), None)
    if spec is None:
        # Only now are all servers asked: the answer names what is near among all there is.
        await session.connect()
        raise _neither(session.toolbox.unknown(name))
    return tool_shape(spec, _since_approved(session, spec))


def server_shape(report: ServerReport, tools: list[ToolSpec]) -> ReportShape:
    agreement = report.agreement
    return {
        "server": report.name,
        "transport": report.transport,
        "state": report.state,
        "reason": report.reason,
        "era": report.version,
        "server_info": _plain(agreement.server_info) if agreement is not None else None,
        "capabilities": _plain(agreement.capabilities) if agreement is not None else None,
        "instructions": agreement.instructions if agreement is not None else "",
        "notes": list(report.notes),
        "repairs": list(report.repairs),
        "findings": finding_shapes(report.findings),
        "changed_since_last_run": _change(report),
        "error": as_json(report.error) if report.error is not None else None,
        "tools": [
            {"name": spec.name, "status": spec.status, "problem": spec.problem, "findings": len(spec.findings)}
            for spec in tools
        ],
    }


def _since_approved(session: "AgentSession", spec: ToolSpec) -> tuple[str, ...]:
    approved, entry = session.lock.approved(spec.key), session.entries(spec.key.server).get(spec.key.tool)
    if approved is None or entry is None:
        return ()
    return definition_diff(approved.definition, entry.definition)


def word_shape(server: "ServerConfig", *, boxed: bool) -> WordShape:
    """What the operator says of a server: its ways out, what its tools may do and bring, what it is believed."""
    from bascule.runtime.servers.lane_links import footing  # noqa: PLC0415 -- as above

    return {
        "footing": footing(server, boxed=boxed),
        "twin": _twin(server, boxed=boxed),
        "vouched": level_word(server.vouched) if server.vouched is not None else None,
        "raises": {tool: level_word(level) for tool, level in server.raises.items()},
        "ask": list(server.ask),
        "trust": sorted(server.trust),
        "permissions": {tool: sorted(may) for tool, may in server.permissions.items()},
    }


def _twin(server: "ServerConfig", *, boxed: bool) -> TwinShape | None:
    if server.isolated is not None:
        return twin_shape(server.isolated, server.twin)
    return {"by": "probed", "transport": server.transport.kind, "opened": server.twin} if boxed else None


def twin_shape(twin: "Transport", opened: Literal["lazy", "eager"]) -> TwinShape:
    """How a twin is reached. It is `declared`: that it has no way out is the operator's word."""
    from bascule.config.model.transport import RemoteTransport, StdioTransport  # noqa: PLC0415 -- as above
    from bascule.config.urls import shown_url  # noqa: PLC0415

    shape: TwinShape = {"by": "declared", "transport": twin.kind, "opened": opened}
    if isinstance(twin, RemoteTransport):
        shape["url"] = shown_url(twin.url)
    if isinstance(twin, StdioTransport):
        shape["command"] = [twin.command, *twin.args]
    return shape


def tool_shape(spec: ToolSpec, since_approved: tuple[str, ...] = ()) -> InspectedToolShape:
    return {
        "name": spec.name,
        "server": spec.key.server,
        "tool": spec.key.tool,
        "title": spec.title,
        "signature": signature(spec.key.tool, spec.plain_schema),
        "description": spec.description,
        "status": spec.status,
        "problem": spec.problem,
        "changed_since_approved": list(since_approved),
        "repairs": list(spec.notes),
        "findings": finding_shapes(spec.findings),
        "permissions": sorted(spec.permissions),
        "digest": spec.digest,
        "annotations": _plain(spec.annotations),
        "input_schema": _plain(spec.input_schema),
        "output_schema": _plain(spec.output_schema) if spec.output_schema is not None else None,
    }


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return dict(value)


def _change(report: ServerReport) -> dict[str, list[str]]:
    change = report.change
    if change is None:
        return {}
    return {"added": list(change.added), "changed": list(change.changed), "removed": list(change.removed)}


def _neither(unknown: UnknownTool) -> UnknownTool:
    message = unknown.message.replace("there is no tool", "there is no server and no tool", 1)
    return UnknownTool(message, nearest=unknown.nearest, fix=unknown.fix)
