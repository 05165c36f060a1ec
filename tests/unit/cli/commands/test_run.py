"""`bascule run`: choice of the server and of its address."""

from pathlib import Path

import pytest

from bascule.cli.commands.run import loaded, reached_at
from bascule.cli.parser.command_table import build_parser
from bascule.config.find_server import kit_server_named
from bascule.config.loading.load import load_file
from bascule.config.model.kit_server import HOST, KitServer
from bascule.core.errors import UsageError

SERVER = """
from bascule.kit import create_mcp_server
mcp = create_mcp_server("notes", development="tester", instructions="Its own words.")
"""


@pytest.mark.parametrize(("told", "shown"), [("", "Its own words."), ("instructions: The operator's words.", None)])
def test_the_config_says_whom_it_believes_and_what_it_says_of_itself(tmp_path: Path, told: str, shown: str | None):
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "bascule.yaml").write_text(
        f"""
mcp_servers:
  notes:
    type: server
    target: server.py
    {told}
results: {{presets: {{short: {{characters: 1200}}}}}}
workspace: {{root: {tmp_path / "files"}}}
"""
    )
    config = load_file(tmp_path / "bascule.yaml", {})

    server = loaded(config, kit_server_named(config, "notes"))

    assert server.instructions == (shown or "The operator's words.")
    assert server.home.presets["short"].characters == 1200
    # Who tries it out in development is nobody here.
    with pytest.raises(Exception, match="address clients reach"):
        server.http_app()


RECORDS = KitServer(name="records", target="server.py", port=8001)


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ((), "http://127.0.0.1:8001/mcp"),
        (("--host", "0.0.0.0"), "http://127.0.0.1:8001/mcp"),
        (("--host", "0.0.0.0", "--url", "https://records.example/mcp"), "https://records.example/mcp"),
        (("--socket", "/run/records.sock"), "unix:///run/records.sock"),
    ],
)
def test_where_clients_reach_it_is_known_by_what_was_asked_for(words: tuple[str, ...], url: str):
    assert reached_at(build_parser().parse_args(["run", "records", *words]), RECORDS) == url


@pytest.mark.parametrize(
    "words",
    [
        ("--socket", "/a.sock", "--host", "0.0.0.0"),
        ("--socket", "/a.sock", "--url", "http://a.example/mcp"),
        ("--socket", "/" + "a" * 200),
        ("--socket", "/a b.sock"),
        ("--url", "records.example"),
        ("--url", "ftp://records.example"),
    ],
)
def test_what_is_no_address_is_refused(words: tuple[str, ...]):
    with pytest.raises(UsageError):
        reached_at(build_parser().parse_args(["run", "records", *words]), RECORDS)


def test_a_server_is_run_at_a_socket_or_an_address():
    options = build_parser().parse_args(["run", "desk", "--socket", "/s"])
    assert (options.name, options.socket, options.host, options.url) == ("desk", "/s", None, None)


def test_the_help_names_the_default_address():
    """The options load no config, so they cannot take it from there."""
    assert f"default: {HOST}\n" in build_parser().words["run"].format_help()
