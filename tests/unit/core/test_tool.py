"""Tools, and the subjects of other requests."""

import dataclasses

import pytest

from bascule.core.permission import Permission
from bascule.core.tool import Subject, ToolKey, ToolSpec, ToolStatus


def test_a_key_tells_equal_names_of_two_servers_apart():
    assert ToolKey("a", "read") != ToolKey("b", "read")
    assert sorted([ToolKey("b", "a"), ToolKey("a", "b")]) == [ToolKey("a", "b"), ToolKey("b", "a")]
    assert str(ToolKey("files", "read.text")) == "files/read.text"


def test_a_spec_is_exposed_and_promises_nothing_unless_told():
    spec = ToolSpec("files_read", ToolKey("files", "read"), "sha256:0")

    assert spec.status is ToolStatus.EXPOSED
    assert spec.output_schema is None
    assert spec.input_schema == {}


def test_a_spec_cannot_be_changed():
    spec = ToolSpec("files_read", ToolKey("files", "read"), "sha256:0")

    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_whoever_reads_only_pointers_gets_a_schema_that_has_no_others():
    spec = ToolSpec("files_read", ToolKey("files", "read"), "sha256:0", input_schema={"$id": "urn:a"})

    assert spec.plain_schema is spec.input_schema
    assert dataclasses.replace(spec, flat_schema={"type": "object"}).plain_schema == {"type": "object"}


def test_it_counts_as_reading_and_as_telling_the_server():
    subject = Subject(ToolKey("files", "a://1"), "a://1")

    assert subject.permissions == {Permission.READ, Permission.CONNECT}
    assert (subject.status, subject.problem) == (ToolStatus.EXPOSED, "")
