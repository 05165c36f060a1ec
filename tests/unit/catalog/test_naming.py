"""Exposed names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.naming import MAX_NAME, collision_problem, exposed_names

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def name_of(tool: str, prefix: str = "srv") -> str:
    return exposed_names("server", prefix, [tool])[tool]


@pytest.mark.parametrize(
    ("prefix", "tool", "name"),
    [
        ("github", "create_issue", "github_create_issue"),
        ("", "create_issue", "create_issue"),
        ("my-files", "read-text", "my-files_read-text"),
        ("srv", "repo.list", "srv_repo_list"),
        ("srv", "get user/x", "srv_get_user_x"),
        ("srv", "größe", "srv_gr__e"),
    ],
)
def test_a_name_is_prefix_and_tool_in_safe_characters(prefix: str, tool: str, name: str):
    assert name_of(tool, prefix) == name


@given(
    st.text(max_size=80),
    st.lists(st.text(min_size=1, max_size=150), min_size=1, max_size=8, unique=True),
)
def test_whatever_they_were_called_names_are_safe_and_apart(prefix: str, tools: list[str]):
    names = exposed_names("server", prefix, tools)

    assert list(names) == tools
    assert all(NAME.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == len(tools)


def test_the_longest_name_that_fits_is_not_cut():
    tool = "x" * (MAX_NAME - len("srv_"))

    assert name_of(tool) == f"srv_{tool}"


def test_a_name_that_is_too_long_ends_in_a_hash_of_all_of_it():
    one, other = name_of("x" * 100 + "a"), name_of("x" * 100 + "b")

    assert len(one) == len(other) == MAX_NAME
    assert one != other
    assert one[:-8] == other[:-8]


def test_the_hash_tells_servers_apart():
    tool = "x" * 100

    assert exposed_names("a", "same", [tool])[tool] != exposed_names("b", "same", [tool])[tool]


def test_a_name_does_not_depend_on_the_run():
    assert name_of("y" * 100) == "srv_" + "y" * 51 + "_a028497b"


def test_of_tools_that_would_share_a_name_the_one_that_has_it_keeps_it():
    names = exposed_names("server", "srv", ["get.user", "get_user", "get/user"])

    assert names["get_user"] == "srv_get_user"
    assert re.fullmatch(r"srv_get_user_[0-9a-f]{8}", names["get.user"])
    assert re.fullmatch(r"srv_get_user_[0-9a-f]{8}", names["get/user"])
    assert len(set(names.values())) == 3


def test_a_collision_names_both_tools_and_the_way_out():
    problem = collision_problem("a_b_c", ["b/c", "a/b_c"])

    assert "a/b_c and b/c" in problem
    assert "a_b_c" in problem
    assert "prefix" in problem
