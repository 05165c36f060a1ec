"""These tests need weakincentives, and so a newer Python than the others: tests/integration/test_bridge_weakincentives.py
runs them on one."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("weakincentives") else ["test_*.py"]
