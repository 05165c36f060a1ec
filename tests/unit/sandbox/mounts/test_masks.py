"""Masks of a sandbox: state folder, secrets, sockets and FIFOs in the folders that it shows."""

import os
import socket
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts import masks as module
from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.masks import holds_packages, identity, masked, replaced
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.spec.box import ABSENT, Mount


class Host:
    """A folder with files, and a view of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("state", "data/inner"):
            (folder / name).mkdir(parents=True)
        self.view = self.with_config()

    def with_config(self, *config: str) -> View:
        self.view = View(Machine("/home/me", "/", str(self.folder / "state"), "/usr/bin/python3", config=config))
        return self.view

    def file(self, name: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return str(path)

    def fifo(self, name: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
        return str(path)

    def show(self, name: str, why: str = "argument") -> None:
        self.view.place(str(self.folder / name), why)

    def masks(self, lane: Lane = Lane.SEALED) -> list[str]:
        return sorted(str(Path(mask.path).relative_to(self.folder)) for mask in masked(self.view, lane).masks)

    def mounts(self) -> list[str]:
        return [str(Path(mount.target).relative_to(self.folder)) for mount in masked(self.view, Lane.SEALED).mounts]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_folder_around_the_state_is_shown_without_it_under_every_name(host: Host, tmp_path: Path):
    (tmp_path / "data/all").symlink_to(tmp_path)
    host.show("data/all", "configured")
    (mask,) = masked(host.view, Lane.OPEN).masks
    assert (mask.path, mask.folder) == (f"{tmp_path}/data/all/state", True)


def test_secrets_are_masked_at_any_depth_and_no_link_is_followed(host: Host, tmp_path: Path):
    for name in ("data/.env", "data/a/b/c/.mcp.json", "data/a/.claude/settings.json", "data/.env.example", "else/.env"):
        host.file(name)
    (tmp_path / "data/link").symlink_to(tmp_path / "else")
    (tmp_path / "data/loop").symlink_to(tmp_path / "data")
    host.show("data")
    assert host.masks() == ["data/.env", "data/a/.claude", "data/a/b/c/.mcp.json"]


def test_a_link_with_such_a_name_masks_the_file_that_it_leads_to(host: Host, tmp_path: Path):
    host.file("data/inner/production")
    host.file("data/clients/settings")
    (tmp_path / "data/.env").symlink_to("inner/production")
    (tmp_path / "data/.cursor").symlink_to("clients")
    (tmp_path / "data/inner/.env").symlink_to("/nowhere")
    (tmp_path / "data/inner/.claude").symlink_to("..")
    host.show("data")
    assert host.masks() == ["data/clients", "data/inner/production"]


def test_a_file_is_masked_in_each_mount_that_shows_it(host: Host, tmp_path: Path):
    host.file("data/inner/.env")
    host.show("data")
    host.view.add(Mount(str(tmp_path / "data/inner"), str(tmp_path / "other"), why="argument"))
    assert host.masks() == ["data/inner/.env", "other/.env"]


def test_what_another_mount_covers_needs_no_mask(host: Host, tmp_path: Path):
    host.file("data/inner/.env")
    host.file("clean/file")
    host.show("data")
    host.view.add(Mount(str(tmp_path / "clean"), str(tmp_path / "data/inner"), why="argument"))
    assert host.masks() == []


@pytest.mark.parametrize("why", ["system", "ours", "workspace", "prepared"])
def test_other_mounts_are_not_searched(host: Host, tmp_path: Path, why: str):
    host.file("data/.env")
    host.view.add(Mount(str(tmp_path / "data"), str(tmp_path / "data"), why=why))
    assert host.masks() == []


def test_the_loaded_config_is_masked_wherever_it_lies(host: Host, tmp_path: Path):
    view = host.with_config(host.file("data/inner/any-name.json"), str(tmp_path / "data/inner/.env"))
    view.add(Mount(str(tmp_path / "data"), str(tmp_path / "data"), why="system"))
    assert host.masks() == ["data/inner/any-name.json"]
    # The variables beside it are not there yet.
    assert masked(view, Lane.OPEN).guarded[str(tmp_path / "data/inner/.env")] == ABSENT


def test_the_loaded_config_comes_back_by_mounts_only(host: Host):
    config = host.file("data/.mcp.json")
    host.with_config(config)
    host.show("data")
    host.show("data/.mcp.json")
    assert host.masks() == ["data/.mcp.json"]
    host.show("data/.mcp.json", "configured")
    assert host.masks() == []


def test_a_named_path_inside_a_masked_folder_stays_and_is_searched(host: Host, tmp_path: Path):
    host.file("data/.cursor/rules/style")
    host.file("data/.cursor/mcp.json")
    host.fifo("data/.cursor/rules/pipe")
    host.show("data")
    host.show("data/.cursor/rules")
    assert host.masks() == ["data/.cursor", "data/.cursor/rules/pipe"]
    assert host.mounts() == ["data", "data/.cursor/rules"]


def test_a_masked_folder_that_is_named_is_shown_and_what_is_in_it_searched(host: Host):
    host.file("data/.cursor/rules")
    host.file("data/.cursor/mcp.json")
    host.show("data")
    host.show("data/.cursor")
    assert host.masks() == ["data/.cursor/mcp.json"]


@pytest.mark.parametrize("lane", list(Lane))
def test_sockets_and_fifos_are_masked_unless_mounts_name_them_for_the_open_lane(
    host: Host, tmp_path: Path, lane: Lane, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    host.fifo("data/a\nb")
    host.fifo("data/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("data/inner/s")
        host.show("data", "configured")
        host.show("data/pipe", "configured")
        assert host.masks(lane) == sorted(
            ["data/a\nb", "data/inner/s", *(["data/pipe"] if lane is not Lane.OPEN else [])]
        )


def test_a_socket_shown_by_itself_is_masked_and_not_mounted(host: Host):
    host.fifo("data/pipe")
    host.show("data/pipe", "configured")
    assert (host.masks(), host.mounts()) == (["data/pipe"], [])
    assert host.masks(Lane.OPEN) == []


def test_packages_are_searched_for_sockets_only(host: Host):
    host.file("data/node_modules/x/.env")
    host.file("data/node_modules/x/.claude/agent")
    host.fifo("data/node_modules/x/.claude/pipe")
    host.fifo("data/.git/objects/pipe")
    host.show("data")
    assert host.masks() == ["data/.git/objects/pipe", "data/node_modules/x/.claude/pipe"]


def test_an_installation_of_python_is_not_searched(host: Host, tmp_path: Path):
    host.file("data/lib/python3.12/os.py")
    host.fifo("data/pipe")
    host.view.add(Mount(str(tmp_path / "data"), str(tmp_path / "data"), why="program"))
    assert host.masks() == []
    host.with_config()
    host.show("data")
    assert host.masks() == ["data/pipe"]


def test_a_search_is_bounded_and_every_folder_has_its_share(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MOST_ENTRIES", 40)
    for number in range(30):
        host.file(f"a/{number}")
        host.file(f"data/node_modules/{number}")
    host.file("b/.env")
    for name in ("a", "b", "data"):
        host.show(name)
    seen = masked(host.view, Lane.SEALED)
    assert [mask.path for mask in seen.masks] == [f"{tmp_path}/b/.env"]
    assert seen.unscanned == (f"{tmp_path}/a", f"{tmp_path}/data/node_modules")


def test_more_masks_than_an_engine_makes_are_an_error(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_MASKS", 2)
    for number in range(3):
        host.fifo(f"data/{number}")
    host.show("data")
    with pytest.raises(SandboxError, match="3 files must be hidden") as caught:
        masked(host.view, Lane.SEALED)
    assert "it is a FIFO of the host" in caught.value.evidence


def test_a_name_that_is_not_utf_8_hides_its_folder_or_is_an_error(host: Host, tmp_path: Path):
    os.mkfifo(bytes(tmp_path / "data/inner") + b"/\xff")
    host.show("data")
    assert host.masks() == ["data/inner"]
    host.show("data/inner", "configured")
    host.with_config()
    host.show("data/inner")
    with pytest.raises(SandboxError, match="cannot be hidden"):
        host.masks()


def test_a_file_is_replaced_if_another_one_has_its_name(tmp_path: Path):
    file, fresh = tmp_path / "file", tmp_path / "fresh"
    file.touch()
    fresh.touch()
    guarded = {str(file): identity(str(file)), str(tmp_path / "later"): ABSENT}
    assert replaced(guarded) == ""
    file.unlink()
    assert replaced(guarded) == ""
    fresh.rename(file)
    assert replaced(guarded) == str(file)
    file.unlink()
    (tmp_path / "later").touch()
    assert replaced(guarded) == str(tmp_path / "later")


def test_a_masked_file_is_guarded(host: Host):
    path = host.file("data/.env")
    host.show("data")
    assert masked(host.view, Lane.OPEN).guarded == {path: identity(path)}


def test_packages_are_known_by_their_folder():
    assert holds_packages("/p/node_modules")
    assert holds_packages("/p/.git/objects")
    assert not holds_packages("/p/objects")
