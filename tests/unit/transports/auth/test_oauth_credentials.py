"""OAuth credentials of one user at one server, and all logins of a runtime."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from bascule.config import OAuthSettings, ServerConfig, SseTransport, StdioTransport, StreamableHttpTransport
from bascule.core.errors import ConnectFailed, LoginFailed, LoginNeeded, PermitLost, StoreError
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.challenge import Challenge
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.oauth_credentials import Logins, no_login, target_of
from support.login_place import BACK, place
from support.streams import Leave

NOTHING = Challenge()
MORE = Challenge("insufficient_scope", "more")


async def test_nobody_is_logged_in_at_first(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = at.credentials()
        assert credentials.header() is None
        assert await credentials.prepare() == ""
        assert credentials.header() == ""


async def test_a_login_is_sent_and_outlives_the_process(tmp_path: Path):
    async with place(tmp_path) as at:
        first = await at.logged_in()
        assert first.header() == "Bearer access-token-1"

        later = at.credentials()
        assert later.header() is None
        assert await later.prepare() == "Bearer access-token-1"
        assert later.header() == "Bearer access-token-1"


async def test_it_is_one_users_for_one_server(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        assert await at.credentials("bob").prepare() == ""
        at.fake.origin = at.fake.origin.replace("127.0.0.1", "localhost")
        assert await at.credentials().prepare() == ""


async def test_a_login_keeps_the_address_from_which_its_challenge_came(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        assert msgspec.json.decode(at.kept())["peer"] == "127.0.0.1"
        asked = len(at.fake.asked)
        at.spend()
        assert await at.credentials().prepare() == "Bearer access-token-2"
        assert at.fake.asked[asked:] == [("/token", "refresh_token")], "the server itself is not needed"


async def test_a_login_kept_without_that_address_asks_its_server_once(tmp_path: Path):
    async with place(tmp_path) as at:
        first = await at.logged_in()
        older = {name: value for name, value in msgspec.json.decode(at.kept()).items() if name != "peer"}
        at.keeper.write(first._key, msgspec.json.encode(older))
        asked = len(at.fake.asked)
        for token in ("access-token-2", "access-token-3"):
            at.spend()
            assert await at.credentials().prepare() == f"Bearer {token}"

        refresh = ("/token", "refresh_token")
        assert at.fake.asked[asked:] == [("/mcp", ""), refresh, refresh]
        assert msgspec.json.decode(at.kept())["peer"] == "127.0.0.1"


async def test_a_login_moved_to_another_server_by_hand_is_refused(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        data = at.kept()
        at.fake.origin = at.fake.origin.replace("127.0.0.1", "localhost")
        other = at.credentials()
        at.keeper.write(other._key, data)

        with pytest.raises(ConnectFailed, match="another user or server"):
            await other.prepare()


async def test_a_login_as_another_client_than_the_configured_one_is_not_used(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        assert await at.credentials(client_id="mine").prepare() == ""


async def test_tokens_are_masked_from_the_moment_they_are_known(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        assert at.mask.text("access-token-1 refresh-token-1") == "*** ***"
        at.mask = Mask()
        await at.credentials().prepare()
        assert at.mask.text("access-token-1 refresh-token-1") == "*** ***"


async def test_a_spent_token_is_renewed_before_it_is_sent(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.spend()
        assert credentials.header() is None
        assert await credentials.prepare() == "Bearer access-token-2"
        assert await at.credentials().prepare() == "Bearer access-token-2"
        assert at.fake.refreshes == 1


async def test_a_refused_token_is_renewed_once_for_all_who_held_it(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        used = credentials.header() or ""
        await asyncio.gather(*(credentials.renew(used, NOTHING, again=False) for _ in range(10)))

        assert at.fake.refreshes == 1
        assert credentials.header() == "Bearer access-token-2"


async def test_of_two_processes_one_renews_and_the_other_takes_it_over(tmp_path: Path):
    async with place(tmp_path) as at:
        one, two = await at.logged_in(), at.credentials()
        used = await two.prepare()
        at.fake.holding = asyncio.Event()
        renewing = [asyncio.create_task(each.renew(used, NOTHING, again=False)) for each in (one, two)]
        await at.fake.held.wait()
        await asyncio.sleep(0.1)  # several tries of the other at the lock
        at.fake.holding.set()
        await asyncio.gather(*renewing)

        assert at.fake.refreshes == 1
        assert one.header() == two.header() == "Bearer access-token-2"


async def test_a_caller_who_gives_up_does_not_lose_the_new_token(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.fake.holding = asyncio.Event()
        renewing = asyncio.create_task(credentials.renew("Bearer access-token-1", NOTHING, again=False))
        await at.fake.held.wait()
        renewing.cancel()
        at.fake.holding.set()
        await credentials.close()

        assert await at.credentials().prepare() == "Bearer access-token-2"


async def test_a_refresh_that_is_refused_needs_a_person_and_keeps_the_client(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.fake.refresh = "another"
        with pytest.raises(LoginNeeded, match="no longer valid") as caught:
            await credentials.renew("Bearer access-token-1", NOTHING, again=False)
        assert caught.value.fix == "run `bascule login notes`"
        assert credentials.header() == ""
        with pytest.raises(LoginNeeded):
            await credentials.renew("", NOTHING, again=False)
        assert at.fake.refreshes == 1

        await credentials.log_in(at.fake.browser, BACK)
        assert len(at.fake.registered) == 1
        assert credentials.header() == "Bearer access-token-2"


async def test_a_login_made_by_another_process_meanwhile_is_found(tmp_path: Path):
    async with place(tmp_path) as at:
        waiting = at.credentials()
        with pytest.raises(LoginNeeded, match="the server wants a login"):
            await waiting.renew("", NOTHING, again=False)
        await at.logged_in()
        await waiting.renew("", NOTHING, again=False)

        assert waiting.header() == "Bearer access-token-1"


async def test_a_login_server_out_of_order_does_not_end_the_login(tmp_path: Path):
    async def out_of_order(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.fake.answers["/token"] = out_of_order
        with pytest.raises(ConnectFailed, match="could not renew") as caught:
            await credentials.renew("Bearer access-token-1", NOTHING, again=False)
        assert not isinstance(caught.value, LoginNeeded)

        del at.fake.answers["/token"]
        await credentials.renew("Bearer access-token-1", NOTHING, again=False)
        assert credentials.header() == "Bearer access-token-2"


async def test_a_token_renewed_for_the_same_request_is_not_renewed_again(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        with pytest.raises(LoginNeeded):
            await credentials.renew("Bearer access-token-1", NOTHING, again=True)
        assert at.fake.refreshes == 0


async def test_missing_rights_are_named_and_asked_for_by_the_next_login(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        with pytest.raises(LoginNeeded, match=r"more rights \(more\)") as caught:
            await credentials.renew("Bearer access-token-1", MORE, again=False)
        assert caught.value.fix == "run `bascule login notes`"
        assert at.fake.refreshes == 0

        await credentials.log_in(at.fake.browser, BACK)
        assert at.fake._scope == "notes more"


async def test_an_operators_list_of_scopes_has_to_be_changed_first(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in(scopes=("notes",))
        with pytest.raises(LoginNeeded) as caught:
            await credentials.renew("Bearer access-token-1", MORE, again=False)

        assert "oauth.scopes" in caught.value.fix


async def test_who_can_be_asked_is_asked_once_for_all(tmp_path: Path):
    asked: list[str] = []
    async with place(tmp_path) as at:

        async def ask(url: str) -> str | None:
            asked.append(url)
            return await at.fake.browser(url)

        credentials = at.credentials(on_login=ask)
        await asyncio.gather(*(credentials.renew("", NOTHING, again=False) for _ in range(5)))

        assert len(asked) == 1
        assert credentials.header() == "Bearer access-token-1"


async def test_a_person_may_take_longer_than_the_request_that_asked(tmp_path: Path):
    async with place(tmp_path) as at:
        thinking = asyncio.Event()

        async def ask(url: str) -> str | None:
            await thinking.wait()
            return await at.fake.browser(url)

        credentials = at.credentials(on_login=ask)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await credentials.renew("", NOTHING, again=False)
        thinking.set()
        await credentials.renew("", NOTHING, again=False)

        assert credentials.header() == "Bearer access-token-1"
        assert len(at.fake.registered) == 1


async def test_closing_does_not_wait_for_a_person(tmp_path: Path):
    async with place(tmp_path) as at:
        asked = asyncio.Event()

        async def never(url: str) -> str | None:
            asked.set()
            return await asyncio.get_running_loop().create_future()

        credentials = at.credentials(on_login=never)
        waiting = asyncio.create_task(credentials.renew("", NOTHING, again=False))
        await asked.wait()
        await credentials.close()

        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_client_logs_in_by_itself_as_often_as_it_must(tmp_path: Path):
    async with place(tmp_path) as at:
        robot = at.credentials(client_id="robot", client_secret="the-secret", grant="client")
        assert await robot.prepare() == ""
        await robot.renew("", NOTHING, again=False)
        at.fake.refresh = "gone"
        await robot.renew(robot.header() or "", NOTHING, again=False)

        assert robot.header() == "Bearer access-token-2"
        assert at.mask.text("the-secret") == "***"


async def test_logging_out_revokes_and_forgets(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        assert await credentials.log_out() is True
        assert credentials.header() == ""
        assert at.fake.asked[-2:] == [("/revoke", "")] * 2
        assert not [path for path in (tmp_path / "keys").iterdir() if path.suffix != ".lock"]
        assert await credentials.log_out() is None


@pytest.mark.parametrize("broken", ["no endpoint", "refused", "gone"])
async def test_a_login_that_cannot_be_revoked_is_forgotten_all_the_same(tmp_path: Path, broken: str):
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=400)

    async with place(tmp_path) as at:
        if broken == "no endpoint":
            at.fake.metadata = {"revocation_endpoint": None}
        elif broken == "gone":
            at.fake.metadata = {"revocation_endpoint": "http://127.0.0.1:1/revoke"}
        at.fake.answers["/revoke"] = refuse
        credentials = await at.logged_in()

        assert await credentials.log_out() is False
        assert await at.credentials().prepare() == ""


async def test_a_login_others_may_read_is_not_used(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        for path in (tmp_path / "keys").iterdir():
            path.chmod(0o644)
        with pytest.raises(ConnectFailed, match="others than you") as caught:
            await at.credentials().prepare()
        assert "chmod 600" in caught.value.fix
        with pytest.raises(StoreError):
            await at.credentials().log_in(at.fake.browser, BACK)


async def test_a_failed_login_leaves_the_one_there_was(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.fake.redirect = {"error": "access_denied"}
        with pytest.raises(LoginFailed):
            await credentials.log_in(at.fake.browser, BACK)

        assert await at.credentials().prepare() == "Bearer access-token-1"


async def test_a_secret_that_a_login_server_repeats_is_not_shown(tmp_path: Path):
    async def repeat(request: web.Request) -> web.StreamResponse:
        return web.json_response({"error": f"bad {(await request.post()).get('client_secret')}"}, status=400)

    async with place(tmp_path) as at:
        at.mask = Mask(["the-client-secret"])
        at.fake.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        at.fake.answers["/token"] = repeat
        with pytest.raises(LoginFailed) as caught:
            await at.logged_in(client_id="mine", client_secret="the-client-secret")

    assert caught.value.evidence.endswith("bad ***")


async def test_a_spent_token_is_no_replacement_for_a_refused_one(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.spend()
        await credentials.renew("", NOTHING, again=False)

        assert credentials.header() == "Bearer access-token-2"


async def test_a_spent_token_that_cannot_be_renewed_is_told_as_that(tmp_path: Path):
    async with place(tmp_path) as at:
        at.fake.token = {"refresh_token": None}
        credentials = await at.logged_in()
        at.spend()
        assert await credentials.prepare() == "Bearer access-token-1"
        with pytest.raises(LoginNeeded, match="no longer valid"):
            await credentials.renew("", NOTHING, again=False)


async def test_without_leave_no_token_is_renewed_and_none_is_lost(tmp_path: Path):
    leave = Leave(given=False)
    async with place(tmp_path) as at:
        credentials = await at.logged_in()
        at.spend()
        with pytest.raises(PermitLost):
            await credentials.prepare(leave)
        with pytest.raises(PermitLost):
            await credentials.renew(credentials._header, NOTHING, again=False, leave=leave)
        assert at.fake.refreshes == 0
        leave.given = True
        assert await credentials.prepare(leave) == "Bearer access-token-2"


URL = "https://a.example/mcp"


def remote(**headers: str) -> ServerConfig:
    return ServerConfig("a", StreamableHttpTransport(URL, headers), oauth=OAuthSettings(client_id="c"))


async def test_a_users_login_is_shared_by_their_links_and_by_nobody_elses(tmp_path: Path):
    logins = Logins(Vault(tmp_path), None, lambda: 0.0)
    server, mask = remote(), Mask()

    assert logins.of(server, "alice", mask) is logins.of(server, "alice", mask)
    assert logins.of(server, "alice", mask) is not logins.of(server, "bob", mask)
    await logins.close()


def test_one_logs_in_at_remote_servers():
    target = target_of(remote(**{"X-Key": "k"}))

    assert target is not None
    assert (target.url, target.headers, target.settings.client_id) == (URL, {"X-Key": "k"}, "c")
    assert target_of(ServerConfig("a", SseTransport(URL))) is not None


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
async def test_what_the_operator_sends_leaves_nothing_to_log_in_for(name: str, tmp_path: Path):
    server = remote(**{name: "Bearer configured"})

    assert target_of(server) is None
    assert Logins(Vault(tmp_path), None, lambda: 0.0).of(server, "alice", Mask()) is None
    assert "headers.Authorization" in no_login(server).fix


def test_nobody_logs_in_at_a_child_process():
    server = ServerConfig("a", StdioTransport("echo"))

    assert target_of(server) is None
    assert "no remote server" in no_login(server).message


async def test_a_login_that_is_dropped_is_made_anew_from_the_config_of_then(tmp_path: Path):
    logins = Logins(Vault(tmp_path), None, lambda: 0.0)
    mask, elsewhere = Mask(), ServerConfig("a", StreamableHttpTransport("https://b.example/mcp"))
    other = ServerConfig("b", StreamableHttpTransport(URL))
    before, kept = logins.of(remote(), "alice", mask), logins.of(other, "alice", mask)

    assert logins.drop({"a"}) == [before]
    after = logins.of(elsewhere, "alice", mask)
    assert after is not None
    assert after is not before
    assert after._target.url == "https://b.example/mcp"
    assert logins.of(other, "alice", mask) is kept
    await logins.close()
