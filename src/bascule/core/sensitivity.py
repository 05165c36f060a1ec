"""Sensitivity levels of data, and the network lane that each level leaves open."""

from enum import IntEnum, StrEnum


class DataSensitivity(IntEnum):
    """A level. It only ever rises."""

    PUBLIC = 0
    INTERNAL = 1
    CONFIDENTIAL = 2
    SECRET = 3


class Lane(StrEnum):
    """What a server can reach while it serves a call."""

    OPEN = "open"
    PROXIED = "proxied"
    SEALED = "sealed"


_LANES = {
    DataSensitivity.PUBLIC: Lane.OPEN,
    DataSensitivity.INTERNAL: Lane.OPEN,
    DataSensitivity.CONFIDENTIAL: Lane.PROXIED,
    DataSensitivity.SECRET: Lane.SEALED,
}


def lane_for(level: DataSensitivity) -> Lane:
    return _LANES[level]


_WIDTH = {Lane.OPEN: 2, Lane.PROXIED: 1, Lane.SEALED: 0}


def is_wider(lane: Lane, than: Lane) -> bool:
    """Whether a server on this lane can reach what one on the other cannot."""
    return _WIDTH[lane] > _WIDTH[than]
