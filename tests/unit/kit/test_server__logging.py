import logging
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from bascule.kit.server import FASTMCP, plain_log

WORDS = "a line that is much longer than a terminal is wide, and is not to be cut, wrapped or drawn around " * 3


@contextmanager
def served(level: str | int | None = None) -> Generator[None]:
    """As in a server's own process, where the handlers of pytest are not."""
    root = logging.getLogger()
    handlers = [*root.handlers]
    for handler in handlers:
        root.removeHandler(handler)
    try:
        with plain_log(level):
            yield
    finally:
        assert root.handlers == []
        for handler in handlers:
            root.addHandler(handler)


def fail(depth: int) -> None:
    if depth:
        fail(depth - 1)
    raise ZeroDivisionError(WORDS)


def test_lines_are_plain_and_tracebacks_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with served():
        try:
            fail(12)
        except ZeroDivisionError:
            logging.getLogger("fastmcp.server").exception(WORDS)
        logging.getLogger("records").warning("from the author's own")

    said = capsys.readouterr().err
    assert f"ERROR fastmcp.server: {WORDS}\n" in said
    assert f"ZeroDivisionError: {WORDS}\n" in said
    assert "[Previous line repeated 9 more times]" in said
    assert "WARNING records: from the author's own" in said
    assert not {"│", "╭", "\x1b"} & set(said)


def test_everything_is_as_before_afterwards() -> None:
    before = ([*FASTMCP.handlers], FASTMCP.propagate, FASTMCP.level, [*logging.getLogger().handlers])
    with plain_log("debug"):
        assert (FASTMCP.level, FASTMCP.handlers, FASTMCP.propagate) == (logging.DEBUG, [], True)
    with pytest.raises(ZeroDivisionError), plain_log("error"):
        fail(0)

    assert before == ([*FASTMCP.handlers], FASTMCP.propagate, FASTMCP.level, [*logging.getLogger().handlers])
    assert FASTMCP.handlers


def test_how_much_is_said_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    with served(logging.ERROR):
        logging.getLogger("fastmcp").info("too much")
    with served("info"):
        logging.getLogger("fastmcp").info("as wished")

    said = capsys.readouterr().err
    assert ("too much" in said, "as wished" in said) == (False, True)


def test_where_the_author_has_set_up_logging_it_goes_there(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    mine = Listener()
    logging.getLogger().addHandler(mine)
    with plain_log():
        logging.getLogger("fastmcp").error("to the author")
    logging.getLogger().removeHandler(mine)

    assert heard == ["to the author"]
    assert capsys.readouterr().err == ""
