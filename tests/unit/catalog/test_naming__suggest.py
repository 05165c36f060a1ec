"""Names that look like a mistaken one."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.naming import MAX_COMPARED, nearest_names

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
