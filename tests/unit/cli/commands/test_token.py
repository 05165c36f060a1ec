"""Tokens for trying out."""

import argparse
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bascule.cli.commands.token import audience_asked_for, run
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import ConfigError, UsageError
from bascule.core.principal import Principal
from bascule.identity.jwt.minting import LIFE, Mint, MintMark
from support.command import configured
from support.tokens import AUDIENCE, ISSUER

ENTRY = {"type": "server", "target": "server.py"}
KEYED = {**ENTRY, "auth": {"keys": [{"jwks": "https://id.example/jwks"}], "issuer": ISSUER, "audience": AUDIENCE}}


def options(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["token", *words])


async def principal_of(token: str, audience: str) -> Principal:
    return (await Mint.of(Path(os.environ["BASCULE_HOME"])).verifier(audience).verify(token)).principal


@pytest.mark.parametrize(
    ("entry", "audience"),
    [(ENTRY, "http://127.0.0.1:8000/mcp"), ({**KEYED, "port": 8001}, "http://127.0.0.1:8001/mcp")],
)
async def test_a_token_for_a_server_is_believed_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: dict[str, Any], audience: str
):
    config = configured(tmp_path, records=entry)
    code = await run(options("records", "--config", config, "--user", "alice", "--session", "s-1"))
    out, err = capsys.readouterr()

    assert code == 0
    assert await principal_of(out.strip(), audience) == Principal("alice", "s-1")
    assert f"whoever shows this token to {audience} is user alice, session s-1, until" in err
    assert out.strip() not in err


async def test_it_can_be_had_as_json(capsys: pytest.CaptureFixture[str]):
    words = ("--audience", "here", "--user", "alice", "--session", "s-1", "--life", "60", "--json")
    await run(options(*words))
    out, err = capsys.readouterr()
    shape = json.loads(out)

    assert shape.keys() == {"token", "user", "session", "audience", "expires_at"}
    assert (shape["user"], shape["session"], shape["audience"]) == ("alice", "s-1", "here")
    assert await principal_of(shape["token"], "here") == Principal("alice", "s-1")
    assert err == ""


@pytest.mark.parametrize("words", [(), ("records", "--audience", "here"), ("--audience", " "), ("--audience", "a\nb")])
def test_it_is_for_one_audience(words: tuple[str, ...]):
    with pytest.raises(UsageError):
        audience_asked_for(options(*words))


async def test_nobody_gets_a_long_life():
    with pytest.raises(UsageError, match="300 seconds at most"):
        await run(options("--audience", "here", "--life", str(LIFE + 1)))


def test_an_entry_that_is_connected_to_is_told_as_such(tmp_path: Path):
    with pytest.raises(ConfigError, match="is a server that is connected to"):
        audience_asked_for(options("files", "--config", configured(tmp_path, files={"command": "npx"})))


async def test_the_key_that_is_printed_is_the_public_half(capsys: pytest.CaptureFixture[str]):
    assert await run(options("--key")) == 0
    key = capsys.readouterr().out.strip()
    await run(options("--key", "--json"))
    assert json.loads(capsys.readouterr().out) == {"key": key}

    token = Mint.of(Path(os.environ["BASCULE_HOME"])).token(Principal("alice", "s-1"), "here")
    assert (await MintMark.read(key).verifier("here").verify(token)).principal.user_id == "alice"
    secret = (Path(os.environ["BASCULE_HOME"]) / "keys/minting.key").read_bytes()
    assert base64.urlsafe_b64encode(secret).decode().rstrip("=") != key


@pytest.mark.parametrize("words", [("records", "--key"), ("--key", "--audience", "here")])
async def test_the_key_is_nobodys_in_particular(words: tuple[str, ...]):
    with pytest.raises(UsageError, match="the same for every server"):
        await run(options(*words))


def test_a_token_is_for_a_server_here_or_elsewhere():
    asked = options("--audience", "http://x", "--life", "60")
    assert (asked.name, asked.audience, asked.life, asked.key) == (None, "http://x", 60.0, False)


def test_the_help_names_the_default_life():
    """The options do not load the mint, so they cannot take it from there."""
    assert f"default, and most: {LIFE:g}\n" in build_parser().words["token"].format_help()
