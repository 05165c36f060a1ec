"""Ranges of versions, as npm reads them."""

import pytest

from bascule.cli.doctor.node import fits, least, version_in


@pytest.mark.parametrize(
    ("wanted", "version", "good"),
    [
        (">=18", "v18.0.0", True), (">=18", "v17.9.9", False), (">= 18.12", "v18.11.0", False),
        ("^20.19.0 || >=22.12.0", "v21.0.0", False), ("^20.19.0 || >=22.12.0", "v20.20.2", True),
        ("18.x", "v18.4.1", True), ("18.x", "v20.0.0", False), (">=14 <19", "v20.0.0", False),
        ("16 - 18", "v18.9.0", True), ("~20.1", "v20.2.0", False), (">18", "v18.9.0", False), ("<=18", "v18.9.0", True),
        ("*", "v1.0.0", True), ("", "v1.0.0", True), ("whatever works", "v1.0.0", True), ("20.1.2", "v20.1.3", False),
    ],
)  # fmt: skip
def test_a_version_is_in_a_range_or_not(wanted: str, version: str, good: bool):
    read = version_in(version)

    assert read is not None
    assert fits(read, wanted) is good


def test_the_lowest_version_that_would_do_is_named():
    assert least("^20.19.0 || >=22.12.0", (12, 0, 0)) == "20.19"
    assert least(">=18", (12, 0, 0)) == "18"
    assert least("<10", (12, 0, 0)) == ""
    assert least("whatever works", (12, 0, 0)) == ""


def test_what_is_no_version_is_none():
    assert version_in("hello") is None
    assert version_in("v18") is None
