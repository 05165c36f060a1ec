"""Handler of server requests: decided by the rules, answered by a respondent, recorded, and written under the permit of
their agent session."""

from collections.abc import Callable

import msgspec

from bascule.core.client_features import Respondent
from bascule.core.errors import BasculeError, PeerRefused, PermitLost, ProtocolViolation
from bascule.core.events import QuestionAnswered
from bascule.core.json_types import JsonObject
from bascule.core.principal import Principal
from bascule.core.request import Request
from bascule.core.sensitivity import Lane
from bascule.records.recorder import Recorder
from bascule.runtime.delivery import DECLINE, deliverable, is_declined
from bascule.runtime.server_requests.in_flight import Errand, UnderWay
from bascule.runtime.server_requests.parse import ROOTS, answers
from bascule.runtime.server_requests.respondent import LONGEST_WAIT, answer
from bascule.runtime.server_requests.roots import RootsNews
from bascule.runtime.session_context import Standing
from bascule.transports.dispatcher import Response
from bascule.upstream.link import Link
from bascule.upstream.server_requests import AskedOn, Reception
from bascule.wire.input_required import Question
from bascule.wire.request_meta import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from bascule.wire.task import speaks_tasks

INVALID_REQUEST = -32600
"""What clients answer that are asked for what they do not have."""

StandingOf = Callable[[Principal], Standing | None]

EVERYTHING: JsonObject = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
"""What servers of the old era are offered where each request brings its own respondent: they are told once, before it
is known who will be there. Tools for models are left out: hardly a client takes them, and a server might insist."""


class Answering:
    """Answers the servers of one runtime, in either era."""

    def __init__(
        self,
        respondent: Respondent,
        recorder: Recorder,
        clock: Callable[[], float],
        standing_of: StandingOf,
        *,
        for_clients: bool = False,
    ) -> None:
        self._respondent = respondent
        self._record = recorder.record
        self._clock = clock
        self._standing_of = standing_of
        self._for_clients = for_clients
        self._under_way = UnderWay()
        self.roots = RootsNews()

    @property
    def reception(self) -> Reception:
        """For links: what is offered to servers, and who answers."""
        capabilities = self._respondent.capabilities
        offered = {**EVERYTHING, **capabilities} if self._for_clients else capabilities
        return Reception(capabilities, offered, self.respond if offered else None)

    async def attend(self, link: Link, request: Request, respondent: Respondent, *, tasks: bool = False) -> JsonObject:
        """Send a request that brings its own respondent, who answers until the reply is there. Of `tasks` only a server
        is told that has them."""
        if respondent.tasks and not (tasks and _has_tasks(link)):
            respondent = msgspec.structs.replace(respondent, tasks=False)
        if link.stamp.envelope:
            # Servers of the new era ask in their replies, and are told with each request what they may ask.
            return await link.send(msgspec.structs.replace(request, capabilities=respondent.capabilities))
        with self._under_way.during(link, respondent):
            return await link.send(request)

    async def respond(self, link: AskedOn, method: str, params: JsonObject) -> Response:
        """Answer a request that a server of the old era made on a link."""
        key, question = link.key, Question(method, params)
        standing = self._standing_of(key.principal)
        errand = self._under_way.find(link, question) or self.roots.find(link, question)
        respondent = self._respondent if errand is None else errand.respondent
        if standing is None or not answers(respondent, question):
            raise self._not_offered(method)
        permit = standing.permit_on(key, method)
        if permit is None:
            # Nothing may be written there any more, not even that nothing may be written.
            raise PermitLost(f"{key.server} may not be answered on the {key.lane} lane")
        try:
            answered = await self._put_during(errand, standing, key.server, key.lane, question)
        except ProtocolViolation as error:
            raise PeerRefused(error.message, rpc_code=INVALID_PARAMS) from error
        except BasculeError as error:
            raise PeerRefused(error.message, rpc_code=INTERNAL_ERROR) from error
        if method == ROOTS and errand is not None:
            self.roots.told(link)
        return Response(answered, permit)

    async def _put_during(
        self, errand: Errand | None, standing: Standing, server: str, lane: Lane, question: Question
    ) -> JsonObject:
        if errand is None:
            return await self.put(standing, server, lane, question)
        return await errand.put(server, self.put(standing, server, lane, question, respondent=errand.respondent))

    async def put(
        self,
        standing: Standing,
        server: str,
        lane: Lane,
        question: Question,
        limit: float = LONGEST_WAIT,
        *,
        respondent: Respondent | None = None,
    ) -> JsonObject:
        """Put one question to whoever answers. Always one event."""
        word, reason = "refused", "the server stopped waiting"
        question, findings = deliverable(standing, lane, question)
        try:
            if is_declined(question) and findings:
                word, reason = "decline", "a private agent session gives no address away"
                return dict(DECLINE)
            asked = self._respondent if respondent is None else respondent
            answered = await answer(asked, server, standing.principal, question, limit)
            word, reason = answered.word, ""
        except BasculeError as error:
            reason = standing.mask_of(server).text(error.message)
            raise
        finally:
            method = question.method[:80]
            now, principal = self._clock(), standing.principal
            self._record(QuestionAnswered(method, server, principal, lane, word, reason, now, findings))
        return answered.result

    def _not_offered(self, method: str) -> PeerRefused:
        if not self._for_clients:
            return PeerRefused(f"{method[:80]} is not offered by this client", rpc_code=METHOD_NOT_FOUND)
        words = "can be asked of nobody: no request under way has a client that answers it"
        return PeerRefused(f"{method[:80]} {words}", rpc_code=INVALID_REQUEST)


def _has_tasks(link: Link) -> bool:
    return link.agreement is not None and speaks_tasks(link.agreement.capabilities)
