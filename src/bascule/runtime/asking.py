"""A call that waits for a person: asked through a program's callback, and refused unless they agree in time."""

from collections.abc import Mapping
from typing import Any

from bascule.core.answer import Approval, OnAsk
from bascule.core.errors import Refused
from bascule.core.principal import Principal
from bascule.policy.verdict import Ask
from bascule.runtime.callback import put_to

LONGEST_WAIT = 300.0
"""Seconds. A person who has not answered by then has left, and silence is no consent."""


class Asking:
    """Whoever can be asked whether a call may go on."""

    def __init__(self, on_ask: OnAsk | None = None, limit: float = LONGEST_WAIT) -> None:
        self._on_ask = on_ask
        self._limit = limit

    async def agree(
        self, verdict: Ask, call: tuple[str, str, str], principal: Principal, arguments: Mapping[str, Any]
    ) -> None:
        """Raises `Refused` unless a person agrees. `call` is the name that was used, the server, and its own name."""
        if self._on_ask is None:
            raise Refused(
                f"{verdict.message}, and nobody can be asked",
                rule=verdict.rule,
                fix=(
                    "run `bascule call` at a terminal, or give the Runtime an `on_ask` callback; or take the tool "
                    "out of the server's `ask`"
                ),
            )
        approval = Approval(*call, principal, arguments, verdict.message)
        answer = await put_to(self._on_ask, approval, self._limit)
        if answer is not True:
            why = "nobody answered" if answer is None else "they did not agree"
            fix = "call it again, and have the person agree" if answer is None else "the person's word stands"
            raise Refused(f"{verdict.message}, and {why}", rule=verdict.rule, fix=fix)
