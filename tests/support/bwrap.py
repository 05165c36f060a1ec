"""Whether there is bubblewrap, for tests that need its boxes."""

import shutil

import pytest


def skip_without_bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("no bubblewrap (Debian: apt-get install bubblewrap)")
