from inspect import signature

import pytest

from bascule.config import RuntimeConfig
from bascule.core.workspace_quota import WORKSPACE_QUOTA
from bascule.kit.request_context import Home
from bascule.workspace import Workspace
from bascule.workspace.workspaces import Workspaces


@pytest.mark.parametrize("maker", [Workspace, Workspaces, Home])
def test_a_workspace_made_by_a_program_has_the_quota_of_a_config_that_names_none(maker: type):
    assert signature(maker).parameters["quota"].default == RuntimeConfig({}).workspace_quota == WORKSPACE_QUOTA
