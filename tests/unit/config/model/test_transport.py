"""The ways to reach a server, built by hand."""

from dataclasses import FrozenInstanceError, replace
from typing import Any, cast

import pytest

from bascule.config.model.transport import (
    ContainerTransport,
    InProcessTransport,
    NoTransport,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
    secrets_of,
)
from bascule.config.secret import Secret, reveal_all
from bascule.core.errors import ConfigError


def test_a_child_process_needs_only_a_command():
    transport = StdioTransport(command="npx")

    assert (transport.args, transport.cwd, dict(transport.env), transport.inherit_env) == ((), None, {}, ())
    assert transport.kind == "stdio"


def test_environment_given_as_text_is_held_as_secrets():
    transport = StdioTransport(command="npx", env={"TOKEN": "hunter2", "OTHER": Secret("abc")})

    assert all(isinstance(value, Secret) for value in transport.env.values())
    assert reveal_all(transport.env) == {"TOKEN": "hunter2", "OTHER": "abc"}
    assert "hunter2" not in repr(transport)


def test_a_process_in_a_container_is_described_as_one_here_and_where():
    transport = ContainerTransport("box", "server", ["--flag"], "/srv", {"TOKEN": "hunter2"})  # pyright: ignore[reportArgumentType]

    assert (transport.kind, transport.args) == ("docker exec", ("--flag",))
    assert "hunter2" not in repr(transport)
    assert secrets_of(transport) == ("hunter2",)


@pytest.mark.parametrize("container", ["", " ", "a b", "../images/x", "-x", "x/y", "x?all=1", None, 7, "x" * 129])
def test_a_container_that_no_engine_can_have_is_refused(container: Any):
    with pytest.raises(ConfigError, match="container"):
        ContainerTransport(container, "server")


def test_a_process_in_a_container_is_held_to_the_rules_of_one_here():
    with pytest.raises(ConfigError, match="looks like a credential"):
        ContainerTransport("box", "server", ("--token=ghp_" + "a1B2" * 9,))
    with pytest.raises(ConfigError, match="must name a program"):
        ContainerTransport("box", "")


def test_headers_given_as_text_are_held_as_secrets():
    for transport in (
        StreamableHttpTransport("https://a.test/mcp", {"Authorization": "Bearer hunter2"}),
        SseTransport("https://a.test/sse", {"Authorization": "Bearer hunter2"}),
        WebSocketTransport("wss://a.test/ws", {"Authorization": "Bearer hunter2"}),
        UnixSocketTransport("unix:///run/x.sock", {"Authorization": "Bearer hunter2"}),
    ):
        assert reveal_all(transport.headers) == {"Authorization": "Bearer hunter2"}
        assert "hunter2" not in repr(transport)
        assert transport.url in repr(transport)


def test_the_key_in_an_address_does_not_print():
    for transport in (
        StreamableHttpTransport("https://a.test/?key=hunter2"),
        SseTransport("https://a.test/?key=hunter2"),
        WebSocketTransport("wss://a.test/?key=hunter2"),
        UnixSocketTransport("unix:///run/x.sock:/?key=hunter2"),
    ):
        assert "hunter2" not in repr(transport)
        assert transport.url.endswith("/?key=hunter2")


def test_the_address_of_a_socket_file_may_name_the_http_path():
    plain, other = UnixSocketTransport("unix:///run/x.sock"), UnixSocketTransport("unix:///run/x.sock:/a/b?c=d")

    assert (plain.kind, plain.socket, plain.path) == ("unix", "/run/x.sock", "/mcp")
    assert (other.socket, other.path) == ("/run/x.sock", "/a/b?c=d")


def test_a_list_of_arguments_becomes_a_tuple():
    transport = StdioTransport("npx", cast("Any", ["-y", "server"]), inherit_env=cast("Any", ["AWS_*"]))

    assert transport.args == ("-y", "server")
    assert transport.inherit_env == ("AWS_*",)


def test_a_transport_cannot_be_changed():
    transport = StdioTransport("npx", env={"A": "a"})

    with pytest.raises(FrozenInstanceError):
        transport.command = "sh"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        transport.env["A"] = "b"  # pyright: ignore[reportIndexIssue]


def test_what_is_changed_in_the_callers_mapping_later_changes_nothing():
    env: dict[str, Secret | str] = {"A": "a"}
    transport = StdioTransport("npx", env=env)
    env["A"] = "b"

    assert reveal_all(transport.env) == {"A": "a"}


def test_equal_descriptions_are_equal():
    assert StdioTransport("npx", env={"A": "a"}) == StdioTransport("npx", env={"A": Secret("a")})
    assert StdioTransport("npx", env={"A": "a"}) != StdioTransport("npx", env={"A": "b"})


def test_a_copy_with_one_field_replaced_is_checked_again():
    with pytest.raises(ConfigError):
        replace(StdioTransport("npx"), command="")


@pytest.mark.parametrize(
    "make",
    [
        lambda: StdioTransport(""),
        lambda: StdioTransport("npx", cast("Any", "-y server")),
        lambda: StdioTransport("npx", cwd=""),
        lambda: StdioTransport("npx", env={"A=B": "c"}),
        lambda: StreamableHttpTransport("a.test/mcp"),
        lambda: StreamableHttpTransport("https://a.test", {"a b": "c"}),
        lambda: StreamableHttpTransport("https://a.test", choice=cast("Any", "ws")),
        lambda: SseTransport("ws://a.test"),
        lambda: WebSocketTransport("https://a.test"),
        lambda: WebSocketTransport("ws://a.test", {"a b": "c"}),
        lambda: WebSocketTransport("ws://a.test", {"Sec-WebSocket-Extensions": "permessage-deflate"}),
        lambda: UnixSocketTransport("/run/x.sock"),
        lambda: UnixSocketTransport("unix:///run/x.sock", {"a b": "c"}),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_built(make: Any):
    with pytest.raises(ConfigError):
        make()


def test_a_credential_among_the_arguments_is_refused_and_not_repeated():
    with pytest.raises(ConfigError, match=r"args\[1\].*`env`") as caught:
        StdioTransport("npx", ("-y", "--token=abc12345"))
    assert "abc12345" not in str(caught.value) + caught.value.evidence


def test_a_server_object_is_held_as_it_is():
    server = object()

    assert InProcessTransport(server).server is server
    assert InProcessTransport(server) != InProcessTransport(object())


def test_no_transport_says_only_what_it_would_have_been():
    assert repr(NoTransport("stdio")) == "NoTransport(kind='stdio')"


def test_what_may_not_be_shown_can_be_asked_for():
    assert secrets_of(StdioTransport(command="npx", env={"TOKEN": "hunter2"})) == ("hunter2",)
    shown = {"Authorization": "Bearer abc"}
    for remote in (
        StreamableHttpTransport("https://x.test/mcp", shown),
        SseTransport("https://x.test/mcp", shown),
        WebSocketTransport("wss://x.test/mcp", shown),
        UnixSocketTransport("unix:///x", shown),
    ):
        assert secrets_of(remote) == ("Bearer abc",)
    assert secrets_of(InProcessTransport(object())) == secrets_of(NoTransport("stdio")) == ()
