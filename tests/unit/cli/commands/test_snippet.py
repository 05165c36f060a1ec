"""The entry that a client needs. What is printed for frameworks is run in the behaviour tests."""

from pathlib import Path
from typing import Any

import pytest

from bascule.cli.commands.snippet import CLIENTS, client_entry


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_whole_paths(client: str, tmp_path: Path):
    entry: Any = client_entry(client, tmp_path / "bascule.yaml")
    (servers,) = entry.values()

    assert [*entry] == ["servers" if client == "vscode" else "mcpServers"]
    assert Path(servers["bascule"]["command"]).is_absolute()
    assert servers["bascule"]["args"] == ["serve", "--stdio", "--config", str(tmp_path / "bascule.yaml")]
