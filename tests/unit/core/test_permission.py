"""Permission classes."""

from bascule.core.permission import UNDECLARED, Permission
from bascule.core.tool import ToolKey, ToolSpec


def test_a_tool_of_which_nothing_is_said_may_do_the_worst():
    assert frozenset({Permission.WRITE, Permission.CONNECT}) == UNDECLARED
    assert ToolSpec("a_b", ToolKey("a", "b"), "sha256:0").permissions is UNDECLARED
