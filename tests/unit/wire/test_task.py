"""What a task may look like."""

from typing import Any

import pytest

from bascule.core.errors import ProtocolViolation
from bascule.wire.task import MAX_ID, TASKS, read_task, result_of_task, speaks_tasks


def test_how_a_task_stands_is_read_without_what_it_may_bring():
    raw = {"taskId": "t", "status": "working", "ttlMs": None, "result": {}, "error": {}, "more": 1}
    assert read_task(raw, "s", "x") == ("t", {"status": "working", "ttlMs": None})


@pytest.mark.parametrize(
    "raw",
    [
        {"status": "working"},
        {"taskId": "", "status": "working"},
        {"taskId": 5, "status": "working"},
        {"taskId": "x" * (MAX_ID + 1), "status": "working"},
        {"taskId": "t"},
        {"taskId": "t", "status": "flying"},
        {"taskId": "t", "status": "x" * 100},
    ],
)
def test_what_no_task_may_look_like_is_refused(raw: dict[str, Any]):
    with pytest.raises(ProtocolViolation, match="s/x is malformed"):
        read_task(raw, "s", "x")


def test_a_task_that_is_completed_has_a_whole_result():
    assert result_of_task({"result": {"content": []}}, "s", "x") == {"content": []}
    for raw in ({}, {"result": []}, {"result": {"resultType": "task"}}, {"result": {"resultType": "input_required"}}):
        with pytest.raises(ProtocolViolation):
            result_of_task(raw, "s", "x")


@pytest.mark.parametrize(
    "said", [None, {}, {"extensions": []}, {"extensions": {TASKS: None}}, {"extensions": {"x": {}}}]
)
def test_who_does_not_say_so_has_no_tasks(said: object):
    assert not speaks_tasks(said)
    assert speaks_tasks({"extensions": {TASKS: {}}})
