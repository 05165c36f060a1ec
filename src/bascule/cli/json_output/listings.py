"""JSON shapes of servers, tools, resources and prompts, and of their approval."""

from typing import Any, Literal, NotRequired, TypedDict

from bascule.cli.json_output.answers import ErrorShape, FindingShape, Level
from bascule.core.permission import Permission
from bascule.core.tool import ToolStatus
from bascule.upstream.state import LinkState


class ListedServerShape(TypedDict):
    """How a server stands."""

    name: str
    transport: str
    state: LinkState
    era: str | None
    """The version of the protocol that was agreed on."""
    tools: int
    ms: float
    """Until it was known how it stands."""
    error: ErrorShape | None
    tokens: NotRequired[int]
    """What its tools cost a model's context, with `--tokens`."""


class ListedToolShape(TypedDict):
    """A tool, by the name that agents know it by."""

    name: str
    server: str
    tool: str
    """The server's own name for it."""
    permissions: list[Permission]
    digest: str
    """Of its whole definition: another one means that something in it was changed."""
    description: str
    status: ToolStatus
    problem: str
    """Why it is not exposed."""
    findings: list[FindingShape]
    tokens: NotRequired[int]
    """With `--tokens`."""


class ListedResourceShape(TypedDict):
    """A resource, or a template for many."""

    server: str
    kind: Literal["resource", "template"]
    uri: str | None
    uri_template: str | None
    name: str
    title: str | None
    description: str
    mime_type: str | None
    size: int | None
    digest: str
    findings: list[FindingShape]


class BlankShape(TypedDict):
    """What a prompt is filled in with."""

    name: str
    description: str
    required: bool


class ListedPromptShape(TypedDict):
    """A prompt, by the name that agents know it by."""

    name: str
    server: str
    prompt: str
    title: str | None
    description: str
    arguments: list[BlankShape]
    digest: str
    status: ToolStatus
    findings: list[FindingShape]


class CostShape(TypedDict):
    """What tools cost a model's context."""

    estimated: Literal[True]
    method: str
    all_tools: int
    search_pair: int
    """Of the two tools that can stand for all."""
    search_answer_at_most: int


class ListShape(TypedDict):
    """Every server, and every tool that agents see or would see."""

    servers: list[ListedServerShape]
    tools: list[ListedToolShape]
    tokens: NotRequired[CostShape]
    """With `--tokens`."""
    resources: NotRequired[list[ListedResourceShape]]
    """With `--resources`."""
    prompts: NotRequired[list[ListedPromptShape]]
    """With `--prompts`."""
    problems: NotRequired[list[str]]
    """With either: what could not be listed, and why."""


class OwnToolShape(TypedDict):
    """One tool of a server."""

    name: str
    status: ToolStatus
    problem: str
    findings: int
    """How many."""


class TwinShape(TypedDict):
    """What serves a server's tools once an agent session is private."""

    by: Literal["declared", "probed"]
    transport: str
    url: NotRequired[str]
    command: NotRequired[list[str]]
    opened: Literal["lazy", "eager"]


class ShownPathShape(TypedDict):
    """A path that a box shows."""

    path: str
    mode: str
    why: str


class MaskedPathShape(TypedDict):
    """A path that a sandbox shows empty."""

    path: str
    why: str


class BoxShape(TypedDict):
    """The box that a server runs in."""

    engine: str
    bounds: NotRequired[dict[str, str]]
    """The extent of each bound on this machine, by its key: `not bounded` where it does not hold."""
    shows: NotRequired[list[ShownPathShape]]
    masked: NotRequired[list[MaskedPathShape]]
    """Files that are empty in the sandbox, and folders that are."""
    unscanned: NotRequired[list[str]]
    """Shown folders with more entries than are searched for files to mask."""
    shared_inodes: NotRequired[list[str]]
    """Files and folders whose inodes its private lanes share with other sandboxes. Missing: none."""
    shared_why: NotRequired[str]
    error: NotRequired[str]
    """Why it cannot be made."""


class ReportShape(TypedDict):
    """How a server stands, and what it says of itself."""

    server: str
    transport: str
    state: LinkState
    reason: str
    era: str | None
    server_info: dict[str, Any] | None
    """In its own words."""
    capabilities: dict[str, Any] | None
    instructions: str
    notes: list[str]
    repairs: list[str]
    """What was put right in its tools' definitions."""
    findings: list[FindingShape]
    changed_since_last_run: dict[str, list[str]]
    """Tools by what became of them: `added`, `changed`, `removed`. Empty, where nothing did."""
    error: ErrorShape | None
    tools: list[OwnToolShape]


class WordShape(TypedDict):
    """What the operator says of a server."""

    footing: str
    """What is known of its ways out: `confined`, `loose`, `native`, or `vouched: ` and a level."""
    twin: TwinShape | None
    vouched: Level | None
    raises: dict[str, Level]
    ask: list[str]
    trust: list[str]
    permissions: dict[str, list[Permission]]


class InspectedServerShape(ReportShape, WordShape):
    """All that is known of a server."""

    box: BoxShape | None


class InspectedToolShape(TypedDict):
    """All that is known of a tool."""

    name: str
    server: str
    tool: str
    title: str | None
    signature: str
    description: str
    status: ToolStatus
    problem: str
    changed_since_approved: list[str]
    """The lines of a diff."""
    repairs: list[str]
    findings: list[FindingShape]
    permissions: list[Permission]
    digest: str
    annotations: dict[str, Any]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None


class ProposedShape(TypedDict):
    """A tool that is not as it was approved."""

    tool: str
    change: Literal["new", "changed", "removed"]
    digest: str | None
    diff: list[str]
    findings: list[FindingShape]


class ReviewShape(TypedDict):
    """A server, and what there is to approve of it."""

    name: str
    locked: bool
    approved: bool
    """Whether it was approved just now."""
    waits: bool
    """Whether something still waits for approval."""
    error: ErrorShape | None
    tools: list[ProposedShape]


class ApproveShape(TypedDict):
    """What was approved, and what waits."""

    ok: bool
    lock: str
    """The path of `bascule.lock`."""
    servers: list[ReviewShape]


class StubShape(TypedDict):
    """A tool as a typed function."""

    name: str
    function: str
    digest: str
    exact: bool
    """Whether the types take just what the schema takes."""
    inexact: list[str]
    """What only the schema says."""


class StubsShape(TypedDict):
    """The module that was made."""

    file: str | None
    tools: list[StubShape]
    module: NotRequired[str]
    """Its text, without `--out`."""
    changed: NotRequired[bool]
    """Whether the file was another, with `--out`."""
