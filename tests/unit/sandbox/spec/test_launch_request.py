"""What a box is ordered with."""

from bascule.config.model.sandbox import Sandbox
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.launch_request import Order


def test_an_order_without_a_workspace_or_sockets_gives_the_box_neither() -> None:
    order = Order("files", Lane.OPEN, Principal("alice", "s-1"), Command(("server",), {}), Sandbox())
    assert order.workspace is None
    assert order.sockets == {}
