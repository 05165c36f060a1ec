"""The collector, in a program that serves for long."""

import subprocess
import sys

SHOWN = """
import gc
from bascule.cli import collector
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


def test_what_lasts_is_not_looked_through_and_what_nobody_knows_is_still_found():
    told = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout == "True\n"
