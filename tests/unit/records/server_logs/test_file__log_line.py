"""One line of a log, written and read."""

import pytest

from bascule.records.server_logs.file import LogLine, read_line, write_line


@pytest.mark.parametrize(
    "line",
    [
        LogLine(1.5, "stderr", "ada", "s-1", "it says\n\x1b[31mno\r\u2028 ü", 4711),
        LogLine(1.5, "link", "ada", "s-1", "", state="ready"),
        LogLine(1.5, "note", "", "", "… 7 lines left out"),
    ],
)
def test_a_line_is_one_line_and_reads_as_it_was_written(line: LogLine):
    data = write_line(line)

    assert data.splitlines() == [data[:-1]]
    assert read_line(data) == line


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"at": 1}', b"\xff"])
def test_what_cannot_be_read_is_nothing(data: bytes):
    assert read_line(data) is None
