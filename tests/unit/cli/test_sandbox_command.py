"""`bascule sandbox`."""

import io
import sys
from pathlib import Path

import pytest

from bascule.cli.main import main
from bascule.cli.parser import build_parser
from bascule.cli.sandbox_command import run
from bascule.core.errors import ConfigError


class Streams:
    """A stream of bytes, in the place of one of text."""

    def __init__(self, data: bytes = b"") -> None:
        self.buffer = io.BytesIO(data)


async def test_serving_answers_what_comes_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Streams()
    monkeypatch.setattr(sys, "stdin", Streams(b'{"id": 1, "method": "ping"}\n'))
    monkeypatch.setattr(sys, "stdout", out)
    assert await run(build_parser().parse_args(["sandbox", "serve", "--unboxed", str(tmp_path)])) == 0
    assert b'"id": 1' in out.buffer.getvalue()


async def test_without_a_box_it_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BASCULE_LANE", raising=False)
    with pytest.raises(ConfigError, match="no box"):
        await run(build_parser().parse_args(["sandbox", "serve"]))


def test_what_to_do_has_to_be_said(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["sandbox"])
    assert caught.value.code == 2
    assert "DEED" in capsys.readouterr().err
