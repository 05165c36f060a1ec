import asyncio
import os
import socket
import subprocess
import sys
import threading

import pytest

from support import footprint as subject
from support.footprint import footprint, left_since, objects_alive


@pytest.fixture(autouse=True)
def a_short_moment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "MOMENT", 0.05)


async def test_nothing_is_left_of_nothing():
    assert await left_since(footprint()) == ""


async def test_an_open_descriptor_is_told_by_what_it_leads_to():
    before = footprint()
    with socket.socket(), socket.socket():
        assert await left_since(before) == "descriptors: {'socket:': 2}"
    assert await left_since(before) == ""


async def test_a_process_is_told_with_its_own_children():
    before = footprint()
    script = "import os, subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'input()']).pid, flush=True); os.wait()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= footprint().descendants - before.descendants
        assert str(grandchild) in await left_since(before)
    assert await left_since(before) == ""


async def test_a_task_is_told():
    before = footprint()
    task = asyncio.create_task(asyncio.Event().wait(), name="forgotten")
    assert "forgotten" in await left_since(before)
    task.cancel()
    assert await left_since(before) == ""


async def test_a_thread_is_told():
    before, end = footprint(), threading.Event()
    thread = threading.Thread(target=end.wait, name="forgotten")
    thread.start()
    assert await left_since(before) == "threads: frozenset({'forgotten'})"
    end.set()
    thread.join()
    assert await left_since(before) == ""


async def test_what_is_let_go_within_a_moment_is_not_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "MOMENT", 10.0)
    before = footprint()
    read, write = os.pipe()
    asyncio.get_running_loop().call_later(0.05, lambda: (os.close(read), os.close(write)))
    assert await left_since(before) == ""


def test_objects_that_stay_are_counted_and_those_in_a_circle_are_not():
    before = objects_alive()
    kept = [[number] for number in range(1000)]
    circle: list[object] = []
    circle.append(circle)
    del circle
    assert 1000 <= objects_alive() - before < 1100
    assert len(kept) == 1000
