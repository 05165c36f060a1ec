"""The table of what goes on once private data is on board, written out."""

import re
from pathlib import Path

import pytest

from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.policy.containment import TABLE, Footing, footing_of, goes_on

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
MODEL = Path(__file__).parents[3] / "docs" / "security-model.md"

WRITTEN_OUT = {
    (PUBLIC, "confined"): "read write connect",
    (PUBLIC, "loose"): "read write connect",
    (PUBLIC, "vouched: confidential"): "read write connect",
    (PUBLIC, "vouched: secret"): "read write connect",
    (PUBLIC, "native"): "read write connect",
    (INTERNAL, "confined"): "read write connect",
    (INTERNAL, "loose"): "read write connect",
    (INTERNAL, "vouched: confidential"): "read write connect",
    (INTERNAL, "vouched: secret"): "read write connect",
    (INTERNAL, "native"): "read write connect",
    (CONFIDENTIAL, "confined"): "read write connect",
    (CONFIDENTIAL, "loose"): "",
    (CONFIDENTIAL, "vouched: confidential"): "read write",
    (CONFIDENTIAL, "vouched: secret"): "read write",
    (CONFIDENTIAL, "native"): "read write",
    (SECRET, "confined"): "read write connect",
    (SECRET, "loose"): "",
    (SECRET, "vouched: confidential"): "",
    (SECRET, "vouched: secret"): "read write",
    (SECRET, "native"): "read write",
}


@pytest.mark.parametrize(("level", "footing"), WRITTEN_OUT)
def test_the_table_is_what_it_was_meant_to_be(level: DataSensitivity, footing: str):
    assert goes_on(level, Footing(footing)) == {Permission(name) for name in WRITTEN_OUT[level, footing].split()}


def test_there_is_nothing_beside_the_table():
    assert {(level, str(footing)) for level, row in TABLE.items() for footing in row} == WRITTEN_OUT.keys()
    assert goes_on("no level", Footing.CONFINED) == frozenset()  # pyright: ignore[reportArgumentType]
    assert goes_on(SECRET, "no footing") == frozenset()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("level", DataSensitivity)
def test_the_documents_show_the_same_table(level: DataSensitivity):
    rows = [line.strip("|").split("|") for line in MODEL.read_text().splitlines() if line.startswith("|")]
    (cells,) = [row[2:] for row in rows if row[0].strip() == level.name and len(row) == 2 + len(Footing)]
    shown = [{Permission(word) for word in re.findall("read|write|connect", cell)} for cell in cells]

    assert shown == [set(goes_on(level, footing)) for footing in Footing]


def test_a_twin_counts_for_more_than_a_word():
    assert footing_of(has_twin=True, vouched=None) is Footing.CONFINED
    assert footing_of(has_twin=False, vouched=None) is Footing.LOOSE
    assert footing_of(has_twin=False, vouched=CONFIDENTIAL) is Footing.VOUCHED_CONFIDENTIAL
    assert footing_of(has_twin=False, vouched=SECRET) is Footing.VOUCHED_SECRET
    assert footing_of(has_twin=False, vouched=INTERNAL) is Footing.LOOSE
