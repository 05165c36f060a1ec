"""What a person does at the dashboard, done by whichever worker can."""

from collections.abc import Mapping

from msgspec.json import Decoder

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.cluster.peers import Others
from bascule.dashboard.cluster.peers__questions import Question
from bascule.dashboard.views.interface import Deeds
from bascule.dashboard.views.shapes import Deed
from bascule.gateway.cluster.peers import Silent

DEED: Decoder[Deed] = Decoder(Deed)
NOTHING: Decoder[None] = Decoder(None)

DOING = 10.0
"""Seconds for another worker to do it. A raise waits for all runtimes; one that is dead is waited for, too."""


class AllDeeds:
    """Tries it here, and then at each of the others: what is not there is not done there, and none of them does it by
    halves."""

    def __init__(self, own: Deeds, others: Others) -> None:
        self._own = own
        self._others = others

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        own = await self._own.approve(server, digests, by=by)
        deed = await self._elsewhere(own, Question("approve", name=server, digests=dict(digests), by=by))
        if deed.ok:
            # They would find out by themselves, but not before the page is looked at again.
            await self._others.ask(Question("look_again"), NOTHING)
        return deed

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        own = await self._own.answer(ask_id, agree=agree, by=by)
        return await self._elsewhere(own, Question("answer", name=ask_id, agree=agree, by=by))

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed:
        own = await self._own.raise_session(session_id, level, by=by, reason=reason)
        asked = Question("raise", session_id=session_id, level=level.value, by=by, reason=reason)
        return await self._elsewhere(own, asked)

    async def _elsewhere(self, own: Deed, question: Question) -> Deed:
        if own.ok:
            return own
        for member in self._others.members():
            try:
                deed = await self._others.ask_one(member, question, DEED, DOING)
            except Silent:
                continue
            if deed.ok:
                return deed
        return own
