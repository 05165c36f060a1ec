"""Every claim of the README is shown by something that runs, and no figure of it is better than the one that was recorded."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench.__main__ import SUITES

pytestmark = pytest.mark.requirement("UX-5")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| (?P<claim>[^|]+) \| \[(?P<kind>test|bench)\]\((?P<path>[^)]+)\) `(?P<name>[^`]+)` \|$", re.MULTILINE
)
TABLE = README.partition("## What is claimed")[2].partition("\n## ")[0]
CLAIMS = [claim.groupdict() for claim in ROW.finditer(TABLE)]
RECORDED: dict[str, Any] = json.loads((ROOT / "bench/recorded.json").read_text(encoding="utf-8"))["suites"]


def test_every_row_of_the_table_is_read():
    assert len(CLAIMS) == TABLE.count("\n|") - 2 > 10


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if claim["kind"] == "test"], ids=lambda claim: claim["name"]
)
def test_a_claim_is_shown_by_a_test_that_is_there(claim: dict[str, str]):
    path = ROOT / claim["path"]
    functions = [
        node.name
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert path.name.startswith("test_"), "pytest does not look there"
    assert claim["name"] in functions


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if claim["kind"] == "bench"], ids=lambda claim: claim["claim"]
)
def test_a_figure_is_measured_and_no_better_than_the_recorded_one(claim: dict[str, str]):
    suite = Path(claim["path"]).stem
    (sense, figure), *more = re.findall(r"(at most|at least) ([\d.]+) [×s]", claim["claim"])
    rows = [row for part in RECORDED[suite].values() for row in part if row["name"] == claim["name"] and row["goal"]]
    held = [row["value"] for row in rows if row["goal"]["sense"] == sense]

    assert suite in SUITES
    assert not more
    assert held, f"bench/recorded.json has no row {claim['name']} with a goal of its kind in {suite}"
    # What is named alike is measured in several ways: the figure is true of all of them.
    assert all(value <= float(figure) if sense == "at most" else value >= float(figure) for value in held), held
