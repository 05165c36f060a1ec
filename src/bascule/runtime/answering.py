"""What becomes of a server's question: decided by the rules, put to whoever answers, recorded, and written under the
permit of the agent session it was asked in."""

from collections.abc import Callable

from bascule.core.errors import BasculeError, PeerRefused, PermitLost, ProtocolViolation
from bascule.core.events import QuestionAnswered
from bascule.core.jsonvalue import JsonObject
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey
from bascule.links.key import LinkKey
from bascule.links.reception import Reception
from bascule.policy.decide import decide
from bascule.policy.verdict import Allow
from bascule.records.recorder import Recorder
from bascule.runtime.respondent import ELICIT, LONGEST_WAIT, SAMPLE, Respondent
from bascule.runtime.standing import Standing
from bascule.transports.dispatcher import Response
from bascule.wire.input_required import Question
from bascule.wire.stamp import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

StandingOf = Callable[[Principal], Standing | None]


class Answering:
    """Answers the servers of one runtime, in either era."""

    def __init__(
        self, respondent: Respondent, recorder: Recorder, clock: Callable[[], float], standing_of: StandingOf
    ) -> None:
        self._respondent = respondent
        self._record = recorder.record
        self._clock = clock
        self._standing_of = standing_of

    @property
    def reception(self) -> Reception:
        """For links: what is offered to servers, and who answers."""
        offered = self._respondent.capabilities
        return Reception(offered, self.respond if offered else None)

    async def respond(self, key: LinkKey, method: str, params: JsonObject) -> Response:
        """Answer a request that a server of the old era made on a link."""
        offered = self._respondent.capabilities
        standing = self._standing_of(key.principal)
        if standing is None or _CAPABILITY.get(method) not in offered:
            raise PeerRefused(f"{method[:80]} is not offered by this client", rpc_code=METHOD_NOT_FOUND)
        permit = standing.ratchet.permit()
        subject = standing.subject(method, ToolKey(key.server, method), method)
        verdict = decide(standing.facts(subject, of_tools=False))
        if not isinstance(verdict, Allow) or verdict.lane is not key.lane:
            # Nothing may be written there any more, not even that nothing may be written.
            raise PermitLost(f"{key.server} may not be answered on the {key.lane} lane")
        try:
            return Response(await self.put(standing, key.server, key.lane, Question(method, params)), permit)
        except ProtocolViolation as error:
            raise PeerRefused(error.message, rpc_code=INVALID_PARAMS) from error
        except BasculeError as error:
            raise PeerRefused(error.message, rpc_code=INTERNAL_ERROR) from error

    async def put(
        self, standing: Standing, server: str, lane: Lane, question: Question, limit: float = LONGEST_WAIT
    ) -> JsonObject:
        """Put one question to whoever answers. Always one event."""
        answer, reason = "refused", "the server stopped waiting"
        try:
            answered = await self._respondent.answer(server, standing.principal, question, limit)
            answer, reason = answered.word, ""
        except BasculeError as error:
            reason = standing.mask_of(server).text(error.message)
            raise
        finally:
            method = question.method[:80]
            self._record(QuestionAnswered(method, server, standing.principal, lane, answer, reason, self._clock()))
        return answered.result


_CAPABILITY = {ELICIT: "elicitation", SAMPLE: "sampling"}
