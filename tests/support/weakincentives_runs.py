"""Runs of weakincentives prompts: through its own adapter for Codex, whose `codex` is the one of the example."""

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from weakincentives.adapters.codex_app_server import CodexAppServerAdapter, CodexAppServerClientConfig
from weakincentives.prompt import MarkdownSection, Prompt, PromptTemplate, Tool
from weakincentives.runtime import InProcessDispatcher, Session

from bascule.bridges.weakincentives import McpIntegrationParams, McpIntegrationSection
from bascule.config import ServerConfig
from support.bridge_matrix import Call
from support.runtime import a_tool, calls_in, obeying

T = TypeVar("T")

CODEX = Path(__file__).parents[2] / "examples" / "weakincentives" / "codex.py"

ACT = {
    "properties": {
        "result": {"type": "object"},
        "error": {"type": "object"},
        "silent": {"type": "boolean"},
        "exit": {"type": "integer"},
        "progress": {"type": "array", "items": {"type": "number"}},
    },
    "additionalProperties": False,
}
BROKEN = {"content": [{"type": "text", "text": "no such table"}], "isError": True}
FATAL = {
    "content": [{"type": "text", "text": "the disk is gone"}],
    "isError": True,
    "_meta": {"dev.bascule/fatal": True},
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a model was shown of a call."""

    success: bool
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a run: what the model was shown, and the tools it was given."""

    shown: tuple[Shown, ...]
    tools: dict[str, dict[str, Any]]


def adapter(folder: Path, calls: Sequence[Call] = ()) -> CodexAppServerAdapter:
    """The framework's adapter, on a model that makes these calls."""
    # The framework undoes a failed call in the folder that it works in, too. No log of a server may lie there.
    home = folder / "codex"
    home.mkdir(exist_ok=True)
    command = home / "codex"
    command.write_text(f"#!{sys.executable}\n{CODEX.read_text()}")
    command.chmod(0o755)
    environment = {"CALLS": json.dumps(calls)}
    return CodexAppServerAdapter(
        client_config=CodexAppServerClientConfig(codex_bin=str(command), cwd=str(home), env=environment)
    )


def a_session() -> Session:
    return Session(dispatcher=InProcessDispatcher())


def a_prompt(*sections: Any) -> Prompt[Any]:
    template: Any = PromptTemplate[None]
    return Prompt(template(ns="tests", key="prompt", sections=list(sections)))


def ran(folder: Path, prompt: Prompt[Any], session: Session, calls: Sequence[Call]) -> Run:
    """A run to its end. What ends it before is raised."""
    answer = adapter(folder, calls).evaluate(prompt, session=session)
    told = json.loads(answer.text or "")
    return Run(tuple(Shown(**one) for one in told["shown"]), {tool["name"]: tool for tool in told["tools"]})


def run(folder: Path, section: McpIntegrationSection, *calls: Call) -> Run:
    return ran(folder, a_prompt(section), section.session, calls)


@contextmanager
def connected(*servers: ServerConfig, **more: Any) -> Generator[McpIntegrationSection]:
    """A section on some servers, for the length of the block."""
    with McpIntegrationSection(servers=servers, session=a_session(), **more) as section:
        yield section


def heard_by(session: Session, kind: type[T]) -> list[T]:
    """The events of one kind that are told from now on."""
    heard: list[T] = []
    keep: Callable[[Any], None] = heard.append
    session.dispatcher.subscribe(kind, keep)
    return heard


@dataclass(frozen=True, slots=True)
class Plan:
    """What a session of the tests holds."""

    words: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the tools of the tests are asked."""

    words: str = ""


def acting(folder: Path, **config: Any) -> ServerConfig:
    return obeying(folder / "log", a_tool("act", ACT), **config)


def beside(section: McpIntegrationSection, handler: Any) -> Prompt[Any]:
    """A prompt with the section, and with a tool of the framework's own called `own`."""
    made: Any = Tool[Asked, Asked]
    kind: Any = MarkdownSection[McpIntegrationParams]
    own = made(name="own", description="Does as it likes.", handler=handler)
    return a_prompt(section, kind(title="Own", template="", key="own", tools=[own]))


def sent(folder: Path) -> list[Any]:
    return [call["arguments"] for call in calls_in(folder / "log")]
