"""Which server is served, and how."""

from pathlib import Path

import pytest

from bascule.cli.run_command import loaded
from bascule.config.find_server import kit_server_named
from bascule.config.load import load_file

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
