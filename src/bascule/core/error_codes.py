"""Error codes with their titles, by area.

A code belongs to the class or constant that carries it and is only listed here. A test compares the two lists, and each
code with its page in `docs/errors`, which `bascule explain` prints."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Area(StrEnum):
    """What an error is about, in the order in which a reader meets it."""

    CONFIG = "The config"
    ASKED = "What was asked for"
    RULES = "The rules said no"
    SERVERS = "A server, or the way to it"
    OURS = "Bascule itself, and what it runs on"
    FILES = "Files of an agent session"
    RUNS = "Tools and runs"
    WEAKINCENTIVES = "The weakincentives bridge"
    GATEWAY = "The gateway's door"


class Code(NamedTuple):
    """One code, told in a few words."""

    area: Area
    title: str


CODES: Mapping[str, Code] = MappingProxyType(
    {
        "BSC-100": Code(Area.CONFIG, "The config is wrong"),
        "BSC-200": Code(Area.ASKED, "Something was asked for that cannot be"),
        "BSC-201": Code(Area.ASKED, "There is no such tool"),
        "BSC-202": Code(Area.ASKED, "The arguments do not fit the tool"),
        "BSC-203": Code(Area.ASKED, "No server is known to have this resource"),
        "BSC-204": Code(Area.ASKED, "There is no such prompt"),
        "BSC-300": Code(Area.RULES, "A rule does not allow it"),
        "BSC-301": Code(Area.RULES, "A limit of calls is reached"),
        "BSC-302": Code(Area.RULES, "The isolated twin is another server"),
        "BSC-303": Code(Area.RULES, "The outcome is withheld"),
        "BSC-304": Code(Area.RULES, "The audit log cannot take it"),
        "BSC-305": Code(Area.RULES, "It is not known who asks"),
        "BSC-401": Code(Area.SERVERS, "No link to the server could be made"),
        "BSC-402": Code(Area.SERVERS, "The link was lost under the request"),
        "BSC-403": Code(Area.SERVERS, "The server did not answer in time"),
        "BSC-404": Code(Area.SERVERS, "The server does not keep to the protocol"),
        "BSC-405": Code(Area.SERVERS, "The server answered with an error of the protocol"),
        "BSC-406": Code(Area.SERVERS, "The server wants to know who you are"),
        "BSC-407": Code(Area.SERVERS, "The login came to nothing"),
        "BSC-408": Code(Area.SERVERS, "The lane was closed under the request"),
        "BSC-409": Code(Area.SERVERS, "The server wants answers first"),
        "BSC-410": Code(Area.SERVERS, "The server could not be started"),
        "BSC-500": Code(Area.OURS, "No link was free in time"),
        "BSC-600": Code(Area.OURS, "A box could not be made, or not be ended"),
        "BSC-650": Code(Area.OURS, "What must be kept could not be read or written"),
        "BSC-000": Code(Area.OURS, "Something happened that nobody foresaw"),
        "BSC-610": Code(Area.FILES, "Something could not be done with a file"),
        "BSC-611": Code(Area.FILES, "The path leads out of the workspace"),
        "BSC-612": Code(Area.FILES, "There is no room for the file"),
        "BSC-700": Code(Area.RUNS, "The run was stopped"),
        "BSC-701": Code(Area.RUNS, "The tool itself said no"),
        "BSC-703": Code(Area.RUNS, "Whoever called stopped waiting"),
        "BSC-711": Code(Area.WEAKINCENTIVES, "A server is not connected"),
        "BSC-712": Code(Area.WEAKINCENTIVES, "A call failed"),
        "BSC-713": Code(Area.WEAKINCENTIVES, "A server took too long"),
        "BSC-714": Code(Area.WEAKINCENTIVES, "A tool cannot be a tool of the framework"),
        "BSC-715": Code(Area.WEAKINCENTIVES, "The run is ended by a tool"),
        "BSC-716": Code(Area.GATEWAY, "More than one client may have at once"),
        "BSC-720": Code(Area.GATEWAY, "The body of a request is not taken"),
    }
)
