"""All logins of one runtime."""

from pathlib import Path

import pytest

from bascule.config import OAuthSettings, ServerConfig, SseTransport, StdioTransport, StreamableHttpTransport
from bascule.core.text.redaction import Mask
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.oauth_credentials import Logins, no_login, target_of

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
