"""Rules for every test: markers are registered, skips are told, state stays in a folder of the test's own, and no child
process outlives its test."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest

from support import compiled, crew, sample, warm
from support.children import beneath, left_behind
from support.crew import pytest_runtestloop as pytest_runtestloop  # noqa: PLC0414 -- a hook of pytest
from support.level_stores import store_address as store_address  # noqa: PLC0414 -- fixtures, for every test
from support.postgres import database as database  # noqa: PLC0414 -- the same
from support.postgres import postgres as postgres  # noqa: PLC0414 -- the same
from support.skips import SkipLedger

with suppress(ModuleNotFoundError):
    # Before anything is frozen: it looks for who refers to what, and sees nothing frozen.
    drawn = import_module("hypothesis")
    # No test asserts how long something takes: on a busy machine, drawing a value took over a second.
    unhurried = {"deadline": None, "suppress_health_check": [drawn.HealthCheck.too_slow]}
    drawn.settings.register_profile("unhurried", drawn.settings.default, **unhurried)
    drawn.settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    crew.pytest_addoption(parser)
    sample.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs us in the background has it ignored, by all that we start too: some tests are of Ctrl-C.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Read by the package `keyring`, here and in every process that a test starts: nobody's own keyring is touched.
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    # Most tests are of other things than boxes, and their servers are plain processes. Those of boxes say so.
    os.environ["BASCULE_SANDBOX"] = "none"
    config.addinivalue_line("markers", "requirement(*ids): the rows of tests/behaviour/manifest.py that a test proves")
    config.addinivalue_line("markers", sample.LONG)
    config.pluginmanager.register(SkipLedger(), "skip-ledger")
    if config.option.sample:
        config.pluginmanager.register(sample.Sample(), "sample")
    if config.option.hands:
        warm.begin()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Thousands of tests and all that they import stay to the end: looking through them for garbage, again and again, took
    a third of the time that finding them takes, and later a second of whichever test collects."""
    gc.disable()
    hands = session.config.option.hands
    try:
        with compiled.beside(session.config, Path(__file__).parent.rglob("test_*.py")) if hands else nullcontext():
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.hands:
        warm.python()  # one for all hands


@pytest.fixture(scope="session")
def scale() -> int:
    """What counts are multiplied by: one, or ten in `make soak`."""
    return 10 if os.environ.get("BASCULE_SOAK") == "1" else 1


_folders = count()


@pytest.fixture(autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only named: who keeps state makes the folder."""
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path_factory.getbasetemp() / f"state-{next(_folders)}"))


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    before = beneath()
    yield
    if left := left_behind(before):
        pytest.fail("the test left child processes behind, now ended:\n" + "\n".join(left), pytrace=False)
