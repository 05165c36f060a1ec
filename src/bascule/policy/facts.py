"""Facts of one policy decision, as one frozen value. A new fact is a new field of `Facts`."""

import msgspec

from bascule.core.json_types import JsonObject
from bascule.core.permission import UNDECLARED, Permission
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolStatus
from bascule.policy.containment import Footing
from bascule.policy.exposure import Exposure


class Facts(msgspec.Struct, frozen=True, gc=False):
    """Facts of one request at the moment at which the rules decide about it."""

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
    now: float
    """Seconds since the epoch."""
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
    arguments: JsonObject | None = None
    """Arguments of a tool call. None for any other request, and in a preview of the policy."""


FACTS = frozenset(Facts.__struct_fields__)
