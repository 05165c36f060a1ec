"""Which engine makes a server's box."""

from typing import Any

import pytest

from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.core.errors import ConfigError, SandboxError
from bascule.sandbox.engines import Engines, looked_for, settings_of
from support.box_engines import NotingEngine

DOCKER, BUBBLEWRAP = NotingEngine("docker"), NotingEngine("bubblewrap")
BOTH = Engines((DOCKER, BUBBLEWRAP))
ONE = Engines((BUBBLEWRAP,), {"docker": "nothing listens at /var/run/docker.sock"})
NEITHER = Engines((), {"docker": "no socket", "bubblewrap": "bwrap is not installed"})


def a_server(sandbox: Any = None) -> ServerConfig:
    return ServerConfig("files", StdioTransport("files"), sandbox=sandbox)


def test_nothing_said_means_the_best_there_is():
    assert BOTH.of(a_server()) is DOCKER
    assert ONE.of(a_server()) is BUBBLEWRAP


def test_nothing_said_and_no_engine_means_that_the_server_is_loose():
    assert NEITHER.of(a_server()) is None


def test_the_operators_word_takes_the_box_away():
    assert BOTH.of(a_server("none")) is None


def test_a_server_that_is_no_process_has_no_box():
    assert BOTH.of(ServerConfig("far", StreamableHttpTransport("https://a.test/mcp"))) is None


@pytest.mark.parametrize(
    ("sandbox", "expected"),
    [
        (Sandbox(), DOCKER),
        (Sandbox(engine="docker"), DOCKER),
        (Sandbox(engine="bubblewrap"), BUBBLEWRAP),
        (Sandbox(image="python:3.12"), DOCKER),
    ],
)
def test_an_engine_is_chosen_by_what_was_asked_for(sandbox: Sandbox, expected: NotingEngine):
    assert BOTH.of(a_server(sandbox)) is expected


@pytest.mark.parametrize("sandbox", [Sandbox(engine="docker"), Sandbox(image="python:3.12")])
def test_what_was_asked_for_and_is_not_there_is_an_error_and_never_another_engine(sandbox: Sandbox):
    error = ONE.of(a_server(sandbox))

    assert isinstance(error, SandboxError)
    assert error.evidence == "docker: nothing listens at /var/run/docker.sock"
    assert "sandbox: none" in error.fix


def test_who_asks_for_a_box_where_there_is_none_gets_an_error_and_never_a_plain_process():
    error = NEITHER.of(a_server(Sandbox()))

    assert isinstance(error, SandboxError)
    assert error.evidence == "docker: no socket\nbubblewrap: bwrap is not installed"


def test_an_operator_can_say_which_engines_are_looked_for():
    assert looked_for({}) == looked_for({"BASCULE_SANDBOX": "auto"}) == ("docker", "bubblewrap")
    assert looked_for({"BASCULE_SANDBOX": "bubblewrap"}) == ("bubblewrap",)
    assert looked_for({"BASCULE_SANDBOX": "none"}) == ()


def test_a_word_that_is_not_known_is_no_word():
    with pytest.raises(ConfigError, match="BASCULE_SANDBOX must be one of"):
        looked_for({"BASCULE_SANDBOX": "off"})


def test_a_box_that_nobody_described_is_the_usual_one():
    asked = Sandbox(mounts=(HostPath("/data"),))
    assert settings_of(a_server()) == settings_of(a_server("none")) == Sandbox()
    assert settings_of(a_server(asked)) is asked
