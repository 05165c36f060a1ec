"""What a tool logs reaches the logger of whoever called it."""

import logging
from collections.abc import Generator
from pathlib import Path

import pytest

from bascule import Runtime, ToolResult
from bascule.config import ServerConfig, StdioTransport
from support.warm import python

SERVER = Path(__file__).parent.parent / "servers" / "remarking.py"


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append((record.levelname, record.getMessage()))


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Generator[Kept]:
    logger, handler = logging.getLogger("bascule.server.work"), Kept()
    logger.addHandler(handler)
    logger.setLevel(request.param)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


EVERYTHING = [("DEBUG", "looking"), ("INFO", "found it"), ("WARNING", "it is old"), ("ERROR", "it is broken")]


@pytest.mark.requirement("KIT-7")
@pytest.mark.parametrize("era", ["old", "new"])
@pytest.mark.parametrize(
    ("kept", "expected"),
    [(logging.DEBUG, EVERYTHING), (logging.WARNING, EVERYTHING[2:])],
    indirect=["kept"],
)
@pytest.mark.long
async def test_a_tools_remarks_reach_the_callers_logger_at_their_level(
    kept: Kept, expected: list[tuple[str, str]], era: str
):
    config = ServerConfig(
        name="work",
        transport=StdioTransport(command=python(), args=(str(SERVER),)),
        era=era,  # pyright: ignore[reportArgumentType]
    )
    async with Runtime.from_servers({"work": config}) as runtime:
        outcome = await runtime.session("alice", "s-1").call("work_work")

    assert isinstance(outcome, ToolResult), outcome
    assert [(level, text.split(" {")[0]) for level, text in kept.said] == expected
