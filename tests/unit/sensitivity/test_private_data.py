"""Names of private datasets, raises by a tool's code, and labels in results."""

from typing import Any

import pytest

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity.private_data import CURRENT, LABELS_KEY, PrivateData, check_dataset, labelled_level


class Book:
    def __init__(self) -> None:
        self.level = DataSensitivity.PUBLIC
        self.names: list[str] = []

    def add(self, dataset: str, sensitivity: DataSensitivity) -> None:
        self.names.append(dataset)
        self.level = max(self.level, sensitivity)


@pytest.fixture
def book():
    book = Book()
    token = CURRENT.set(book)
    yield book
    CURRENT.reset(token)


def test_a_dataset_is_told_to_who_carries_the_request_out(book: Book) -> None:
    PrivateData().add_private_dataset("payroll", DataSensitivity.SECRET)
    assert book.names == ["payroll"]
    assert PrivateData().sensitivity is DataSensitivity.SECRET


def test_outside_of_a_request_private_data_cannot_be_named() -> None:
    with pytest.raises(UsageError, match="whose agent session"):
        PrivateData().add_private_dataset("payroll", DataSensitivity.SECRET)
    with pytest.raises(UsageError, match="whose agent session"):
        _ = PrivateData().sensitivity


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 256])
def test_what_is_no_name_is_refused(book: Book, name: str) -> None:
    with pytest.raises(UsageError):
        PrivateData().add_private_dataset(name, DataSensitivity.SECRET)
    assert book.names == []


def test_what_is_no_level_is_refused(book: Book) -> None:
    with pytest.raises(ValueError, match="7"):
        PrivateData().add_private_dataset("payroll", 7)  # pyright: ignore[reportArgumentType]
    assert book.names == []


@pytest.mark.parametrize("name", ["patients", "Kunden 2026", "x" * 255])
def test_a_name_that_can_be_read_is_good(name: str):
    check_dataset(name)


@pytest.mark.parametrize("name", ["", "x" * 256, "two\nlines", "\x1b[2J"])
def test_any_other_is_refused_with_a_fix(name: str):
    with pytest.raises(UsageError) as caught:
        check_dataset(name)
    assert caught.value.fix


def labelled(labels: Any) -> DataSensitivity | None:
    return labelled_level({"content": [], "_meta": {LABELS_KEY: labels}})


@pytest.mark.parametrize("result", [{}, {"_meta": None}, {"_meta": {}}, {"_meta": {"other": ["secret"]}}], ids=repr)
def test_a_result_without_labels_makes_no_claim(result: dict[str, Any]):
    assert labelled_level(result) is None


@pytest.mark.parametrize("level", list(DataSensitivity))
def test_a_label_is_read_in_either_case(level: DataSensitivity):
    assert labelled([level.name]) == labelled([level.name.lower()]) == level


def test_the_highest_of_several_labels_counts():
    assert labelled(["public", "confidential", "internal"]) is DataSensitivity.CONFIDENTIAL


@pytest.mark.parametrize(
    "labels",
    [["ultra"], ["public", "ultra"], [3], [None], [["public"]], [], "public", {"public": 1}, 0, None],
    ids=repr,
)
def test_what_we_do_not_understand_counts_as_secret(labels: Any):
    assert labelled(labels) is DataSensitivity.SECRET


@pytest.mark.parametrize("meta", [[], ["secret"], "public", 7, False], ids=repr)
def test_where_labels_cannot_even_be_looked_for_the_result_counts_as_secret(meta: Any):
    assert labelled_level({"content": [], "_meta": meta}) is DataSensitivity.SECRET
