"""A process that notes the end of its input and every TERM, and goes on regardless."""

import os
import sys

from light import signal


def note(text: bytes) -> None:
    os.write(1, text + b"\n")  # a signal may come in the middle of `print`, which must not be entered twice


signal.signal(signal.SIGTERM, lambda *_: note(b"TERM"))
note(b"ready")
sys.stdin.read()
note(b"EOF")
while True:
    signal.pause()
