"""Servers of our own in the same file as those that are connected to."""

import json
import stat
from pathlib import Path

import pytest

from bascule.config import KitServer, client_server_named, kit_server_named, load_file
from bascule.core.errors import ConfigError
from support.command import bascule, configured, entry

RECORDS = {"type": "server", "target": "server.py", "instructions": "Ask me.", "port": 8123}


@pytest.mark.requirement("CFG-7")
def test_a_server_of_ours_stands_in_the_file_and_is_found_by_its_name(tmp_path: Path):
    config = load_file(configured(tmp_path, files={"command": "npx"}, records=RECORDS))

    assert [*config.servers] == ["files"]
    assert kit_server_named(config, "records") == KitServer("records", "server.py", "Ask me.", 8123)


@pytest.mark.requirement("CFG-7")
def test_an_entry_of_one_kind_asked_for_as_the_other_is_an_error_that_says_so(tmp_path: Path):
    config = load_file(configured(tmp_path, files={"command": "npx"}, records=RECORDS))

    with pytest.raises(ConfigError, match="files is a server that is connected to"):
        kit_server_named(config, "files")
    with pytest.raises(ConfigError, match="records is a server that is started here"):
        client_server_named(config, "records")


@pytest.mark.requirement("CFG-7")
async def test_no_command_connects_to_a_server_of_ours(tmp_path: Path):
    configured(tmp_path, notes=entry("echo"), records=RECORDS)
    listed = await bascule(tmp_path, "list", "--json")

    assert listed.code == 0
    assert [server["name"] for server in listed.json["servers"]] == ["notes"]
    for words in (
        ("inspect", "records"),
        ("login", "records"),
        ("approve", "records"),
        ("read", "x://y", "--server", "records"),
    ):
        ran = await bascule(tmp_path, *words)
        assert ran.code == 2
        assert "records is a server that is started here" in ran.err


@pytest.mark.requirement("KIT-2", "KIT-8")
async def test_a_token_is_minted_for_one_server_and_the_key_is_its_owners_alone(tmp_path: Path):
    configured(tmp_path, records=RECORDS, files={"command": "npx"})
    ran = await bascule(tmp_path, "token", "records", "--user", "alice", "--session", "s-1")
    key = tmp_path / "state/keys/minting.key"

    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert ran.out.count(".") == 2
    assert "user alice, session s-1" in ran.err
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes().hex() not in ran.out + ran.err

    wrong = await bascule(tmp_path, "token", "files", "--json")
    assert wrong.code == 2
    assert json.loads(wrong.out)["error"]["code"] == "BSC-100"
    assert (await bascule(tmp_path, "token")).code == 2
    assert (await bascule(tmp_path, "token", "records", "--user", "")).code == 2

    key.chmod(0o644)
    unsafe = await bascule(tmp_path, "token", "records")
    assert unsafe.code == 1
    assert "others than you may read or change it" in unsafe.err
