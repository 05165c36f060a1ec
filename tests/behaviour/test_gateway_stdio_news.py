"""What changes and is said on the servers' side reaches the client that started the gateway, in either era."""

from pathlib import Path
from typing import Any, get_args

import pytest

from support.hearing import URI, Era, hearing, told
from support.servers import SERVERS
from support.stdio_clients import as_command, talking
from support.warm import python

pytestmark = pytest.mark.requirement("GTW-3")

PAIRS = [(client, server) for client in get_args(Era) for server in get_args(Era)]


def telling(folder: Path, era: Era) -> dict[str, Any]:
    args = [str(SERVERS / "telling.py"), str(folder / "log")]
    return {"work": {"command": python(), "args": args, "era": era}}


@pytest.mark.parametrize(("client", "server"), PAIRS)
async def test_lists_resources_and_remarks_are_told_in_all_pairs_of_eras(tmp_path: Path, client: Era, server: Era):
    async with (
        as_command(tmp_path, telling(tmp_path, server)) as command,
        hearing(command, client, uris=(URI,), log_level="info") as heard,
    ):
        await heard.client.call_tool("work_learn", {"kind": "tools", "name": "more"})
        await told(lambda: "tools" in heard.changed)
        assert "work_more" in [tool.name for tool in (await heard.client.list_tools()).tools]
        await heard.client.call_tool("work_touch", {"uri": URI})
        await told(lambda: heard.updated == [URI])
        if client == "old":
            await heard.ask_for("info")
        for level in ("debug", "info"):
            await heard.client.call_tool("work_say", {"level": level, "text": f"this is {level}"})
        await told(lambda: len(heard.logs) == 1)
        assert heard.logs[0].data == "this is info"


async def test_who_listens_when_its_input_ends_is_answered_and_keeps_nobody_waiting(tmp_path: Path):
    async with talking(tmp_path, servers=telling(tmp_path, "new")) as talk:
        number = await talk.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert (await talk.hear())["method"] == "notifications/subscriptions/acknowledged"
        code, last = await talk.hang_up()
    assert (code, [message["id"] for message in last]) == (0, [number])


async def test_who_listens_may_stop_listening(tmp_path: Path):
    async with talking(tmp_path, servers=telling(tmp_path, "new")) as talk:
        number = await talk.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert (await talk.hear())["method"] == "notifications/subscriptions/acknowledged"
        await talk.say({"method": "notifications/cancelled", "params": {"requestId": number}})
        await talk.ask("tools/call", {"name": "work_learn", "arguments": {"kind": "tools", "name": "more"}})
        assert await talk.hang_up() == (0, [])
        assert talk.unasked == []


async def test_a_client_of_the_old_era_hears_nothing_before_it_is_ready(tmp_path: Path):
    async with talking(tmp_path, servers=telling(tmp_path, "new")) as talk:
        wish = {"level": "debug"}
        assert "error" in await talk.ask("logging/setLevel", wish, new=False)
        await talk.introduce()
        assert (await talk.ask("logging/setLevel", wish, new=False))["result"] == {}
        # Who introduces itself anew is told once, not twice.
        await talk.introduce()
        await talk.ask("tools/list", new=False)
        await talk.ask("tools/call", {"name": "work_learn", "arguments": {"kind": "tools", "name": "more"}}, new=False)
        while "notifications/tools/list_changed" not in [message["method"] for message in talk.unasked]:
            talk.unasked.append(await talk.hear())
        assert await talk.hang_up() == (0, [])
