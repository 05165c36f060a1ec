"""What may be said of the box of a server."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config import load_file
from bascule.config.model.sandbox import AUTO, HostPath, Sandbox, host_paths, sandbox_flaws
from bascule.core.errors import ConfigError

PLAIN: dict[str, Any] = {name: getattr(Sandbox(), name) for name in Sandbox.__slots__}


def test_a_box_by_default_shows_what_the_command_names_and_is_bounded() -> None:
    assert Sandbox() == Sandbox("auto", None, "auto", 512 * 1024**2, 1, 128, 1024**3, 3600)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("engine", "podman", "engine: must be one of"),
        ("image", "", "image: must name an image"),
        ("image", 3, "image: must name an image"),
        ("mounts", "all", "mounts: must be auto"),
        ("mounts", [{"path": "data"}], "mounts[0].path: must be the whole path"),
        ("mounts", [{"path": "/data", "mode": "w"}], "mounts[0].mode: must be one of"),
        ("mounts", [{"path": "/data", "to": "/x"}], "mounts[0]: must be a mapping"),
        ("mounts", ["/data"], "mounts[0]: must be a mapping"),
        ("memory", 0, "memory: must be a whole number"),
        ("cpus", 0, "cpus: must be a number above 0"),
        ("cpus", True, "cpus: must be a number above 0"),
        ("cpus", float("nan"), "cpus: must be a number above 0"),
        ("pids", -1, "pids: must be a whole number"),
        ("disk", 0.5, "disk: must be a whole number"),
        ("session_limit", 0, "session_limit: must be a number of seconds"),
    ],
)
def test_what_cannot_be_meant_is_told_by_its_key(field: str, value: Any, told: str) -> None:
    flaws = [str(flaw) for flaw in sandbox_flaws({**PLAIN, field: value})]
    assert len(flaws) == 1
    assert told in flaws[0]


def test_an_image_is_refused_where_none_can_be_used() -> None:
    with pytest.raises(ConfigError, match="goes with `engine: docker`"):
        Sandbox(engine="bubblewrap", image="python:3.12")


def test_a_path_is_read_only_unless_said_otherwise() -> None:
    assert HostPath("/data").mode == "ro"
    assert host_paths([{"path": "/data"}, {"path": "~/x", "mode": "rw"}]) == (HostPath("/data"), HostPath("~/x", "rw"))
    assert host_paths("auto") == AUTO


@pytest.mark.parametrize("path", ["data", "", "/a\0b"])
def test_a_path_that_is_not_whole_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="whole path"):
        HostPath(path)


def test_mounts_made_by_hand_are_checked_and_kept() -> None:
    assert Sandbox(mounts=[HostPath("/data")]).mounts == (HostPath("/data"),)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be a mapping"):
        Sandbox(mounts=("/data",))  # type: ignore[arg-type]


def problems(tmp_path: Path, content: str) -> list[str]:
    (tmp_path / "bascule.yaml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_file(tmp_path / "bascule.yaml", {})
    return [problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def boxed(tmp_path: Path, sandbox: str) -> Any:
    (tmp_path / "bascule.yaml").write_text(f"mcp_servers:\n  a:\n    command: x\n    {sandbox}\n")
    return load_file(tmp_path / "bascule.yaml", {}).servers["a"].sandbox


def test_nothing_said_of_a_box_is_not_the_same_as_an_empty_table(tmp_path: Path):
    assert boxed(tmp_path, "args: []") is None
    assert boxed(tmp_path, "sandbox: null") is None
    assert boxed(tmp_path, "sandbox: {}") == Sandbox()
    assert boxed(tmp_path, "sandbox: none") == "none"


def test_a_box_is_read_by_its_keys(tmp_path: Path):
    mounts = "[{path: /data}, {path: ~/out, mode: rw}]"
    table = f"sandbox: {{engine: docker, image: a:1, mounts: {mounts}, memory: 1GiB, cpus: 0.5, pids: 9, disk: 1MiB}}"
    expected = (HostPath("/data"), HostPath("~/out", "rw"))
    assert boxed(tmp_path, table) == Sandbox("docker", "a:1", expected, 1024**3, 0.5, 9, 1024**2)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("command: x\n    sandbox: nnone", "sandbox: must be one of none"),
        ("command: x\n    sandbox: {engine: podman}", "sandbox.engine: must be one of auto, docker, bubblewrap"),
        ("command: x\n    sandbox: {mounts: [/data]}", "sandbox.mounts: must be auto, or a list"),
        ("command: x\n    sandbox: {mounts: [{path: data}]}", "sandbox.mounts[0].path: must be the whole path"),
        ("command: x\n    sandbox: {mounts: all}", "sandbox.mounts: must be auto, or a list"),
        ("command: x\n    sandbox: {cpus: '2'}", "sandbox.cpus: must be a number above 0; take the quotes away"),
        ("command: x\n    sandbox: {memry: 1GiB}", 'sandbox.memry: unknown key; did you mean "memory"?'),
        ("command: x\n    container: c\n    sandbox: none", "sandbox: is of a box that is made for the server"),
        ("command: x\n    container: c\n    sandbox: {pids: 3}", "sandbox: is of a box that is made for the server"),
        ("url: https://a.test/mcp\n    sandbox: {}", "sandbox: goes with `command`"),
    ],
)
def test_what_is_wrong_with_a_box_is_told_with_its_place(tmp_path: Path, lines: str, told: str):
    (problem,) = problems(tmp_path, f"mcp_servers:\n  a:\n    {lines}\n")

    assert f"mcp_servers.a.{told}" in problem
