"""Who serves one client, and what it hears between its requests. Whole conversations are in tests/behaviour."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from bascule.core.json_types import JsonObject
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.handler import Desk
from bascule.gateway.stdio.connection import Turn
from bascule.gateway.stdio.handler import Attendance
from bascule.identity.signed_state import Seal
from bascule.wire.request_meta import LOG_LEVEL_KEY
from support.runtime import at_work, obeying, settled
from support.waiting import fail_after
from unit.gateway.stdio.test_connection import Noting


def asked(method: str, *, new: bool = False, meta: Any = None, **params: Any) -> Asked:
    return Asked(method, params, 1, meta or {}, new)


async def test_a_client_of_the_old_era_is_told_from_its_introduction_on(tmp_path: Path):
    heard: list[str] = []

    async def tell(method: str, _params: JsonObject) -> None:
        heard.append(method)

    async with at_work(obeying(tmp_path / "log")) as session, fail_after(10):
        attendance = Attendance(Desk(session, Seal(tmp_path, time.time)))

        async def serve(method: str, **params: Any) -> Any:
            one = asked(method, **params)
            return await attendance.serve(one, Turn(Noting(), 1, one))

        attendance.begin_telling(tell, Noting().ask)
        with pytest.raises(Rejected):
            await serve("logging/setLevel", level="debug")
        assert attendance.level(asked("tools/call")) == "info"
        await serve("initialize", capabilities={"roots": {}})
        await serve("logging/setLevel", level="debug")
        assert (attendance.capabilities, attendance.level(asked("tools/call"))) == ({"roots": {}}, "debug")
        assert attendance._outlet is not None
        assert attendance.send_away("it", "1") != "1"
        attendance._outlet.changed("tools")
        await settled()
        assert heard == []
        attendance.begin_telling(tell, Noting().ask)
        await settled()
        assert heard == ["notifications/tools/list_changed"]
        await serve("initialize")
        assert (attendance.capabilities, attendance.level(asked("tools/call"))) == ({}, "info")
        await attendance.close()
        await attendance.close()


async def test_a_client_of_the_new_era_says_with_each_request_what_it_wants_to_hear(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        attendance = Attendance(Desk(session, Seal(tmp_path, time.time)))
        assert attendance.level(asked("tools/call", new=True)) == ""
        assert attendance.level(asked("tools/call", new=True, meta={LOG_LEVEL_KEY: "error"})) == "error"
        with pytest.raises(Rejected):
            attendance.level(asked("tools/call", new=True, meta={LOG_LEVEL_KEY: "loud"}))


async def test_who_listens_is_answered_once_streams_end(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session, fail_after(10):
        attendance = Attendance(Desk(session, Seal(tmp_path, time.time)))
        one = asked("subscriptions/listen", new=True, notifications={"toolsListChanged": True})
        listening = asyncio.ensure_future(attendance.serve(one, Turn(Noting(), 1, one)))
        await settled()
        assert not listening.done()
        attendance.end_streams()
        answer: Any = await listening
        assert answer["resultType"] == "complete"
