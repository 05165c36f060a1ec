"""One server on its way from a file to the model."""

from typing import Any

import pytest

from bascule.config.loading.entries import Given, sort_keys
from bascule.config.loading.key_table import SERVER_KEYS
from bascule.config.loading.server_draft import Draft, make_server
from bascule.config.model.oauth import OAuthSettings
from bascule.config.model.runtime_config import ServerConfig, Timeouts
from bascule.config.model.transport import (
    ContainerTransport,
    NoTransport,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    Transport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.problems import Problems
from bascule.config.secret import Secret, reveal_all

ENVIRON = {"TOKEN": "hunter2", "PORT": "8000", "GITHUB_TOKEN": "abc", "FLAG": "true"}


def make(raw: Any, *, foreign: bool = False, kind: str | None = None) -> tuple[ServerConfig | None, list[str]]:
    problems = Problems("f")
    entry = sort_keys(SERVER_KEYS, raw, ("a",), problems)
    server = make_server(Draft("a", ("a",), entry, foreign=foreign, kind=kind), ENVIRON, problems)
    return server, [problem.told for problem in problems.found]


def made(raw: Any, **draft: Any) -> ServerConfig:
    server, told = make(raw, **draft)
    assert told == []
    assert server is not None
    return server


def told(raw: Any) -> list[str]:
    server, problems = make(raw)
    assert server is None
    return problems


def test_a_command_becomes_a_child_process():
    server = made({"command": "npx", "args": ["-y"], "cwd": "/x", "env": {"T": "${TOKEN}"}, "inherit_env": ["AWS_*"]})

    assert server.transport == StdioTransport("npx", ("-y",), "/x", {"T": "hunter2"}, ("AWS_*",))
    assert server.location == "f: a"
    assert "hunter2" not in repr(server)


def test_a_command_with_a_container_runs_in_there():
    server = made({"command": "serve", "args": ["-y"], "container": "box", "cwd": "/x", "env": {"T": "${TOKEN}"}})

    assert server.transport == ContainerTransport("box", "serve", ("-y",), "/x", {"T": "hunter2"})
    assert "hunter2" not in repr(server)
    assert isinstance(made({"command": "serve", "container": None}).transport, StdioTransport)


@pytest.mark.parametrize("container", ["", "${EMPTY:-}", "two words"])
def test_a_container_that_cannot_be_never_becomes_a_process_here(container: str):
    assert "name or the id of a container" in told({"command": "serve", "container": container})[0]


def test_a_container_goes_with_a_command():
    assert "goes with `command`" in told({"url": "https://a.test/mcp", "container": "box"})[0]
    assert "needs a `command`" in told({"container": "box"})[0]


def test_a_container_with_a_hole_has_nothing_to_run():
    assert made({"command": "serve", "container": "${NOT_SET}"}).transport == NoTransport("docker exec")


def test_a_twin_by_command_beside_a_container_would_be_somewhere_else():
    raw = {"command": "serve", "container": "box", "command_isolated": ["serve", "--alone"]}
    assert "not in the container" in told(raw)[0]
    assert made({**raw, "command_isolated": None, "url_isolated": "unix:///run/x.sock"}).isolated is not None


def test_a_url_becomes_a_remote_server():
    server = made({"url": "https://a.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "transport": "http"})

    assert isinstance(server.transport, StreamableHttpTransport)
    assert server.transport.choice == "http"
    assert reveal_all(server.transport.headers) == {"Authorization": "Bearer hunter2"}
    assert all(isinstance(value, Secret) for value in server.transport.headers.values())


def test_every_other_key_reaches_the_model():
    server = made(
        {
            "command": "x",
            "prefix": "",
            "tools": {"allow": ["a"], "block": ["b"]},
            "render": "json",
            "era": "old",
            "required": True,
            "timeouts": {"connect": 1, "reconnect": 2, "probe": 3, "list": 4, "call": 5, "close": 6},
        }
    )

    assert (server.prefix, server.allow, server.block) == ("", ("a",), ("b",))
    assert (server.render, server.era, server.required) == ("json", "old", True)
    assert server.timeouts == Timeouts(1, 2, 3, 4, 5, 6)


def test_texts_from_variables_are_plain_in_the_model():
    server = made(
        {
            "command": "${PORT}",
            "args": ["${PORT}"],
            "cwd": "${PORT}",
            "tools": {"allow": ["${PORT}"]},
            "required": "${FLAG}",
        }
    )

    assert isinstance(server.transport, StdioTransport)
    values = [server.transport.command, *server.transport.args, server.transport.cwd, *(server.allow or ())]
    assert {type(value) for value in values} == {str}
    assert server.required is True


def test_an_unset_variable_refuses_the_server_and_names_field_and_variable():
    server = made({"command": "npx", "env": {"A": "${NOPE}", "B": "${NADA}"}, "required": True, "prefix": "p"})

    reason = server.unavailable_reason
    assert reason is not None
    assert reason.problems == ("f: a.env.A: the variable NOPE is not set", "f: a.env.B: the variable NADA is not set")
    assert "f: a.env.A: the variable NOPE is not set" in str(reason)
    assert "NOPE" in reason.fix
    assert server.transport == NoTransport("stdio")
    assert (server.required, server.prefix) == (True, "p")


@pytest.mark.parametrize(
    "raw",
    [
        {"command": "${NOPE}"},
        {"command": "npx", "args": ["${NOPE}", ""]},
        {"command": "npx", "cwd": "${NOPE}"},
        {"command": "npx", "prefix": "${NOPE}"},
        {"command": "npx", "tools": {"allow": ["${NOPE}"]}},
        {"command": "npx", "timeouts": {"call": "${NOPE}"}},
        {"url": "${NOPE}"},
        {"url": "https://a.test/${input:x}"},
        {"url": "https://a.test", "headers": {"A": "Bearer ${NOPE"}},
    ],
)
def test_a_hole_anywhere_refuses_the_server_and_nothing_else(raw: Any):
    server = made(raw)

    assert server.unavailable_reason is not None
    assert len(server.unavailable_reason.problems) == 1
    assert isinstance(server.transport, NoTransport)


def test_a_hole_does_not_hide_other_problems():
    assert told({"command": "npx", "args": ["${NOPE}", "--token=abc123"], "env": {"A": 5}}) == [
        "f: a.env.A: must be text, not a number; put it in quotes",
        *told({"command": "npx", "args": ["x", "--token=abc123"]}),
    ]


def test_what_could_not_be_read_is_told_once():
    assert len(told({"command": 5})) == 1
    assert len(told({"url": ["x"]})) == 1
    assert len(told({"command": "npx", "tools": {"allow": [5]}})) == 1


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ({}, "needs a `command`"),
        ({"command": "npx", "url": "https://a.test"}, "has both"),
        ({"command": "npx", "headers": {"A": "b"}}, "goes with `url`"),
        ({"url": "https://a.test", "args": ["x"]}, "goes with `command`"),
        ({"command": "npx -y x"}, "`args`"),
        ({"url": "ftp://a.test"}, "a.url: must begin with https://, http://, wss://, ws:// or unix://"),
        ({"url": "ws://a.test#x"}, "a.url: has a fragment"),
        ({"url": "wss://a.test/?token=${TOKEN}"}, "a.url: holds a credential"),
        ({"url": "unix://x.sock"}, "a.url: must begin with unix:///"),
        ({"url": "https://a.test", "transport": "ws"}, "a.transport: says ws, but the address begins with https://"),
        ({"url": "unix:///x", "transport": "sse"}, "a.transport: says sse, but the address begins with unix://"),
        ({"command": "npx", "transport": "ws"}, "goes with `url`"),
        ({"command": "npx", "prefix": "a b"}, "a.prefix: must be"),
        ({"command": "npx", "tools": {"block": [""]}}, "a.tools.block[0]: must be"),
        ({"command": "npx", "args": ["--token", "abc"]}, "`env`"),
        ({"args": ["--token", "abc"]}, "`env`"),
        ({"command": "npx", "args": ["${TOKEN}"]}, "holds TOKEN, a credential by its name"),
    ],
)
def test_what_cannot_work_is_a_problem_of_our_file(raw: Any, word: str):
    assert any(word in problem for problem in told(raw))


def test_an_argument_is_blamed_once_however_many_signs_it_gives():
    assert len(told({"command": "npx", "args": ["--token=${GITHUB_TOKEN}"]})) == 1


@pytest.mark.parametrize(
    "raw", [{}, {"command": "npx -y x"}, {"url": "ws://a.test#"}, {"command": "npx", "args": ["--token=abc12"]}]
)
def test_what_cannot_work_refuses_only_that_server_of_a_foreign_file(raw: Any):
    server = made(raw, foreign=True)

    assert server.unavailable_reason is not None
    assert isinstance(server.transport, NoTransport)
    assert "abc12" not in repr(server) + server.unavailable_reason.evidence


def test_what_goes_with_another_way_is_a_note_in_a_foreign_file():
    server = made({"url": "https://a.test", "env": {"A": "b"}}, foreign=True)

    assert server.unavailable_reason is None
    assert server.notes == ("ignored env: it goes with `command`, but this server has a `url`",)


def test_wrong_types_are_problems_of_a_foreign_file_too():
    server, problems = make({"command": 5}, foreign=True)

    assert server is None
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("raw", "transport"),
    [
        ({"url": "https://a.test/sse", "transport": "sse"}, SseTransport("https://a.test/sse")),
        ({"url": "wss://a.test/ws"}, WebSocketTransport("wss://a.test/ws")),
        ({"url": "wss://a.test/ws", "transport": "ws"}, WebSocketTransport("wss://a.test/ws")),
        ({"url": "unix:///run/x.sock"}, UnixSocketTransport("unix:///run/x.sock")),
        ({"url": "unix:///run/x.sock", "transport": "http"}, UnixSocketTransport("unix:///run/x.sock")),
    ],
)
def test_the_address_and_the_word_for_the_transport_choose_the_way(raw: Any, transport: Transport):
    assert made(raw).transport == transport
    assert made(raw, foreign=True).transport == transport


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ({"url": "https://a.test/sse", "transport": "sse"}, "sse"),
        ({"url": "ws://a.test/x"}, "ws"),
        ({"url": "unix:///run/x.sock"}, "unix"),
        ({"url": "https://a.test"}, "http"),
    ],
)
def test_a_remote_server_with_a_hole_has_nothing_to_connect_to(raw: Any, kind: str):
    assert made({**raw, "headers": {"A": "${NOPE}"}}).transport == NoTransport(kind)


@pytest.mark.parametrize("kind", ["stdio", "http", "sse", "ws"])
def test_a_server_that_was_refused_before_has_nothing_to_connect_to(kind: str):
    problems = Problems("f")
    draft = Draft("a", ("a",), {"command": Given("npx", ("a", "command"))}, foreign=True, kind=kind)
    draft.refuse("f: a.type: says otherwise")
    server = make_server(draft, {}, problems)

    assert server is not None
    assert server.transport == NoTransport(kind)


@pytest.mark.parametrize(
    ("url", "headers", "noted"),
    [
        ("http://a.test", {"A": "b"}, True),
        ("http://a.test", {}, False),
        ("https://a.test", {"A": "b"}, False),
        ("http://127.0.0.1:1", {"A": "b"}, False),
        ("ws://a.test", {"A": "b"}, True),
        ("wss://a.test", {"A": "b"}, False),
        ("unix:///run/x.sock", {"A": "b"}, False),
    ],
)
def test_headers_in_clear_are_pointed_out(url: str, headers: dict[str, str], noted: bool):
    assert bool(made({"url": url, "headers": headers}).notes) is noted


def test_a_login_reaches_the_model_and_its_secret_never_shows():
    keys = {"client_id": "me", "client_secret": "${TOKEN}", "scopes": ["a", "b"]}
    server = made({"url": "https://a.test/mcp", "oauth": keys})

    assert (server.oauth.client_id, server.oauth.scopes, server.oauth.secrets) == ("me", ("a", "b"), ("hunter2",))
    assert "hunter2" not in repr(server)
    assert made({"url": "https://a.test/mcp"}).oauth == OAuthSettings()


def test_a_login_is_for_remote_servers():
    assert told({"command": "x", "oauth": {"client_id": "me"}}) == [
        "f: a.oauth.client_id: goes with `url`, but this server has a `command`; remove it"
    ]


def test_a_flawed_login_is_told_at_its_place():
    assert told({"url": "https://a.test/mcp", "oauth": {"client_secret": "s", "scopes": ["a b"]}}) == [
        "f: a.oauth.scopes[0]: must be one scope, without spaces or quotes",
        "f: a.oauth.client_secret: goes with `client_id`, which is not given",
    ]


@pytest.mark.parametrize("keys", [{"target": "x.py"}, {"port": 8000}, {"auth": {"audience": "here"}}])
def test_keys_of_a_server_that_is_started_here_go_with_its_type(keys: dict[str, Any]):
    (problem,) = told({"command": "npx", **keys})

    assert "goes with `type: server`, which this entry does not have; remove it" in problem


def test_a_server_of_our_kit_is_told_as_such_and_others_are_none():
    assert made({"url": "http://127.0.0.1:8000/mcp", "kit": True}).kit
    assert not made({"command": "npx"}).kit
