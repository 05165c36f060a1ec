"""Event recorder, and the set of failing servers."""

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule.core.events import CatalogChanged, LinkChanged
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.records.recorder import Failing, Recorder
from bascule.records.server_logs.file import log_path
from bascule.records.server_logs.log import ServerLog
from bascule.records.server_logs.tail import LogTail
from support.auditing import logged, opened
from support.telling import link

EVENT = LinkChanged("files", Lane.OPEN, Principal("alice", "s-1"), "ready", "", 1.0)


def broken(_: Any) -> None:
    raise RuntimeError("my sink is full")


def test_every_sink_hears_every_event_in_order():
    first: list[Any] = []
    second: list[Any] = []
    recorder = Recorder([first.append, second.append])
    recorder.record(EVENT)
    recorder.record(EVENT)

    assert first == second == [EVENT, EVENT]


def test_a_sink_that_raises_is_logged_and_the_others_still_hear(caplog: pytest.LogCaptureFixture):
    heard: list[Any] = []
    with caplog.at_level(logging.ERROR, "bascule.records"):
        Recorder([broken, heard.append]).record(EVENT)

    assert heard == [EVENT]
    assert "my sink is full" in caplog.text


def test_a_sink_that_ends_the_program_does_end_it():
    def leave(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Recorder([leave]).record(EVENT)


def test_sinks_are_those_of_the_beginning():
    sinks: list[Any] = []
    recorder = Recorder(sinks)
    sinks.append(broken)

    recorder.record(EVENT)


async def test_the_log_of_servers_hears_of_links_and_of_what_is_said(tmp_path: Path):
    log = ServerLog(lambda: 2.0)
    log.open(tmp_path / "state" / "logs" / "abc")
    recorder = Recorder([], log)
    recorder.record(EVENT)
    recorder.record(CatalogChanged("files", (), (), (), 1.0))
    recorder.said("files", EVENT.principal, 7, "hello")
    await log.close()

    lines = LogTail(log_path(tmp_path / "state" / "logs" / "abc", "files")).last(10)
    assert [(line.kind, line.text, line.state, line.pid) for line in lines] == [
        ("link", "", "ready", None),
        ("stderr", "hello", None, 7),
    ]


def test_without_a_log_what_is_said_is_let_be():
    Recorder([]).said("files", EVENT.principal, 7, "hello")


async def test_the_audit_log_hears_everything_first(tmp_path: Path):
    waiting: list[int] = []

    async with opened(tmp_path) as audit:

        def look(_: Any) -> None:
            assert audit._open is not None
            waiting.append(audit._open.writer.kept)

        Recorder([look], None, audit).record(EVENT)

    assert waiting == [1]
    assert logged(tmp_path, "link")[0]["state"] == "ready"


def test_it_is_known_which_servers_fail():
    recorder = Recorder()
    recorder.record(msgspec.structs.replace(EVENT, state="failed"))
    assert recorder.failing.servers == {"files"}
    recorder.record(EVENT)
    assert recorder.failing.servers == set()


def test_a_server_fails_until_a_link_to_it_is_of_use():
    failing = Failing()
    failing.note(link("failed", server="a"))
    failing.note(link("failed", server="b"))
    assert failing.servers == {"a", "b"}
    failing.note(link("ready", server="a"))
    failing.note(link("degraded", server="b"))
    assert failing.servers == set()


@pytest.mark.parametrize("state", ["configured", "connecting", "closed", "needs-auth"])
def test_what_is_under_way_or_meant_changes_nothing(state: str):
    failing = Failing()
    failing.note(link(state))
    assert failing.servers == set()
    failing.note(link("failed"))
    failing.note(link(state))
    assert failing.servers == {"work"}
