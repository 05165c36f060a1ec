"""Draft of a kit server, and its token verification keys."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config.loading.entries import sort_keys
from bascule.config.loading.key_table import SERVER_KEYS
from bascule.config.loading.kit_server_draft import is_kit_draft, make_kit_server, token_key
from bascule.config.loading.server_draft import Draft
from bascule.config.model.auth import SET_ALGORITHMS, AuthSettings, Claims, KeySet, PublicKey, SharedSecret
from bascule.config.model.kit_server import KitServer
from bascule.config.problems import Problems
from support.tokens import AUDIENCE, ISSUER, SECRET, ec_key, pem

OURS = {"type": "server", "target": "server.py"}
WHOM = {"issuer": ISSUER, "audience": AUDIENCE}


def make(raw: Any, *, folder: Path = Path(), foreign: bool = False) -> tuple[KitServer | None, list[str]]:
    problems = Problems(str(folder / "f"))
    draft = Draft("a", ("a",), sort_keys(SERVER_KEYS, raw, ("a",), problems), foreign=foreign)
    server = make_kit_server(draft, {"SECRET": SECRET, "PORT": "8123"}, problems)
    return server, [problem.told.partition(": ")[2] for problem in problems.found]


def made(raw: Any, folder: Path = Path()) -> KitServer:
    server, told = make(raw, folder=folder)
    assert told == []
    assert server is not None
    return server


def auth(*keys: Any, **fields: Any) -> dict[str, Any]:
    return {**OURS, "auth": {"keys": list(keys), **WHOM, **fields}}


def test_an_entry_is_known_by_its_type():
    problems = Problems("f")
    ours, other = (
        Draft("a", (), sort_keys(SERVER_KEYS, raw, (), problems), foreign=False) for raw in (OURS, {"url": "x"})
    )

    assert (is_kit_draft(ours), is_kit_draft(other)) == (True, False)


def test_the_least_is_a_target():
    server = made(OURS)

    assert server == KitServer("a", "server.py")
    assert server.location == "f: a"


def test_everything_can_be_said():
    raw = {
        **auth(
            {"algorithm": "HS256", "secret": "${SECRET}", "kid": "s"},
            {"algorithm": "ES256", "public_key": pem(ec_key())},
            {"jwks": "https://id.example/jwks"},
            {"jwks": "https://id.example/jwks", "algorithms": ["PS256"]},
            claims={"user": "email", "session": "chat"},
        ),
        "instructions": "Ask me.",
        "port": "${PORT}",
    }
    keys = (
        SharedSecret("HS256", SECRET, "s"),
        PublicKey("ES256", pem(ec_key())),
        KeySet("https://id.example/jwks", SET_ALGORITHMS),
        KeySet("https://id.example/jwks", ("PS256",)),
    )
    server = made(raw)

    assert server == KitServer(
        "a", "server.py", "Ask me.", 8123, AuthSettings(keys, ISSUER, AUDIENCE, Claims("email", "chat"))
    )
    assert SECRET not in repr(server)


def test_a_key_can_lie_in_a_file_beside_the_config(tmp_path: Path):
    (tmp_path / "id.pem").write_text(pem(ec_key()))

    server = made(auth({"algorithm": "ES256", "public_key": "id.pem"}), tmp_path)
    assert server.auth.keys == (PublicKey("ES256", pem(ec_key())),)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff", "is not text"),
        (b"hello", "must be a public key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\n", "is a private key"),
        (b"-----BEGIN PUBLIC KEY-----\n" + b"A" * 70_000, "must be a public key in PEM"),
    ],
)
def test_what_is_wrong_with_that_file_stops_this_server_alone(tmp_path: Path, content: bytes | None, told: str):
    if content is not None:
        (tmp_path / "id.pem").write_bytes(content)
    server = made(auth({"algorithm": "ES256", "public_key": "id.pem"}), tmp_path)

    assert server.unavailable_reason is not None
    assert told in server.unavailable_reason.message
    assert "a.auth.keys[0].public_key" in server.unavailable_reason.message
    assert server.auth == AuthSettings()


def test_an_unset_variable_stops_this_server_alone():
    server = made(auth({"algorithm": "HS256", "secret": "${UNSET}"}))

    assert server.unavailable_reason is not None
    assert "the variable UNSET is not set" in server.unavailable_reason.message
    assert made({"type": "server", "target": "${UNSET}"}).unavailable_reason is not None


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"type": "http", "url": "https://a.test"}, "a.type: must be server"),
        ({"type": 5, "target": "x"}, "a.type: must be server"),
        ({"type": "server"}, "a.target: must name the Python file"),
        ({**OURS, "command": "npx"}, "a.command: goes with a server that is connected to"),
        ({**OURS, "timeouts": {"call": 5}}, "a.timeouts.call: goes with a server that is connected to"),
        ({**OURS, "kit": True}, "a.kit: goes with a server that is connected to"),
        ({**OURS, "port": 70000}, "a.port: must be a whole number from 1"),
        ({**OURS, "taget": "x"}, 'a.taget: unknown key; did you mean "target"?'),
        ({**OURS, "auth": {"isuer": "x"}}, 'a.auth.isuer: unknown key; did you mean "issuer"?'),
        ({**OURS, "auth": {"claims": {"usr": "x"}}}, 'a.auth.claims.usr: unknown key; did you mean "user"?'),
        ({**OURS, "auth": {"claims": {"user": " "}}}, "a.auth.claims.user: must be the name of a claim"),
        ({**OURS, "auth": {"keys": {"jwks": "x"}, **WHOM}}, "a.auth.keys: must be a list of mappings"),
        (auth({"jwk": "https://id.example"}), 'a.auth.keys[0].jwk: unknown key; did you mean "jwks"?'),
        (auth({"algorithm": "HS256", "secret": "secret"}), "a.auth.keys[0].secret: has 6 bytes"),
        (auth({"jwks": "https://id.example"}, issuer=None), "a.auth.issuer: is missing beside `keys`"),
        (auth({"jwks": "https://id.example"}, audience=None), "a.auth.audience: is missing beside `keys`"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(raw: Any, told: str):
    server, problems = make(raw)

    assert server is None
    assert problems[0].startswith(told)


def test_everything_wrong_is_told_at_once():
    raw = {"type": "server", "port": 0, "auth": {"keys": [{"algorithm": "HS256", "secret": "short"}, {}]}}

    assert [told.partition(":")[0] for told in make(raw)[1]] == [
        "a.port",
        "a.target",
        "a.auth.keys[0].secret",
        "a.auth.keys[1]",
        "a.auth.issuer",
        "a.auth.audience",
    ]


def test_a_file_of_another_program_describes_none():
    server, (told,) = make(OURS, foreign=True)

    assert server is None
    assert told.startswith("a.type: a server of our own stands in a file of our own")


def test_every_kind_of_key_is_read(tmp_path: Path):
    (tmp_path / "id.pem").write_text(pem(ec_key()))
    entries: list[dict[str, Any]] = [
        {"algorithm": "HS256", "secret": SECRET, "kid": "a"},
        {"algorithm": "ES256", "public_key": pem(ec_key())},
        {"algorithm": "ES256", "public_key": "id.pem"},
        {"jwks": "https://id.example/keys"},
    ]
    keys = [token_key(entry, tmp_path) for entry in entries]
    assert [flaw for _, flaw in keys] == [None] * 4
    assert [type(key) for key, _ in keys] == [SharedSecret, PublicKey, PublicKey, KeySet]
    assert keys[1] == keys[2]


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"not a key"])
def test_a_file_that_holds_no_key_is_told(tmp_path: Path, content: bytes | None):
    if content is not None:
        (tmp_path / "id.pem").write_bytes(content)
    key, flaw = token_key({"algorithm": "ES256", "public_key": "id.pem"}, tmp_path)
    assert key is None
    assert flaw
