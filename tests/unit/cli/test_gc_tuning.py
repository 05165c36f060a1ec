"""The collector, in a program that loads, and in one that serves for long."""

import subprocess
import sys

LOADED = """
import gc
from bascule.cli import gc_tuning as collector

runs = []
gc.callbacks.append(lambda phase, info: runs.append(phase))
with collector.loading():
    lasting = [[] for _ in range(10_000)]
assert not runs
assert gc.isenabled()
assert gc.get_freeze_count() > 10_000
try:
    with collector.loading():
        raise ImportError("no such module")
except ImportError:
    print(gc.isenabled())
"""

SHOWN = """
import gc
from bascule.cli import gc_tuning as collector
lasting = [[] for _ in range(1000)]
collector.rest()
assert gc.get_freeze_count() > 1000
assert gc.isenabled()
assert gc.get_threshold()[0] == collector.YOUNG

class Circle:
    left = 0
    def __init__(self):
        self.me = self
    def __del__(self):
        Circle.left += 1

for _ in range(3 * collector.YOUNG):
    Circle()
print(Circle.left > collector.YOUNG)
"""


def test_nothing_is_looked_for_while_modules_are_loaded_and_what_they_make_is_left_alone():
    told = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout == "True\n"


def test_what_lasts_is_not_looked_through_and_what_nobody_knows_is_still_found():
    told = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout == "True\n"
