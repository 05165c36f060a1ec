from bascule.config import (
    AuthSettings,
    KitServer,
    OAuthSettings,
    RuntimeConfig,
    ServerConfig,
    SharedSecret,
    StdioTransport,
    StreamableHttpTransport,
)
from bascule.config.model.gateway import GatewaySettings
from bascule.config.secrets_in import secrets_in
from support.tokens import AUDIENCE, ISSUER, SECRET


def test_every_secret_of_a_config_is_found():
    local = ServerConfig("local", StdioTransport("x", env={"KEY": "in-an-env"}))
    remote = ServerConfig(
        "remote",
        StreamableHttpTransport("https://h/mcp?token=in-a-query-1&page=3", headers={"X-Key": "in-a-header"}),
        oauth=OAuthSettings(client_id="us", client_secret="in-oauth"),
    )
    auth = AuthSettings(keys=(SharedSecret("HS256", SECRET),), issuer=ISSUER, audience=AUDIENCE)
    config = RuntimeConfig(
        {"local": local, "remote": remote},
        kit_servers={"own": KitServer("own", "server.py", auth=auth)},
        gateway=GatewaySettings(auth=auth),
        store="postgresql://me:in%40store@db/x",
    )
    found = [*secrets_in(config)]
    assert {"in-an-env", "in-a-header", "in-a-query-1", "in-oauth", "in%40store", "in@store"} <= {*found}
    assert found.count(SECRET) == 2
    assert "3" not in found


def test_a_file_has_no_password():
    assert [*secrets_in(RuntimeConfig({}, store="/var/lib/x.db"))] == []
    assert [*secrets_in(RuntimeConfig({}, store="postgresql://db/x"))] == []
