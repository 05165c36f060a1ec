"""What the system says went wrong, told as an agent may hear it."""

import errno

import pytest

from bascule.core.errors import NoRoom, PathRefused, WorkspaceError
from bascule.workspace.errors import linked_out, no_file, told


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOENT, WorkspaceError, "was not found"),
        (errno.EISDIR, WorkspaceError, "is a folder"),
        (errno.EEXIST, WorkspaceError, "exists already"),
        (errno.EAGAIN, WorkspaceError, "keeps changing"),
        (errno.ELOOP, PathRefused, "go round"),
        (errno.EXDEV, PathRefused, "another disk"),
        (errno.ENXIO, PathRefused, "no file"),
        (errno.ENOSPC, NoRoom, "the disk is full"),
        (errno.EDQUOT, NoRoom, "no room"),
        (errno.EFBIG, NoRoom, "larger than"),
        (errno.ECHILD, WorkspaceError, "could not be used"),
        (None, WorkspaceError, "could not be used"),
    ],
)
def test_an_error_of_the_system_is_told_in_words_without_a_host_path(
    number: int | None, kind: type[WorkspaceError], words: str
):
    failure = told(OSError(number, "strange", "/host/secret/place", None, "/host/other"), "a/b")
    assert type(failure) is kind
    assert words in failure.message
    assert failure.where == "/workspace/a/b"
    assert failure.evidence == (errno.errorcode[number] if number else "unknown")
    assert failure.fix
    assert "/host" not in repr(vars(failure))


def test_what_leads_out_and_what_is_no_file_are_refused():
    assert "leads out" in linked_out("a").message
    assert "one of several hard links" in no_file("a", "one of several hard links").message
