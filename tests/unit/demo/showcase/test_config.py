"""What `bascule serve --demo` serves."""

import os

from bascule.config import load_file
from bascule.config.state_dir import state_folder
from bascule.demo.showcase.config import MOST_LINKS, showcase


def test_its_config_is_one_and_state_is_kept_beside_it():
    with showcase() as path:
        config = load_file(path, os.environ)
        assert state_folder(os.environ).parent == path.parent
        assert sorted(file.name for file in (path.parent / "files").iterdir()) == [
            "menu.txt",
            "minutes.txt",
            "patients.csv",
            "salaries.csv",
        ]

    assert [*config.servers] == ["files", "post", "notes", "ledger", "reports", "clock"]
    assert not [name for name, server in config.servers.items() if server.unavailable_reason]
    assert config.links_max == MOST_LINKS
    assert config.servers["ledger"].ask == ("add",)
    assert config.gateway.workers == 1
    assert not path.parent.exists()
