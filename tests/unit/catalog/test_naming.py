"""Exposed names, and the nearest names to a mistaken one."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.naming import MAX_COMPARED, MAX_NAME, collision_problem, exposed_names, nearest_names

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


NAMES = ["files_read_text", "files_write_text", "github_create_issue", "github_list_issues", "time_now"]


def test_a_typing_mistake_finds_its_name():
    assert nearest_names("files_raed_text", NAMES)[0] == "files_read_text"
    assert nearest_names("github_create_isue", NAMES)[0] == "github_create_issue"


def test_case_does_not_matter():
    assert nearest_names("TIME_NOW", NAMES) == ("time_now",)


def test_a_name_without_its_prefix_is_found():
    assert nearest_names("create_issue", NAMES)[0] == "github_create_issue"


def test_nothing_like_it_is_nothing():
    assert nearest_names("zzzzqqqq", NAMES) == ()
    assert nearest_names("anything", []) == ()


def test_no_more_than_asked_for():
    assert len(nearest_names("files_text", [f"files_text_{n}" for n in range(50)], limit=2)) == 2


def test_among_very_many_names_the_right_one_is_still_found():
    many = [f"server{n}_tool_{n}" for n in range(20_000)]

    assert nearest_names("server777_tol_777", many)[0] == "server777_tool_777"


def test_a_very_long_mistake_is_cut_before_it_is_compared():
    assert nearest_names("time_now" + "x" * 1_000_000, NAMES) == ()


def test_only_so_many_names_are_compared_letter_by_letter():
    compared: list[str] = []

    class Watched(str):
        __slots__ = ()

        def __iter__(self) -> Iterator[str]:
            compared.append(str(self))
            return super().__iter__()

        def lower(self) -> "Watched":
            return self

    nearest_names("tool", [Watched(f"tool{n}") for n in range(5 * MAX_COMPARED)])
    assert len(set(compared)) <= MAX_COMPARED


@given(st.text(max_size=100), st.lists(st.text(max_size=20), max_size=20))
def test_only_known_names_are_suggested(name: str, names: list[str]):
    assert set(nearest_names(name, names)) <= set(names)
