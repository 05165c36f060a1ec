"""Labels of containers and networks in the engine: runtime, state folder, server and lane, and the principal as a
hash."""

import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.files.regular_file import read_regular
from bascule.sandbox.owner import RUN, Owner

OWNER = "dev.bascule.owner"
STATE = "dev.bascule.state"
SERVER = "dev.bascule.server"
LANE = "dev.bascule.lane"
PRINCIPAL = "dev.bascule.principal"

NAME = ".name"
"""In the folder of all owners: what this state folder is called on engines."""


def owned_by(owner: Owner) -> Mapping[str, str]:
    """On all that belongs to one runtime."""
    return {OWNER: owner.id, STATE: state_name(owner.state)}


def alias(principal: Principal) -> str:
    """What stands for a principal where others can look."""
    told = f"{principal.user_id}\0{principal.session_id}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(told).hexdigest()[:16]


LONGEST_NAME = 64
"""Bytes read of a state folder's name, which has 16."""


def state_name(state: Path) -> str:
    """A name that no other state folder has, made once. A path is not enough: two containers that share an engine may
    have different folders under the same one, and would take each other's boxes for abandoned."""
    place = state / RUN / NAME
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.exists():
            # Complete before it has its name: somebody else may look at the same moment.
            draft = place.with_name(f"{NAME}-{secrets.token_hex(8)}")
            draft.write_text(secrets.token_hex(8))
            with suppress(FileExistsError):
                os.link(draft, place)
            draft.unlink()
        return read_regular(place, LONGEST_NAME).decode().strip()
    except OSError as error:
        raise SandboxError(
            "boxes need a place in the state folder, and cannot have it",
            where="box",
            evidence=str(error),
            fix=f"make {state} writable for this user, or set BASCULE_HOME to a folder that is",
        ) from error
