from secrets import token_bytes

import pytest

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.claims import AT_SPAWN, audience_of_url
from bascule.identity.jwt.minting import Mint


@pytest.mark.parametrize(
    ("url", "audience"),
    [
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("http://localhost:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("http://[::1]:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("http://127.0.0.1:8000/mcp/", "http://127.0.0.1:8000/mcp"),
        ("HTTPS://Records.Example/mcp", "https://records.example:443/mcp"),
        ("https://records.example:443/mcp", "https://records.example:443/mcp"),
        ("http://records.example", "http://records.example:80"),
        ("http://records.example/mcp?x=1#part", "http://records.example:80/mcp"),
    ],
)
def test_a_server_has_one_name_however_its_address_is_written(url: str, audience: str) -> None:
    assert audience_of_url(url) == audience


@pytest.mark.parametrize(
    "other",
    [
        "http://127.0.0.1:8001/mcp",
        "https://127.0.0.1:8000/mcp",
        "http://127.0.0.1:8000/other",
        "http://127.0.0.1:8000/MCP",
        "http://127.0.0.2:8000/mcp",
    ],
)
def test_another_server_has_another_name(other: str) -> None:
    assert audience_of_url(other) != audience_of_url("http://127.0.0.1:8000/mcp")


def test_no_server_is_called_so_that_it_would_believe_a_token_for_a_spawned_one() -> None:
    assert audience_of_url("spawn") != AT_SPAWN
    assert audience_of_url("bascule::spawn") != AT_SPAWN


async def test_a_token_for_a_spawned_server_is_believed_by_none_that_listens() -> None:
    mint = Mint(token_bytes(32))
    token = mint.token(Principal("alice", "s-1"), AT_SPAWN)

    assert (await mint.verifier(AT_SPAWN).verify(token)).principal.user_id == "alice"
    with pytest.raises(NotIdentified):
        await mint.verifier(audience_of_url("http://127.0.0.1:8000/mcp")).verify(token)
