from typing import Any

import pytest

from bascule.core.errors import PathRefused, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import FileSource, JsonConnector
from bascule.kit.connectors.json_files import MAX_DEPTH, MAX_FILE, JsonKey
from bascule.workspace import Workspace
from support.private_data import Book

VALUE: dict[str, Any] = {
    "people": [{"name": "Ann"}, {"name": "Bob"}],
    "a/b~c": True,
    "n": 1.5,
    "t": "xyz",
    "none": None,
    "": 7,
}


@pytest.fixture
def file(workspace: Workspace) -> str:
    JsonConnector.write("f.json", VALUE)
    return "f.json"


@pytest.mark.parametrize(
    ("pointer", "value"), [("", VALUE), ("/people/1/name", "Bob"), ("/a~1b~0c", True), ("/", 7), ("/none", None)]
)
def test_what_stands_at_a_place_is_read(file: str, pointer: str, value: Any):
    assert JsonConnector.read(file, pointer) == value


def test_of_a_list_a_part_can_be_read(file: str):
    assert JsonConnector.read(file, "/people", offset=1) == [{"name": "Bob"}]
    assert JsonConnector.read(file, "/people", limit=1) == [{"name": "Ann"}]
    with pytest.raises(UsageError, match="not negative"):
        JsonConnector.read(file, "/people", offset=-1)


def test_keys_tell_what_there_is(file: str):
    assert JsonConnector.keys(file) == (
        JsonKey("people", "list", 2), JsonKey("a/b~c", "boolean", None), JsonKey("n", "number", None), JsonKey("t", "text", 3),
        JsonKey("none", "null", None), JsonKey("", "number", None),
    )  # fmt: skip
    assert JsonConnector.keys(file, "/people") == (JsonKey("0", "object", 1), JsonKey("1", "object", 1))


@pytest.mark.parametrize(
    "pointer",
    ["people", "/nobody", "/people/2", "/people/-1", "/people/01x", "/people/²", "/n/x", "/t/0", "/people/99999999999"],
)
def test_a_place_that_is_not_there_is_told_with_what_is(file: str, pointer: str):
    with pytest.raises(UsageError) as caught:
        JsonConnector.read(file, pointer)
    assert caught.value.evidence


def test_keys_of_what_has_none_are_refused(file: str):
    with pytest.raises(UsageError, match="nothing inside"):
        JsonConnector.keys(file, "/n")


@pytest.mark.parametrize(
    "text", ["", "{", "nope", "[NaN]", "\xff", "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "[" * 200_000]
)
def test_what_is_no_json_or_too_deep_is_refused(workspace: Workspace, text: str):
    workspace.write_bytes("b.json", text.encode("latin-1"))
    with pytest.raises(UsageError):
        JsonConnector.read("b.json")


def test_one_answer_and_one_file_have_a_size(workspace: Workspace):
    JsonConnector.write("l.json", ["x" * 1000] * 1000)
    with pytest.raises(UsageError, match="too much to be shown"):
        JsonConnector.read("l.json")
    assert len(JsonConnector.read("l.json", limit=10)) == 10
    workspace.write_bytes("h.json", b" " * (MAX_FILE + 1))
    with pytest.raises(UsageError, match="too large"):
        JsonConnector.keys("h.json")


def test_what_json_cannot_hold_is_not_written(workspace: Workspace):
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    for value in (deep, endless, object(), {"a": {1, (2, 3)}, "b": object()}, "x" * 9_000_000):
        with pytest.raises(UsageError):
            JsonConnector.write("n.json", value)
    assert not workspace.exists("n.json")


def test_a_private_file_is_told_first_and_none_is_outside(file: str, book: Book):
    source = FileSource("people", file, DataSensitivity.CONFIDENTIAL)
    JsonConnector.read(source, "/n")
    JsonConnector.keys(source)
    assert book.names == ["people", "people"]
    book.fails = True
    for act in (lambda: JsonConnector.read(source), lambda: JsonConnector.keys(source)):
        with pytest.raises(OSError, match="store is gone"):
            act()
    with pytest.raises(PathRefused):
        JsonConnector.read("/etc/passwd")
