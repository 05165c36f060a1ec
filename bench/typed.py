"""Benchmark of typed tools: the cost of generating the classes once for each digest, and of loading and dumping
arguments."""

import time
from collections.abc import Callable
from itertools import count
from statistics import median
from typing import Any

from bascule import typed_tool
from bascule.core.tool import ToolKey, ToolSpec
from bench.result import Goal, Report, Row

ROUNDS = 101

USER: dict[str, Any] = {
    "type": "object",
    "properties": {"login": {"type": "string"}, "id": {"type": "integer"}},
    "required": ["login"],
    "additionalProperties": False,
}

ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "owner": {"type": "string", "description": "Repository owner"},
        "repo": {"type": "string", "description": "Repository name"},
        "title": {"type": "string", "minLength": 1},
        "body": {"type": ["string", "null"], "default": None},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"enum": ["open", "closed"]},
        "milestone": {"type": "integer", "minimum": 1},
        "assignee": USER,
    },
    "required": ["owner", "repo", "title"],
    "additionalProperties": False,
}
"""A tool as many servers have it: eight arguments, one of them an object."""

CREATED: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "url": {"type": "string"}, "author": USER},
    "required": ["number", "url"],
}

GIVEN = {"owner": "o", "repo": "r", "title": "t", "labels": ["a", "b"], "assignee": {"login": "ada"}}

WIDE: dict[str, Any] = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(500)}}

_digests = count()


def a_spec(schema: dict[str, Any], output: dict[str, Any] | None = None) -> ToolSpec:
    """A tool that nobody has asked for yet."""
    key = ToolKey("github", "create_issue")
    digest = f"digest {next(_digests)}"
    return ToolSpec("github_create_issue", key, digest, input_schema=schema, output_schema=output)


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return median(taken)


async def run(report: Report) -> None:
    known = a_spec(ISSUE, CREATED)
    typed = typed_tool(known)
    issue = typed.load(GIVEN)
    rows = [
        Row(
            "arguments and results of a typical tool, made",
            seconds(lambda: typed_tool(a_spec(ISSUE, CREATED))) * 1e3,
            "ms",
            Goal("at most", 3),
        ),
        Row("the same, asked for again", seconds(lambda: typed_tool(known)) * 1e6, "µs"),
        Row("arguments, checked and loaded", seconds(lambda: typed.load(GIVEN)) * 1e6, "µs"),
        Row("arguments, dumped", seconds(lambda: typed.dump(issue)) * 1e6, "µs"),
        Row("a tool of 500 arguments, made", seconds(lambda: typed_tool(a_spec(WIDE)), 9) * 1e3, "ms"),
    ]
    report.add("types of tools", rows)
