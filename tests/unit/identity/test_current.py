from contextvars import copy_context

import pytest

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.identity.current import CURRENT, current_principal, get_session_id, get_user_id


def test_who_asks_is_known_where_it_was_set() -> None:
    def inside() -> tuple[str, str, Principal]:
        CURRENT.set(Principal("alice", "s-1"))
        return get_user_id(), get_session_id(), current_principal()

    assert copy_context().run(inside) == ("alice", "s-1", Principal("alice", "s-1"))


@pytest.mark.parametrize("ask", [get_user_id, get_session_id, current_principal])
def test_nobody_is_no_default_user(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(NotIdentified):
        ask()
