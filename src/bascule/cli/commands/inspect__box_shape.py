"""What the box of a server shows, for `bascule inspect`."""

import os
from collections.abc import Mapping

from bascule.cli.json_output.listings import BoxShape
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.config.secret import reveal_all
from bascule.core.errors import SandboxError
from bascule.core.principal import Nobody
from bascule.core.sensitivity import Lane
from bascule.sandbox.engines import settings_of
from bascule.sandbox.factory import Boxing
from bascule.sandbox.mounts.host import this_machine
from bascule.sandbox.mounts.layout import laid_out, shown
from bascule.sandbox.process.child import Command
from bascule.sandbox.process.environment import child_environment
from bascule.sandbox.spec.launch_request import Order

LOOKING = Nobody("bascule", "inspect")


def box_shape(server: ServerConfig, boxing: Boxing, environ: Mapping[str, str] = os.environ) -> BoxShape | None:
    """By which engine it is made, and the paths that it shows or leaves out. None, if the server has no box. Packages
    that are fetched for a command, and the workspace, are not told: they are not the operator's to choose."""
    engine, stdio = boxing.engine_of(server), server.transport
    if not isinstance(stdio, StdioTransport) or engine is None or isinstance(engine, SandboxError):
        return None
    env = child_environment(reveal_all(stdio.env), stdio.inherit_env, environ)
    command = Command((stdio.command, *stdio.args), env, stdio.cwd)
    order = Order(server.name, Lane.SEALED, LOOKING, command, settings_of(server))
    try:
        paths = shown(laid_out(order, this_machine(environ), "inspect"))
    except SandboxError as error:
        return {"engine": engine.kind, "error": error.message}
    return {
        "engine": engine.kind,
        "shows": [{"path": each.path, "mode": each.mode, "why": each.why} for each in paths],
    }
