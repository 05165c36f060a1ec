import asyncio
from pathlib import Path

from bascule.core.principal import Principal
from bascule.identity.current import get_session_id, get_user_id
from bascule.kit.server import GovernedServer
from support.kit import ALICE, BOB, called, client_of, kit_server, on_behalf_of, reading, text_of


@reading
def whoami() -> str:
    return f"{get_user_id()}/{get_session_id()}"


@reading
async def whoami_later() -> str:
    await asyncio.sleep(0)
    return await asyncio.to_thread(whoami)


def server_for(folder: Path, name: str = "records", **options: object) -> GovernedServer:
    return kit_server(folder, name, tools=[whoami, whoami_later], **options)


async def test_code_in_this_process_asks_for_itself(tmp_path: Path) -> None:
    server = server_for(tmp_path)

    assert text_of(await called(server, "whoami", ALICE)) == "alice/s-1"
    assert text_of(await called(server, "whoami_later", BOB)) == "bob/s-2"


async def test_one_client_may_ask_for_several_and_for_nobody(tmp_path: Path) -> None:
    async with client_of(server_for(tmp_path), ALICE) as client:
        said: list[str] = []
        for who in (ALICE, BOB, None, BOB):
            with on_behalf_of(who):
                said.append(text_of(await client.call_tool("whoami", raise_on_error=False)))

    assert [said[0], said[1], said[3]] == ["alice/s-1", "bob/s-2", "bob/s-2"]
    assert "not known on whose behalf" in said[2]


async def test_nobody_is_no_default_user(tmp_path: Path) -> None:
    for tool in ("whoami", "whoami_later"):
        result = await called(server_for(tmp_path), tool)
        assert (result.is_error, "not known on whose behalf" in text_of(result)) == (True, True)


async def test_a_developer_is_whoever_nobody_else_is(tmp_path: Path) -> None:
    server = server_for(tmp_path, development="me")

    assert text_of(await called(server, "whoami")) == "me/development"
    assert text_of(await called(server, "whoami", ALICE)) == "alice/s-1"


async def test_a_mounted_server_carries_out_the_request_of_who_asks(tmp_path: Path) -> None:
    outer = kit_server(tmp_path, "outer")
    outer.mount(server_for(tmp_path, "inner", development="me"), namespace="in")
    outer._session.fixed = ALICE

    assert text_of(await called(outer, "in_whoami")) == "alice/s-1"


async def test_a_principal_can_be_given_whole(tmp_path: Path) -> None:
    server = server_for(tmp_path, development=Principal("me", "mine"))

    assert text_of(await called(server, "whoami")) == "me/mine"
