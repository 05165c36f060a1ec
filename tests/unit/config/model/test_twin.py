"""Where an operator says that a server's twin is."""

from pathlib import Path

import pytest

from bascule.config import InProcessTransport, ServerConfig, StdioTransport, load_file
from bascule.config.model.transport import NoTransport, StreamableHttpTransport, UnixSocketTransport
from bascule.config.model.twin import is_private
from bascule.core.errors import ConfigError


def load(folder: Path, *lines: str) -> ServerConfig:
    file = folder / "bascule.yaml"
    file.write_text("mcp_servers:\n  files:\n" + "".join(f"    {line}\n" for line in lines))
    return load_file(file, {"TOKEN": "a-long-token"}).servers["files"]


def test_a_remote_servers_twin_is_at_an_address_and_gets_its_headers(tmp_path: Path):
    headers = "headers: {Authorization: 'Bearer ${TOKEN}'}"
    files = load(tmp_path, "url: https://mcp.example.com/mcp", headers, "url_isolated: unix:///run/files.sock")

    assert isinstance(files.isolated, UnixSocketTransport)
    assert files.isolated.headers == files.transport.headers != {}  # pyright: ignore[reportAttributeAccessIssue]


def test_the_twin_of_a_process_has_its_folder_and_its_variables(tmp_path: Path):
    files = load(
        tmp_path,
        "command: npx",
        "cwd: /tmp",
        "env: {TOKEN: '${TOKEN}'}",
        "inherit_env: [LC_*]",
        "command_isolated: [unshare, -n, npx]",
        "twin: eager",
    )

    assert isinstance(files.transport, StdioTransport)
    assert files.isolated == StdioTransport("unshare", ("-n", "npx"), "/tmp", files.transport.env, ("LC_*",))
    assert files.twin == "eager"


def test_the_twin_of_a_remote_server_can_be_a_process(tmp_path: Path):
    files = load(tmp_path, "url: https://mcp.example.com/mcp", "command_isolated: [server, --offline]")

    assert files.isolated == StdioTransport("server", ("--offline",))


@pytest.mark.parametrize(
    "url",
    [
        "unix:///run/x.sock",
        "http://127.0.0.1:8000/mcp",
        "http://10.1.2.3/mcp",
        "http://[::1]/mcp",
        "https://192.168.0.4/mcp",
        "http://twin:8000/mcp",
        "http://localhost/mcp",
        "http://twin.internal/mcp",
        "ws://127.0.0.1/mcp",
    ],
)
def test_a_twin_is_in_a_private_place(url: str):
    assert is_private(url)


@pytest.mark.parametrize("url", ["https://mcp.example.com/mcp", "http://8.8.8.8/mcp", "http://[2606:4700::1111]/", ""])
def test_what_may_be_on_the_internet_is_not_isolated(url: str):
    assert not is_private(url)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("url_isolated: https://mcp.example.com/mcp",), "url_isolated: must be a socket"),
        (("url_isolated: ftp://127.0.0.1/",), "url_isolated: must begin with"),
        (("url_isolated: unix:///run/x.sock", "command_isolated: [x]"), "keep one of them"),
        (("command_isolated: []",), "command_isolated: must be a list: the program, then its arguments"),
        (("command_isolated: ['']",), "command_isolated: must be a list: the program, then its arguments"),
        (("command_isolated: [x, --token, ghp_0123456789abcdefghijklmnopqrstuvwxyz]",), "looks like a credential"),
        (("url_isolated: unix:///run/x.sock", "vouched: secret"), "vouched: says that the server itself"),
    ],
)
def test_what_cannot_be_meant_is_told(tmp_path: Path, lines: tuple[str, ...], told: str):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "command: npx", *lines)

    assert any(told in problem for problem in caught.value.problems), caught.value.problems


def test_a_server_that_cannot_be_used_has_no_twin_either(tmp_path: Path):
    files = load(tmp_path, "command: npx", "env: {A: '${NOT_SET_ANYWHERE}'}", "url_isolated: unix:///run/x.sock")

    assert isinstance(files.transport, NoTransport)
    assert files.isolated is None


def test_what_runs_in_this_process_is_no_twin():
    with pytest.raises(ConfigError, match="has a way out"):
        ServerConfig("a", StdioTransport("a"), isolated=InProcessTransport(object()))
    with pytest.raises(ConfigError, match="must be one of"):
        ServerConfig("a", StdioTransport("a"), isolated="unix:///x.sock")  # pyright: ignore[reportArgumentType]
    assert ServerConfig("a", StdioTransport("a"), isolated=StreamableHttpTransport("http://twin/mcp")).isolated
