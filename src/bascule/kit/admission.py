"""Admission of a tool call in a kit server: permissions against lane and sensitivity level of the principal."""

import os
from collections.abc import Mapping

from bascule.config.state_dir import LANE_VARIABLE
from bascule.core.errors import Refused, StoreError
from bascule.core.permission import Permission
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.identity.current import CURRENT as WHO
from bascule.identity.current import current_principal
from bascule.kit.levels.files import Levels

CONFINED = frozenset({Lane.PROXIED.value, Lane.SEALED.value})


class Admission:
    """The rule of one server. Nobody, and a level that cannot be read, are never let through to the outside."""

    def __init__(self, levels: Levels, environ: Mapping[str, str] = os.environ) -> None:
        self._levels = levels
        # An instance that can reach nobody cannot give anything away. What is not said, or not known, confines nothing.
        self._confined = environ.get(LANE_VARIABLE, "") in CONFINED

    async def admit(self, tool: str, permissions: frozenset[Permission]) -> None:
        """Raises `Refused`."""
        principal = WHO.get()
        if Permission.CONNECT in permissions:
            # Asked anew each time: another process may have raised it.
            level = await self._look(current_principal())
            if level >= DataSensitivity.CONFIDENTIAL and not self._confined:
                raise Refused(
                    f"{tool} reaches out, and this agent session has seen {level.name} data",
                    rule="no_way_out",
                    fix="go on with tools that reach nobody, or begin another agent session",
                )
        elif principal is not None and self._levels.seen(principal) is None:
            await self._look(principal)

    async def _look(self, principal: Principal) -> DataSensitivity:
        try:
            return await self._levels.look(principal)
        except StoreError as error:
            # What it says is for who runs the server: it names folders of this machine.
            raise Refused(
                "it cannot be told how private this agent session is, so nothing is done for it",
                rule="level_known",
                fix="tell whoever runs this server; its log says why",
            ) from error

    def seen(self) -> DataSensitivity:
        """The level that a result has to be labelled with."""
        principal = WHO.get()
        if principal is None:
            return DataSensitivity.PUBLIC
        level = self._levels.seen(principal)
        return level if level is not None else DataSensitivity.SECRET
