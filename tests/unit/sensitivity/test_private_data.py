import pytest

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity.private_data import CURRENT, PrivateData


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
