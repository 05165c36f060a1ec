"""The end of a chain, found without reading the rest."""

from pathlib import Path
from typing import Any

import pytest

from bascule.records.audit import chain_slot
from bascule.records.audit.chain_slot import read_tail
from bascule.store.audit.chain import Chain, Macs

MACS = Macs(b"k" * 32, "w-0001")


def lines(count: int, first: int = 1, chain: Chain | None = None, width: int = 0) -> bytes:
    bodies = (f'{{"kind":"x","seq":{n},"at":1.0,"w":"{"x" * width}"}}\n' for n in range(first, first + count))
    return (chain or Chain(MACS)).add("".join(bodies).encode())


def written(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def sequence(paths: list[Path]) -> int | None:
    chain = read_tail(paths).chain(MACS)
    return None if chain is None else chain.sequence


def test_a_chain_that_has_no_file_begins():
    assert sequence([]) == 0


def test_a_chain_is_continued_after_its_last_whole_record(tmp_path: Path):
    for count in (1, 2, 7):
        assert sequence(written(tmp_path, lines(count))) == count
    paths = written(tmp_path, lines(5) + b'{"kind":"torn"')

    assert sequence(paths) == 5
    assert read_tail(paths).torn == 14


def test_a_first_record_that_is_torn_leaves_an_empty_chain(tmp_path: Path):
    paths = written(tmp_path, b"torn")

    assert (sequence(paths), read_tail(paths).torn) == (0, 4)


def test_the_end_may_lie_in_the_file_before(tmp_path: Path):
    chain = Chain(MACS)
    first, second = lines(3, 1, chain), lines(1, 4, chain)

    assert sequence(written(tmp_path, first, second)) == 4
    assert sequence(written(tmp_path, first, b"")) == 3
    assert sequence(written(tmp_path, first, b"torn")) == 3
    assert sequence(written(tmp_path, lines(1), b"")) == 1


def test_a_file_before_the_last_that_is_torn_is_not_believed(tmp_path: Path):
    chain = Chain(MACS)
    first, second = lines(3, 1, chain), lines(1, 4, chain)

    assert sequence(written(tmp_path, first[:-1], second)) is None


@pytest.mark.parametrize("place", [-3, -20, -90, -150])
def test_a_last_record_that_was_altered_is_not_continued(tmp_path: Path, place: int):
    content = bytearray(lines(5))
    content[place] ^= 1

    assert sequence(written(tmp_path, bytes(content))) is None


def test_a_first_record_that_does_not_begin_its_chain_is_not_believed(tmp_path: Path):
    content = lines(5).splitlines(keepends=True)

    assert sequence(written(tmp_path, content[4])) is None


def test_a_chain_of_another_writer_is_not_continued(tmp_path: Path):
    for count in (1, 3):
        paths = written(tmp_path, lines(count, chain=Chain(Macs(b"k" * 32, "w-0002"))))
        assert (sequence(paths) is None) == (count == 1)
    # From the third record on only the key tells; the first record is what `bascule audit verify` looks at.
    assert read_tail(paths).chain(Macs(b"o" * 32, "w-0001")) is None


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain_slot, "CHUNK", 64)
    for width in (0, 10, 100, 1000):
        (path,) = written(tmp_path, lines(50, width=width))
        assert sequence([path]) == 50
    read = 0
    real = Path.open

    def counting(self: Path, mode: str = "r"):
        file = real(self, mode)
        reading = file.read

        def counted(size: int = -1) -> Any:
            nonlocal read
            read += size
            return reading(size)

        file.read = counted
        return file

    monkeypatch.setattr(Path, "open", counting)
    sequence([path])
    assert read < 5000 < path.stat().st_size


def test_a_line_that_never_ends_is_not_read_to_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain_slot, "CHUNK", 64)
    monkeypatch.setattr(chain_slot, "LONGEST_LINE", 640)

    assert sequence(written(tmp_path, lines(2, width=5000))) is None
