from typing import Any

import pytest

from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity.private_data import LABELS_KEY, labelled_level


def labelled(labels: Any) -> DataSensitivity | None:
    return labelled_level({"content": [], "_meta": {LABELS_KEY: labels}})


@pytest.mark.parametrize("result", [{}, {"_meta": None}, {"_meta": {}}, {"_meta": {"other": ["secret"]}}], ids=repr)
def test_a_result_without_labels_makes_no_claim(result: dict[str, Any]):
    assert labelled_level(result) is None


@pytest.mark.parametrize("level", list(DataSensitivity))
def test_a_label_is_read_in_either_case(level: DataSensitivity):
    assert labelled([level.name]) == labelled([level.name.lower()]) == level


def test_the_highest_of_several_labels_counts():
    assert labelled(["public", "confidential", "internal"]) is DataSensitivity.CONFIDENTIAL


@pytest.mark.parametrize(
    "labels",
    [["ultra"], ["public", "ultra"], [3], [None], [["public"]], [], "public", {"public": 1}, 0, None],
    ids=repr,
)
def test_what_we_do_not_understand_counts_as_secret(labels: Any):
    assert labelled(labels) is DataSensitivity.SECRET


@pytest.mark.parametrize("meta", [[], ["secret"], "public", 7, False], ids=repr)
def test_where_labels_cannot_even_be_looked_for_the_result_counts_as_secret(meta: Any):
    assert labelled_level({"content": [], "_meta": meta}) is DataSensitivity.SECRET
