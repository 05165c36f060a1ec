"""What a request that is no tool call is about."""

from bascule.core.permission import Permission
from bascule.core.tool import Subject, ToolKey, ToolStatus


def test_it_counts_as_reading_and_as_telling_the_server():
    subject = Subject(ToolKey("files", "a://1"), "a://1")

    assert subject.permissions == {Permission.READ, Permission.CONNECT}
    assert (subject.status, subject.problem) == (ToolStatus.EXPOSED, "")
