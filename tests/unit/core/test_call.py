"""A call as it comes through a door."""

import pytest

from bascule.core.call import ToolCall


def test_a_call_leaves_its_timeout_to_the_config_unless_told():
    call = ToolCall("files_read", {"path": "a"})

    assert call.timeout is None
    assert call.on_progress is None


def test_a_call_cannot_be_changed():
    call = ToolCall("files_read", {})

    with pytest.raises(AttributeError):
        call.name = "files_write"  # pyright: ignore[reportAttributeAccessIssue]
