"""The variables that a server finds in a box are those that its author is told of."""

from pathlib import Path

import pytest

from bascule.config import state_dir

PAGE = (Path(__file__).parents[3] / "docs/kit.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "variable",
    [state_dir.LANE_VARIABLE, state_dir.RAISE_SOCKET_VARIABLE, state_dir.WORKSPACE_VARIABLE],
)
def test_every_variable_is_told_of(variable: str):
    assert f"| `{variable}` |" in PAGE
