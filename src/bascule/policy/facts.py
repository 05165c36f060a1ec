"""Facts of one policy decision, as one frozen value."""

import msgspec

from bascule.core.permission import UNDECLARED, Permission
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolStatus
from bascule.policy.containment import Footing
from bascule.policy.exposure import Exposure


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What is known about one request at the moment it is decided."""

    key: ToolKey
    name: str
    """The exposed name, as the caller used it."""
    principal: Principal
    status: ToolStatus
    exposure: Exposure
    """What the operator lets be seen of the server."""
    level: DataSensitivity
    lane: Lane
    """The lane the request would take."""
    footing: Footing = Footing.LOOSE
    """What is known of the server's ways out."""
    permissions: frozenset[Permission] = UNDECLARED
    problem: str = ""
    """Why the status is not EXPOSED."""
    because: str = ""
    """What brought the agent session to its level."""
    ended: bool = False
    """Whether an operator has ended the agent session."""
    asks: bool = False
    """Whether the operator wants a person to be asked."""
