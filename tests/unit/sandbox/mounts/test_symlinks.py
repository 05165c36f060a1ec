"""The way of a path through links."""

from pathlib import Path

from bascule.sandbox.mounts.symlinks import LONGEST, trail
from bascule.sandbox.spec.box import Link


def test_a_path_without_links_leads_to_itself(tmp_path: Path) -> None:
    assert trail(str(tmp_path / "file")).end == str(tmp_path / "file")
    assert trail(str(tmp_path / "file")).links == ()


def test_every_link_on_the_way_is_told_the_folders_too(tmp_path: Path) -> None:
    (tmp_path / "v1/bin").mkdir(parents=True)
    (tmp_path / "v1/bin/tool-1").touch()
    (tmp_path / "v1/bin/tool").symlink_to("tool-1")
    (tmp_path / "now").symlink_to("v1")

    followed = trail(str(tmp_path / "now/bin/tool"))

    assert followed.end == str(tmp_path / "v1/bin/tool-1")
    assert followed.links == (Link(str(tmp_path / "now"), "v1"), Link(str(tmp_path / "v1/bin/tool"), "tool-1"))
    assert followed.stops == tuple(str(tmp_path / each) for each in ("now/bin/tool", "v1/bin/tool", "v1/bin/tool-1"))


def test_a_circle_is_left_after_a_while(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert len(trail(str(tmp_path / "a")).links) == LONGEST
