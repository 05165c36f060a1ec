"""The plugin's fixtures, and what loading it costs those who do not use them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bascule import testing
from bascule.kit import ToolPermission, create_mcp_server, get_user_id, tool_permission
from bascule.testing import Calls
from bascule.testing.plugin import MakesClients

SCRIPT = """
import sys
import pytest
before = set(sys.modules)
import bascule.testing.plugin
new = {name for name in set(sys.modules) - before if name.partition(".")[0] not in sys.stdlib_module_names}
assert new == {"bascule", "bascule.testing", "bascule.testing.plugin"}, new
"""


def test_loading_it_loads_nothing_else():
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)

    assert ended.returncode == 0, ended.stderr


def test_the_room_has_no_other_names():
    with pytest.raises(AttributeError, match="has no attribute 'clint'"):
        _ = testing.clint  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def test_the_home_is_where_all_state_goes(bascule_home: Path, tmp_path: Path):
    assert os.environ["BASCULE_HOME"] == str(bascule_home)
    assert bascule_home.is_relative_to(tmp_path)


async def test_clients_keep_their_state_there_and_their_calls_are_recorded(
    bascule_client: MakesClients, bascule_calls: Calls, bascule_home: Path
):
    mcp = create_mcp_server("records")

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def who() -> str:
        return get_user_id()

    async with bascule_client(mcp, user="alice") as c:
        assert (await c.result("who")).text == "result: alice"
        assert bascule_home.is_dir()
    async with bascule_client(mcp, user="bob") as c:
        assert (await c.result("who")).text == "result: bob"

    assert [call.principal.user_id for call in bascule_calls] == ["alice", "bob"]
