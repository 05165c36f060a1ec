"""Receipt of a change of the sensitivity level: principal, time, cause, level before and after, and the actions
taken."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity

Change = Literal["raise", "declassify", "end"]
"""A level rises by itself. Only an operator lowers one, or ends an agent session."""


LONGEST_REASON = 1000
"""Characters of a reason. A receipt keeps it for good."""


class Cause(msgspec.Struct, frozen=True):
    """Why a level changes."""

    by: str
    """Source of the change: `raises rule`, `label`, `dataset`, `no readable outcome`, `level mark`, or `operator` with
    a name."""
    server: str = ""
    tool: str = ""
    """The call, if it was one, by the server's own name of the tool."""
    dataset: str = ""
    reason: str = ""
    """In an operator's own words."""


class Receipt(msgspec.Struct, frozen=True):
    """One change of one agent session's level. It outlives the agent session."""

    number: int
    """Of all changes in a store, in the order in which they were made."""
    change: Change
    principal: Principal
    at: float
    """Seconds since the epoch."""
    before: DataSensitivity
    after: DataSensitivity
    epoch: int
    """How many changes the agent session's level had seen after this one."""
    cause: Cause
    closed: tuple[str, ...] = ()
    """The links that were closed for it, each by its server and lane."""
    twins: Mapping[str, str] = {}
    """What serves each server's tools from then on: `declared`, `probed`, `vouched` or `refused`."""
    fence: str = ""
    """Who has made sure that nothing more is written: runtimes that acknowledged, and leases that ran out."""
