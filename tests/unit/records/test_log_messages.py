"""Remarks of servers in our own log."""

import logging
from collections.abc import Generator

import pytest

from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask
from bascule.records.log_messages import LONGEST, MOST, Remarks, wanted_level

WHO = Principal("alice", "s-1")


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def kept() -> Generator[Kept]:
    logger, handler = logging.getLogger("bascule.server.files"), Kept()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def hear(remarks: Remarks, data: object, level: object = "warning", **more: object) -> None:
    remarks.hear("files", WHO, Mask(["hunter2hunter2"]), {"level": level, "data": data, **more})


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("debug", logging.DEBUG),
        ("info", logging.INFO),
        ("notice", logging.INFO),
        ("warning", logging.WARNING),
        ("error", logging.ERROR),
        ("critical", logging.CRITICAL),
        ("alert", logging.CRITICAL),
        ("emergency", logging.CRITICAL),
        ("shout", logging.INFO),
        (7, logging.INFO),
    ],
)
def test_a_remark_is_logged_at_its_level(kept: Kept, word: object, level: int) -> None:
    hear(Remarks(lambda: 0.0), "low on disk", word)

    (record,) = kept.records
    assert (record.levelno, record.getMessage()) == (level, "low on disk")
    assert (record.__dict__["server"], record.__dict__["user_id"]) == ("files", "alice")


def test_what_is_no_text_is_told_as_json_with_the_name_of_its_logger(kept: Kept) -> None:
    hear(Remarks(lambda: 0.0), {"free": 3}, logger="disk")

    assert kept.records[0].getMessage() == 'disk: {"free":3}'


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"msg": "low on disk", "extra": None}, "low on disk"),
        ({"message": "low on disk", "extra": {"free": 3}}, 'low on disk {"extra":{"free":3}}'),
        ({"msg": 7}, '{"msg":7}'),
        (None, "null"),
        ([1], "[1]"),
    ],
)
def test_the_words_of_a_structured_remark_come_first(kept: Kept, data: object, shown: str) -> None:
    hear(Remarks(lambda: 0.0), data)

    assert kept.records[0].getMessage() == shown


def test_a_remark_shows_no_secret_and_cannot_pass_for_another_line(kept: Kept) -> None:
    hear(Remarks(lambda: 0.0), "token hunter2hunter2\nERROR all is lost \x1b[2J")

    assert kept.records[0].getMessage() == "token ***\\nERROR all is lost \\x1b[2J"


def test_a_remark_is_cut_where_nobody_would_read_on(kept: Kept) -> None:
    hear(Remarks(lambda: 0.0), "x" * (2 * LONGEST))

    assert len(kept.records[0].getMessage()) == LONGEST


def test_a_server_that_never_stops_is_silenced_for_a_while(kept: Kept) -> None:
    now = 0.0
    remarks = Remarks(lambda: now)
    for _ in range(MOST + 50):
        hear(remarks, "again")

    assert len(kept.records) == MOST + 1
    assert "says too much" in kept.records[-1].getMessage()

    now = 120.0
    hear(remarks, "later")
    assert kept.records[-1].getMessage() == "later"


def test_what_nobody_would_log_is_not_even_counted(kept: Kept) -> None:
    logging.getLogger("bascule.server.files").setLevel(logging.ERROR)
    remarks = Remarks(lambda: 0.0)
    for _ in range(MOST + 50):
        hear(remarks, "again")
    hear(remarks, "ouch", "error")

    assert [record.getMessage() for record in kept.records] == ["ouch"]


@pytest.mark.parametrize(
    ("level", "word"),
    [(logging.DEBUG, "debug"), (logging.INFO, "info"), (logging.WARNING, "warning"), (99, "emergency")],
)
def test_a_server_is_asked_for_what_is_logged(kept: Kept, level: int, word: str) -> None:
    logging.getLogger("bascule.server.files").setLevel(level)

    assert wanted_level("files") == word
