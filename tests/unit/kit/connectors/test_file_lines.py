import io
import os
from pathlib import Path

import pytest

from bascule.core.errors import UsageError
from bascule.kit.connectors.file_lines import MAX_LINE, MAX_SHOWN, bounded_lines, part_from, part_from_end


def file(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)


def test_a_part_knows_where_it_is_and_whether_there_is_more():
    data = b"a\nb\r\nc\nd"
    part = part_from(file(data), "f", 2, 2)
    assert (part.text, part.first, part.lines, part.more) == ("b\r\nc\n", 2, 2, True)
    part = part_from(file(data), "f", 4, 9)
    assert (part.text, part.lines, part.more) == ("d", 1, False)
    assert part_from(file(data), "f", 9, 9).text == ""
    assert part_from(file(b""), "f", 1, 1).lines == 0


def test_the_last_lines_are_counted_from_the_end():
    for data, most, text, more in [
        (b"a\nb\nc\n", 2, "b\nc\n", True),
        (b"a\nb\nc", 2, "b\nc", True),
        (b"a\nb\n", 9, "a\nb\n", False),
        (b"\n\n", 1, "\n", True),
        (b"", 3, "", False),
    ]:
        part = part_from_end(file(data), "f", most)
        assert (part.text, part.first, part.more) == (text, None, more)


def test_of_a_huge_file_only_the_end_is_read(tmp_path: Path):
    path = tmp_path / "huge"
    with path.open("wb") as out:
        out.truncate(1 << 36)  # 64 GiB, of which nothing lies on the disk
        out.seek(0, os.SEEK_END)
        out.write(b"\nlast but one\nlast\n")
    with path.open("rb") as opened:
        assert part_from_end(opened, "f", 2).text == "last but one\nlast\n"


def test_a_line_without_end_is_cut_and_the_next_one_is_found():
    data = "ä".encode() * MAX_LINE + b"\nnext\n"
    first, second = bounded_lines(file(data))
    assert len(first) <= MAX_LINE + 6
    assert first.decode().endswith("ä […]\n")
    assert second == b"next\n"
    part = part_from_end(file(b"x" * (MAX_SHOWN * 4)), "f", 1)
    assert part.more
    assert len(part.text) <= MAX_SHOWN


def test_one_answer_has_a_size():
    part = part_from(file(b"x" * 1000 + b"\n" + (b"y" * 1000 + b"\n") * 2000), "f", 1, 5000)
    assert part.more
    assert len(part.text) <= MAX_SHOWN
    part = part_from_end(file((b"y" * 1000 + b"\n") * 2000), "f", 5000)
    assert part.more
    assert len(part.text) <= MAX_SHOWN


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe", b"\x89PNG\r\n\x1a\n\0"])
def test_what_is_no_text_is_refused(data: bytes):
    for act in (lambda: part_from(file(data), "f.bin", 1, 5), lambda: part_from_end(file(data), "f.bin", 5)):
        with pytest.raises(UsageError, match=r"f\.bin is no text"):
            act()
