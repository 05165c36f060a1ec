"""A view, while it is put together."""

import socket
from pathlib import Path

import pytest

from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.spec.box import Link, Mount


@pytest.fixture
def view(tmp_path: Path) -> View:
    for name in ("home", "state", "data/inner", "real"):
        (tmp_path / name).mkdir(parents=True)
    return View(Machine(str(tmp_path / "home"), str(tmp_path), str(tmp_path / "state"), "/usr/bin/python3"))


def targets(view: View) -> list[str]:
    return [mount.target for mount in view.mounts]


def test_folders_come_before_what_lies_in_them(view: View) -> None:
    view.add(Mount("/b/c", "/b/c", writable=True))
    view.add(Mount("/b", "/b"))
    assert targets(view) == ["/b", "/b/c"]


def test_what_is_shown_already_is_not_mounted_again(view: View) -> None:
    view.add(Mount("/b/c", "/b/c"))
    view.add(Mount("/b", "/b"))
    assert targets(view) == ["/b"]


def test_something_else_in_the_same_place_is_mounted(view: View) -> None:
    view.add(Mount("/b", "/b"))
    view.add(Mount("/other", "/b/c"))
    assert targets(view) == ["/b", "/b/c"]


def test_the_wish_to_write_outweighs_the_one_to_read(view: View) -> None:
    view.add(Mount("/b", "/b"))
    view.add(Mount("/b", "/b", writable=True))
    assert [mount.writable for mount in view.mounts] == [True]


def test_what_is_named_through_a_link_is_shown_under_its_name(view: View, tmp_path: Path) -> None:
    (tmp_path / "name").symlink_to("real")
    view.named(str(tmp_path / "name"), "argument")
    assert view.mounts == (Mount(str(tmp_path / "real"), str(tmp_path / "name"), why="argument"),)


def test_a_link_of_the_box_leads_where_it_leads_outside(view: View, tmp_path: Path) -> None:
    (tmp_path / "name").symlink_to("real")
    (tmp_path / "real/file").touch()
    view.link([Link(str(tmp_path / "name"), "real")])
    view.named(str(tmp_path / "name/file"), "argument")
    assert targets(view) == [str(tmp_path / "real/file")]


def test_a_link_in_a_mount_needs_no_second(view: View, tmp_path: Path) -> None:
    view.link([Link(str(tmp_path / "data/link"), "inner")])
    assert view.tree(str(tmp_path / "data"), "program")
    assert view.links == ()


def test_a_settings_folder_of_a_client_is_no_tree_and_the_loaded_config_no_argument(tmp_path: Path) -> None:
    config = tmp_path / "servers.json"
    config.touch()
    (tmp_path / ".claude").mkdir()
    view = View(Machine("/home/me", "/", "/state", "/usr/bin/python3", config=(str(config),)))
    view.named(str(config), "argument")
    view.file(str(config), "program")
    assert not view.tree(str(tmp_path / ".claude"), "program")
    assert view.mounts == ()
    assert [omitted.path for omitted in view.omitted] == [str(config)]


def test_a_path_is_chosen_by_its_real_path_and_by_mounts_or_by_the_command(view: View, tmp_path: Path) -> None:
    (tmp_path / "name").symlink_to("real")
    view.named(str(tmp_path / "name"), "argument")
    view.place(str(tmp_path / "data"), "configured")
    real, data = str(tmp_path / "real"), str(tmp_path / "data")
    assert (view.chosen(real, by_mounts=False), view.chosen(real, by_mounts=True)) == (True, False)
    assert (view.chosen(data, by_mounts=False), view.chosen(data, by_mounts=True)) == (True, True)
    assert not view.chosen(f"{data}/inner", by_mounts=False)


def test_sockets_homes_and_state_are_left_out_and_told(view: View, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "sock"))
        for name in ("sock", "home", "state"):
            view.named(str(tmp_path / name), "argument")
    (tmp_path / "sneaky").symlink_to("state")
    view.named(str(tmp_path / "sneaky"), "argument")
    assert view.mounts == ()
    assert [Path(omitted.path).name for omitted in view.omitted] == ["sock", "home", "state", "sneaky"]


def test_what_is_there_anyway_is_not_missed(view: View) -> None:
    view.add(Mount("/usr", "/usr"))
    view.named("/usr", "argument")
    assert view.omitted == ()


def test_a_crowded_folder_is_no_tree_and_what_is_missing_neither(view: View, tmp_path: Path) -> None:
    assert not view.tree(str(tmp_path / "home"), "program")
    assert not view.tree(str(tmp_path / "nowhere"), "program")
    assert not view.tree(str(tmp_path / "state"), "program")
    assert view.mounts == ()


def test_a_file_of_a_program_is_shown_alone(view: View, tmp_path: Path) -> None:
    (tmp_path / "home/tool").touch()
    view.file(str(tmp_path / "home/tool"), "program")
    view.file(str(tmp_path / "home/missing"), "program")
    assert targets(view) == [str(tmp_path / "home/tool")]


def test_what_lies_on_the_way_is_there_too(view: View, tmp_path: Path) -> None:
    view.place(str(tmp_path / "data/inner"), "argument")
    assert view.has(str(tmp_path / "data"))
    assert view.has(str(tmp_path / "data/inner/deep"))
    assert not view.has(str(tmp_path / "real"))


def test_something_is_new_once(view: View) -> None:
    assert view.is_new("/venv")
    assert not view.is_new("/venv")
