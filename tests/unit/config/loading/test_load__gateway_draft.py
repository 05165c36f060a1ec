"""What stands under `gateway` in a file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule.config import SharedSecret
from bascule.config.loading.load import load_file
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import ConfigError
from support.tokens import SECRET

KEY = {"algorithm": "HS256", "secret": "${KEY}"}


def loaded(folder: Path, gateway: dict[str, Any]) -> RuntimeConfig:
    path = folder / "bascule.yaml"
    path.write_text(yaml.safe_dump({"mcp_servers": {}, "gateway": gateway}))
    return load_file(path, {"KEY": SECRET})


def test_a_gateway_is_read_whole(tmp_path: Path):
    auth = {"keys": [KEY], "issuer": "https://id", "audience": "tools", "claims": {"user": "email", "session": "sid"}}
    settings = loaded(tmp_path, {"host": "10.0.0.5", "port": 9000, "auth": auth, "workers": 3}).gateway
    assert (settings.host, settings.port, settings.workers) == ("10.0.0.5", 9000, 3)
    assert settings.auth.keys == (SharedSecret("HS256", SECRET),)
    assert (settings.auth.issuer, settings.auth.audience) == ("https://id", "tools")
    assert (settings.auth.claims.user, settings.auth.claims.session) == ("email", "sid")


def test_without_a_word_nobody_is_believed(tmp_path: Path):
    assert loaded(tmp_path, {}).gateway.auth.keys == ()


@pytest.mark.parametrize(
    ("gateway", "told"),
    [
        ({"port": 0}, "gateway.port: must be"),
        ({"host": "a b"}, "gateway.host: must be"),
        ({"auth": {"keys": [{"secret": "short", "algorithm": "HS256"}]}}, "gateway.auth.keys[0].secret"),
        (
            {"auth": {"keys": [{"public_key": "gone.pem", "algorithm": "ES256"}], "issuer": "a", "audience": "b"}},
            "cannot be read",
        ),
        ({"auth": {"keys": [KEY]}}, "gateway.auth.issuer"),
        ({"auth": {"keys": [KEY], "issuer": "a", "audience": "b", "claims": {"user": ""}}}, "gateway.auth.claims.user"),
        ({"hots": "a"}, "hots"),
        ({"workers": 1000}, "workers: must be a whole number from 1 to 256"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, gateway: dict[str, Any], told: str):
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, gateway)
    assert told in "\n".join(caught.value.problems)
