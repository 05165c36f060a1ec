import logging
from typing import Any

import pytest

from bascule.core.events import LinkChanged
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.records.recorder import Recorder

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
