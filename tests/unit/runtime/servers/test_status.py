"""How one server stands for one agent session."""

import dataclasses

import pytest

from bascule.runtime.servers.status import LoginReport, ServerReport, no_longer_there
from bascule.upstream.settings import Agreement
from bascule.upstream.state import LinkState


def test_a_server_that_was_never_tried_has_nothing_to_tell():
    report = ServerReport("work", "stdio", LinkState.CONFIGURED)

    assert (report.reason, report.version, report.tools, report.seconds) == ("", None, 0, 0.0)
    assert (report.error, report.notes, report.required, report.change) == (None, (), False, None)


def test_the_version_is_the_one_that_was_agreed_on():
    agreement = Agreement("2026-07-28", {}, {}, "")

    assert ServerReport("work", "stdio", LinkState.READY, agreement=agreement).version == "2026-07-28"


def test_a_report_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ServerReport("work", "stdio", LinkState.READY).tools = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_a_login_is_told_with_how_the_server_stands():
    report = LoginReport(ServerReport("work", "http", LinkState.READY, tools=3), "https://login.example", "read")

    assert (report.server.tools, report.issuer, report.scope) == (3, "https://login.example", "read")


def test_a_server_that_is_not_there_says_so():
    report = no_longer_there("gone")

    assert (report.name, report.state, report.tools, report.required) == ("gone", LinkState.CLOSED, 0, False)
    assert report.error is not None
    assert report.reason == report.error.message == "no server is called 'gone'"
