"""What may be sent again although it may have been carried out."""

import pytest

from bascule.core.permission import UNDECLARED, Permission
from bascule.policy.permissions import may_repeat

READ, WRITE, CONNECT = Permission.READ, Permission.WRITE, Permission.CONNECT


@pytest.mark.parametrize(
    ("globs", "tool", "may"),
    [
        ((), "get_row", False),
        (("get_*",), "get_row", True),
        (("get_*",), "forget_row", False),
        (("put", "get_row"), "get_row", True),
        (("GET_*",), "get_row", False),
        (("*",), "anything", True),
    ],
)
def test_a_tool_that_the_operator_names_may_be(globs: tuple[str, ...], tool: str, may: bool):
    assert may_repeat(globs, UNDECLARED, tool) is may


@pytest.mark.parametrize(
    ("permissions", "may"),
    [({READ}, True), ({READ, WRITE}, False), ({READ, CONNECT}, False), ({WRITE}, False), (set[Permission](), False)],
)
def test_a_tool_that_only_reads_may_be(permissions: set[Permission], may: bool):
    assert may_repeat((), frozenset(permissions), "act") is may
