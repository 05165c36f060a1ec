"""What changes and is said on the servers' side reaches the gateway's clients, whatever era each of them speaks."""

from pathlib import Path
from typing import Any, get_args

import pytest

from support.gateways import serving
from support.hearing import URI, Era, hearing, telling, told

PAIRS = [
    pytest.param(client, server, kind, id=f"{client} client, {server} server over {kind}")
    for client in get_args(Era)
    for server in get_args(Era)
    for kind in ("stdio", "http")
]


@pytest.mark.requirement("GTW-3")
@pytest.mark.requirement("CAT-9")
@pytest.mark.parametrize(("client", "server", "kind"), PAIRS)
async def test_a_list_that_changes_is_told_and_is_another_one_then(tmp_path: Path, client: Era, server: Era, kind: Any):
    async with (
        telling(kind, server, tmp_path / "log") as config,
        serving(config) as gateway,
        hearing(gateway.port, client) as heard,
    ):
        await heard.client.call_tool("work_learn", {"kind": "tools", "name": "more"})
        await told(lambda: "tools" in heard.changed)
        assert "work_more" in [tool.name for tool in (await heard.client.list_tools()).tools]
        await heard.client.call_tool("work_learn", {"kind": "resources", "name": "notes://three"})
        await told(lambda: "resources" in heard.changed)
        assert "notes://three" in [str(each.uri) for each in (await heard.client.list_resources()).resources]
        await heard.client.call_tool("work_learn", {"kind": "prompts", "name": "part"})
        await told(lambda: "prompts" in heard.changed)
        assert "work_part" in [each.name for each in (await heard.client.list_prompts()).prompts]
        assert heard.changed == ["tools", "resources", "prompts"]


@pytest.mark.requirement("GTW-3")
@pytest.mark.requirement("CAT-9")
@pytest.mark.parametrize(("client", "server", "kind"), PAIRS)
async def test_who_subscribed_to_a_resource_hears_of_it_and_nobody_else(
    tmp_path: Path, client: Era, server: Era, kind: Any
):
    async with (
        telling(kind, server, tmp_path / "log") as config,
        serving(config) as gateway,
        hearing(gateway.port, client, uris=(URI,)) as heard,
        hearing(gateway.port, client, uris=("notes://two",)) as other,
    ):
        await heard.client.call_tool("work_touch", {"uri": URI})
        await told(lambda: heard.updated == [URI])
        await heard.client.call_tool("work_touch", {"uri": "notes://two"})
        await told(lambda: other.updated == ["notes://two"])
        assert heard.updated == [URI]


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize(("client", "server", "kind"), PAIRS)
async def test_what_a_server_remarks_reaches_the_client_that_asked(tmp_path: Path, client: Era, server: Era, kind: Any):
    async with (
        telling(kind, server, tmp_path / "log") as config,
        serving(config) as gateway,
        hearing(gateway.port, client, log_level="info") as heard,
        hearing(gateway.port, client, log_level="info") as other,
    ):
        if client == "old":
            await heard.ask_for("info")
        for level in ("debug", "info", "error"):
            await heard.client.call_tool("work_say", {"level": level, "text": f"this is {level}"})
        await told(lambda: len(heard.logs) == 2)
        said = [(each.level, each.logger, each.data) for each in heard.logs]
        assert said == [("info", "work", "this is info"), ("error", "work", "this is error")]
        assert not other.logs
