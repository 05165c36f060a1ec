"""The built-in server that tells the time."""

from datetime import UTC, datetime, timedelta

from bascule.demo.clock import TOOLS, now


def test_it_tells_the_time_in_utc():
    told = datetime.fromisoformat(now()["now"])

    assert told.tzinfo is UTC
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=1)


def test_it_has_one_tool_that_takes_nothing():
    (tool,) = TOOLS

    assert (tool.name, tool.run, tool.input_schema["properties"]) == ("now", now, {})
    assert tool.description
