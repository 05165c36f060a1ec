"""`bascule serve --demo`."""

import os
import signal
from pathlib import Path

import pytest

from bascule.cli.parser.command_table import build_parser
from bascule.cli.serve.demo import arranged
from bascule.core.errors import UsageError
from support.waiting import until


def test_it_brings_its_own_config_guests_and_state():
    options = build_parser().parse_args(["serve", "--demo"])
    with arranged(options):
        config = Path(options.config)
        assert config.is_file()
        assert options.dev
        assert options.guests is not None
        assert os.environ["BASCULE_HOME"].startswith(str(config.parent))
    assert not config.parent.exists()


@pytest.mark.parametrize("words", [("--config", "a.yaml"), ("--url", "http://x/mcp"), ("--internal-url", "http://x")])
def test_what_it_settles_itself_cannot_be_given(words: tuple[str, str]):
    with (
        pytest.raises(UsageError, match=f"takes no {words[0]}"),
        arranged(build_parser().parse_args(["serve", "--demo", *words])),
    ):
        pass


def test_it_is_not_for_a_client_that_starts_it():
    with pytest.raises(SystemExit):
        build_parser().parse_args(["serve", "--demo", "--stdio"])


async def test_a_window_that_is_closed_stops_it():
    before = signal.getsignal(signal.SIGHUP)
    heard: list[int] = []
    ended = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with arranged(build_parser().parse_args(["serve", "--demo"])):
            signal.raise_signal(signal.SIGHUP)
            # It may reach another thread first; who no longer heard it then would be ended by it.
            await until(lambda: bool(heard))
    finally:
        signal.signal(signal.SIGTERM, ended)
    assert heard == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) == before
