"""Between paths as agents see them and paths of this machine."""

from pathlib import Path

import pytest

from bascule.core.errors import PathRefused, UsageError
from bascule.workspace import Workspace, current_workspace, host_to_workspace_path, workspace_to_host_path
from bascule.workspace.host_paths import CURRENT


def test_a_path_goes_there_and_back(workspace: Workspace, files: Path):
    host = workspace_to_host_path("/workspace/a/b", workspace)
    assert host == str(files / "a" / "b")
    assert host_to_workspace_path(host, workspace) == "/workspace/a/b"
    assert workspace_to_host_path("c", workspace) == str(files / "c")


def test_without_a_workspace_the_one_of_the_request_is_meant(workspace: Workspace, files: Path):
    assert current_workspace() is None
    token = CURRENT.set(lambda: workspace)
    try:
        assert current_workspace() is workspace
        assert workspace_to_host_path("a") == str(files / "a")
        assert host_to_workspace_path(str(files)) == "/workspace"
    finally:
        CURRENT.reset(token)


def test_outside_of_a_request_nobodys_is_meant():
    with pytest.raises(UsageError, match="whose workspace"):
        workspace_to_host_path("a")
    with pytest.raises(UsageError, match="whose workspace"):
        host_to_workspace_path("/tmp/a")


def test_a_path_that_leads_out_is_refused_in_both_directions(workspace: Workspace, files: Path):
    with pytest.raises(PathRefused):
        workspace_to_host_path("../a", workspace)
    for host in (str(files.parent), str(files) + "x", f"{files}/../attic", "/etc/passwd", "relative"):
        with pytest.raises(PathRefused) as caught:
            host_to_workspace_path(host, workspace)
        assert str(files.parent) not in str(caught.value)
