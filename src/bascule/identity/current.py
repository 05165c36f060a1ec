"""Current principal, as a context variable for the course of one request. Never a parameter: a model could fill that
in."""

from contextvars import ContextVar

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal

CURRENT: ContextVar[Principal | None] = ContextVar("bascule_principal", default=None)
"""Set by whoever has verified who asks, for the course of one request."""


def current_principal() -> Principal:
    principal = CURRENT.get()
    if principal is None:
        raise NotIdentified(
            "it is not known on whose behalf this runs",
            rule="identified",
            fix="ask in the course of a request that was let in, and not in what goes on after it",
        )
    return principal


def get_user_id() -> str:
    return current_principal().user_id


def get_session_id() -> str:
    return current_principal().session_id
