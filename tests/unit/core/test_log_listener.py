import mcp_types
import pytest

from bascule.core.log_listener import LEVELS, most_talkative, reaches


def test_the_levels_are_those_of_the_protocol():
    assert mcp_types.LoggingLevel.__args__ == LEVELS


@pytest.mark.parametrize(
    ("level", "least", "wanted"),
    [
        ("debug", "debug", True),
        ("debug", "info", False),
        ("emergency", "info", True),
        ("emergency", "", False),
        ("what", "info", True),
        ("what", "error", False),
        (None, "info", True),
        ("info", "what", False),
    ],
)
def test_a_remark_is_wanted_from_a_level_on(level: object, least: str, wanted: bool):
    assert reaches(level, least) is wanted


def test_the_most_talkative_lets_most_through():
    assert most_talkative("error", "", "info", "what") == "info"
    assert not most_talkative("", "what")
