"""Containment of private data: one table of the permissions that a server keeps at each sensitivity level."""

from collections.abc import Mapping
from enum import StrEnum

from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity


class Footing(StrEnum):
    """What is known of a server's ways out."""

    CONFINED = "confined"
    """It has a twin without them."""
    LOOSE = "loose"
    """Nothing is known."""
    VOUCHED_CONFIDENTIAL = "vouched: confidential"
    """The operator's word: it has none that confidential data could take."""
    VOUCHED_SECRET = "vouched: secret"  # noqa: S105 -- a level, no password
    """The operator's word: it has none at all."""
    NATIVE = "native"
    """It is functions of this program, of which the program's word says which have none."""


EVERYTHING = frozenset(Permission)
STAYS = frozenset({Permission.READ, Permission.WRITE})
NOTHING = frozenset[Permission]()

_BELOW = dict.fromkeys(Footing, EVERYTHING)

TABLE: Mapping[DataSensitivity, Mapping[Footing, frozenset[Permission]]] = {
    DataSensitivity.PUBLIC: _BELOW,
    DataSensitivity.INTERNAL: _BELOW,
    DataSensitivity.CONFIDENTIAL: {
        Footing.CONFINED: EVERYTHING,
        Footing.LOOSE: NOTHING,
        Footing.VOUCHED_CONFIDENTIAL: STAYS,
        Footing.VOUCHED_SECRET: STAYS,
        Footing.NATIVE: STAYS,
    },
    DataSensitivity.SECRET: {
        Footing.CONFINED: EVERYTHING,
        Footing.LOOSE: NOTHING,
        Footing.VOUCHED_CONFIDENTIAL: NOTHING,
        Footing.VOUCHED_SECRET: STAYS,
        Footing.NATIVE: STAYS,
    },
}
"""By level and footing: the classes of effect that go on. Arguments alone can carry data out, so a loose server is
asked nothing at all; a confined one has nowhere to connect to, so it may do everything there."""


def goes_on(level: DataSensitivity, footing: Footing) -> frozenset[Permission]:
    """What is not in the table does not go on."""
    return TABLE.get(level, {}).get(footing, NOTHING)


def footing_of(*, has_twin: bool, vouched: DataSensitivity | None) -> Footing:
    if has_twin:
        return Footing.CONFINED
    if vouched is DataSensitivity.SECRET:
        return Footing.VOUCHED_SECRET
    return Footing.VOUCHED_CONFIDENTIAL if vouched is DataSensitivity.CONFIDENTIAL else Footing.LOOSE
