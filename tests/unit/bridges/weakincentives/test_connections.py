from pathlib import Path

import pytest

from bascule.bridges.weakincentives.connections import McpConnection, McpConnectionPool, pool_of
from bascule.bridges.weakincentives.errors import McpConnectionError, McpSchemaError, McpToolError
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.runtime import SyncRuntime
from support.runtime import a_tool, calls_in, obeying
from support.weakincentives_runs import a_session


def test_a_session_has_one_pool():
    session = a_session()

    assert pool_of(session) is pool_of(session)
    assert pool_of(session) is not pool_of(a_session())


def test_only_what_is_connected_can_be_had(tmp_path: Path):
    with SyncRuntime(Runtime.from_servers({"work": obeying(tmp_path / "log")})) as home:
        first, second = (McpConnection(obeying(tmp_path / "log"), home.session("a", "1")) for _ in "12")
        pool = McpConnectionPool()
        assert bool(pool)
        pool.add({"work": first})
        assert (list(pool), len(pool), "work" in pool, pool.get("work")) == (["work"], 1, True, first)
        pool.add({"work": second})
        pool.remove({"work": first})
        assert pool.get("work") is second
        pool.remove({"work": second})

    with pytest.raises(McpConnectionError, match="no server 'work'") as raised:
        pool.get("work")
    assert "connected: none" in raised.value.evidence


def test_a_tool_is_called_by_either_name_and_never_one_of_another_server(tmp_path: Path):
    one = obeying(tmp_path / "one", a_tool("act"), name="one")
    two = obeying(tmp_path / "two", a_tool("act"), a_tool("more"), name="two")
    with SyncRuntime(Runtime.from_servers({"one": one, "two": two})) as home:
        connection = McpConnection(one, home.session("a", "1"))
        connection.call("act", {"n": 1})
        connection.call("one_act", {"n": 2})
        for stranger in ("two_act", "more"):
            with pytest.raises(McpSchemaError):
                connection.call(stranger)
        with pytest.raises(McpToolError):
            connection.call("act", {"error": {"code": -1, "message": "no"}})

    assert [call["arguments"].get("n") for call in calls_in(tmp_path / "one")] == [1, 2, None]
    assert calls_in(tmp_path / "two") == []
