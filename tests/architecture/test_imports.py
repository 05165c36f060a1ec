"""What an import drags in. Each is tried in a fresh process, since this one has loaded everything already."""

import json
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import bascule
import bascule.kit

LATE = {"mcp", "mcp_types", "aiohttp", "pydantic", "yaml", "rich", "jsonschema_rs"}
"""Slow to import, so only where they are needed."""

SCRIPT = """
import json, sys
before = set(sys.modules)
import {module}
print(json.dumps(sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})))
"""


def third_party_after(module: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module=module)], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout)) - set(sys.stdlib_module_names) - {"bascule"}


def test_importing_bascule_loads_nothing_slow():
    assert third_party_after("bascule") & LATE == set()


def test_importing_bascule_loads_no_package_but_msgspec():
    assert third_party_after("bascule") <= {"msgspec"}


def test_the_command_loads_nothing_third_party_before_it_knows_what_to_do():
    assert third_party_after("bascule.cli.main") == set()


def test_the_workspace_loads_nothing_slow():
    assert third_party_after("bascule.workspace") & LATE == set()


def test_the_kit_loads_nothing_third_party_before_a_name_of_it_is_used():
    assert third_party_after("bascule.kit") == set()


@pytest.mark.parametrize("name", ["clock", "files", "notes", "post"])
def test_the_demo_servers_load_the_standard_library_only(name: str):
    assert third_party_after(f"bascule.demo.{name}") == set()


@pytest.mark.parametrize("package", [bascule, bascule.kit])
def test_no_submodule_hides_a_public_name_that_is_loaded_at_its_first_use(package: ModuleType):
    assert {module.name for module in pkgutil.iter_modules(package.__path__)} & {*package.__all__} == set()


def test_the_connectors_load_no_package_but_msgspec_and_what_it_needs():
    """Neither MCP, whose absence is their point, nor what only some of them need, nor what `kit` itself is made of."""
    assert third_party_after("bascule.kit.connectors") <= {"msgspec", "typing_extensions"}
