from typing import Any

import pytest

from bascule.core.errors import UsageError
from bascule.kit.connectors import Connector
from bascule.workspace import Workspace


def made(**members: Any) -> type:
    return type("Own", (Connector,), members)


def test_a_connector_of_static_methods_may_have_private_names_and_classes():
    def read(self_: object) -> None: ...

    made(read=staticmethod(read), Error=type("Error", (Exception,), {}), _LIMIT=3)


@pytest.mark.parametrize(
    "member",
    [lambda self: 1, classmethod(lambda cls: 1), property(lambda self: 1), {"a": 1}, 7],
    ids=lambda m: type(m).__name__,
)
def test_what_could_keep_something_is_refused_when_the_class_is_written(member: object):
    with pytest.raises(TypeError, match=r"Own\.read is no static method"):
        made(read=member)


def test_a_class_below_another_connector_is_held_to_the_same():
    below: Any = made()
    with pytest.raises(TypeError, match="no static method"):
        type("Below", (below,), {"read": lambda self: 1})


def test_there_are_no_instances():
    with pytest.raises(TypeError, match="no instances"):
        made()()


def test_the_workspace_is_that_of_the_request(workspace: Workspace):
    assert Connector.workspace() is workspace


def test_without_a_request_there_is_no_workspace():
    with pytest.raises(UsageError, match="whose workspace") as caught:
        Connector.workspace()
    assert "create_mcp_server" in caught.value.fix
