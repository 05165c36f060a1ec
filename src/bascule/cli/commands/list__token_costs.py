"""What tools cost a model's context: all of them, and the two that can stand for all."""

from collections.abc import Iterable, Iterator, Sequence
from shutil import get_terminal_size

from bascule.catalog.search.meta_tools import search_pair
from bascule.catalog.search.results import MOST_SHOWN
from bascule.catalog.search.token_estimate import METHOD, tokens_of, tokens_of_all
from bascule.cli.json_output.listings import ListShape
from bascule.core.tool import ToolSpec, ToolStatus

ANSWER = MOST_SHOWN // 4
"""Tokens that the answer to one search has at most, more or less."""


def cost_of(spec: ToolSpec) -> int:
    """What agents are not shown costs them nothing."""
    return tokens_of(spec) if spec.status is ToolStatus.EXPOSED else 0


def add_costs(shape: ListShape, specs: Sequence[ToolSpec]) -> None:
    """Put the tokens into a listing's JSON shape."""
    costs = {(spec.key.server, spec.key.tool): cost_of(spec) for spec in specs}
    for tool in shape["tools"]:
        tool["tokens"] = costs[tool["server"], tool["tool"]]
    for server in shape["servers"]:
        server["tokens"] = sum(cost for (name, _), cost in costs.items() if name == server["name"])
    shape["tokens"] = {
        "estimated": True,
        "method": METHOD,
        "all_tools": sum(costs.values()),
        "search_pair": _pair(specs),
        "search_answer_at_most": ANSWER,
    }


def cost_lines(specs: Sequence[ToolSpec]) -> Iterator[str]:
    """The same for people, the dearest first."""
    shown = [spec for spec in specs if spec.status is ToolStatus.EXPOSED]
    yield _line("tokens, estimated", "tokens", "tools")
    for server in sorted({spec.key.server for spec in shown}):
        own = sorted(
            (spec for spec in shown if spec.key.server == server), key=lambda spec: (-cost_of(spec), spec.name)
        )
        yield _line(server, tokens_of_all(own), len(own))
        yield from (_line(f"  {spec.name}", cost_of(spec)) for spec in own)
    yield _line("all tools", tokens_of_all(shown), len(shown))
    yield _line("search_tools and call_tool", _pair(specs), 2)
    yield f"each search adds at most some {ANSWER:,}; `catalog: {{search_above: N}}` gives agents the two above N tools"
    yield METHOD


def _pair(specs: Iterable[ToolSpec]) -> int:
    servers = sorted({spec.key.server for spec in specs if spec.status is ToolStatus.EXPOSED})
    return tokens_of_all(entry.spec for entry in search_pair(tuple(servers)))


def _line(name: str, tokens: int | str, tools: int | str = "") -> str:
    cost = f"{tokens:,}" if isinstance(tokens, int) else tokens
    # A narrow terminal has room for the numbers, and for names as long as most are.
    room = max(min(get_terminal_size((80, 24)).columns - 16, 50), len(name))
    return f"{name:<{room}}{cost:>9}{tools:>7}".rstrip()
