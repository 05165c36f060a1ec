"""Input rounds: elicitation, sampling and roots requests of servers to the clients of one agent session, in all pairs
of eras. Holds the suspended requests, whose clients of the new era return with the answers."""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from bascule.core.client_features import Continued, Respondent
from bascule.core.errors import StoreError
from bascule.core.json_types import JsonObject, as_object, is_object
from bascule.core.outcome import ToolFailure
from bascule.core.principal import Principal
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.client import Client, Listener
from bascule.gateway.mcp.elicitation import NotAnswered, given, respondent_of
from bascule.gateway.mcp.envelope import NAMED_BY, Asked
from bascule.identity.signed_state import LONGEST, Seal
from bascule.policy.fetched_addresses import lacks_address
from bascule.wire.input_required import INPUT_REQUIRED, MAX_QUESTIONS
from bascule.wire.request_meta import INTERNAL_ERROR, INVALID_PARAMS

MOST_PARKED = 32
"""Requests of one agent session whose clients are away. Each holds a request at a server; what the next one asks is not
answered."""

UNFETCHED = 60.0
"""Seconds for which the end of a request is kept that nobody has fetched."""

Served = JsonObject | msgspec.Raw

Ticket = Callable[[str], str]
"""Seals the name under which a parked request is found again."""

Deliverable = Callable[[JsonObject], JsonObject]
"""Gives a question as the client may get it at that moment."""


class Parking:
    """Suspended requests of one agent session. Each gets a new name whenever its client leaves with questions; a used
    name is invalid."""

    def __init__(self) -> None:
        self._inside: set[Parked] = set()
        self._named: dict[str, Parked] = {}

    def enter(self, parked: "Parked") -> None:
        """Raises `NotAnswered` where there is no room."""
        if len(self._inside) >= MOST_PARKED:
            raise NotAnswered(f"{MOST_PARKED} requests wait for answers already")
        self._inside.add(parked)

    def leave(self, parked: "Parked", name: str) -> None:
        """Nobody comes back for it any more."""
        self._inside.discard(parked)
        self._named.pop(name, None)

    def keep(self, parked: "Parked") -> str:
        name = secrets.token_urlsafe(24)
        self._named[name] = parked
        return name

    def take(self, name: str) -> "Parked | None":
        return self._named.pop(name, None)


class Parked:
    """One request, which is parked once something is asked in its course. Until then it is as any other."""

    def __init__(
        self, parking: Parking, asked: Asked, client: Client, ticket: Ticket, deliverable: Deliverable
    ) -> None:
        self._parking = parking
        self._ticket = ticket
        self._deliverable = deliverable
        self._first = client
        self._bulk = asked.bulk
        self._here: tuple[Asked, Client] | None = (asked, client)
        """The request that waits for what comes next, if its client is not away."""
        self._unanswered = True
        """Whether the request that began it has no answer yet."""
        self._asked = 0
        self._open: dict[str, tuple[JsonObject, asyncio.Future[Any]]] = {}
        self._news: asyncio.Future[None] | None = None
        self._ended: Served | Rejected | None = None
        self._name = ""

    @property
    def streams(self) -> bool:
        return self._first.streams

    async def tell(self, method: str, params: JsonObject) -> None:
        """To the request that waits now, under the token that it gave. What happens while its client is away is told to
        nobody."""
        if self._here is None:
            return
        asked, client = self._here
        if "progressToken" in params:
            if asked.progress_token is None or not client.streams:
                return
            params = {**params, "progressToken": asked.progress_token}
        await client.tell(method, params)

    async def ask(self, method: str, params: JsonObject) -> Any:
        """The answer of the client, once it has come back with it."""
        if self._unanswered:
            # Its client makes the same request again, and that is as large.
            if self._bulk is not None and not self._bulk.set_aside():
                raise NotAnswered("too many large requests wait for answers already")
            self._parking.enter(self)
        key = f"question-{self._asked}"
        self._asked += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[key] = ({"method": method, "params": params}, answer)
        try:
            if self._unanswered:
                self._unanswered, self._here = False, None
                await self._first.let_go(self._wanted())
            else:
                self._wake()
            return await answer
        finally:
            self._open.pop(key, None)

    async def go_on(self, asked: Asked, client: Client, answers: JsonObject) -> Served:
        """What comes next once the client has come back: the next questions, or the result. Raises `Rejected`."""
        self._here = (asked, client)
        for key, value in answers.items():
            # One that it was not asked, or that nobody waits for any more, is let be.
            _, answer = self._open.pop(key, (None, None))
            if answer is not None and not answer.done():
                answer.set_result(value)
        try:
            while self._ended is None and not self._left():
                self._news = asyncio.get_running_loop().create_future()
                await self._news
        except asyncio.CancelledError:
            self._first.give_up()
            raise
        finally:
            self._here = None
        if self._ended is None:
            return self._wanted()
        self._parking.leave(self, self._name)
        if isinstance(self._ended, Rejected):
            raise self._ended
        return self._ended

    def end(self, outcome: Served | Rejected | None) -> None:
        """It is over. None, if that was not by itself: nobody comes for what is left of it then."""
        if self._unanswered:
            return
        self._ended = Rejected(INTERNAL_ERROR, "the request was given up") if outcome is None else outcome
        self._wake()
        wait = 0.0 if outcome is None else UNFETCHED
        if self._here is None:
            asyncio.get_running_loop().call_later(wait, self._parking.leave, self, self._name)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _left(self) -> bool:
        """Checks the open questions again, since the level may have been raised after they were asked. Declines an
        elicitation that has lost its address. True if a question is left for the client."""
        for key, (question, answer) in tuple(self._open.items()):
            shown = self._deliverable(question)
            self._open[key] = shown, answer
            if lacks_address(shown["method"], shown["params"]):
                del self._open[key]
                if not answer.done():
                    answer.set_result({"action": "decline"})
        return bool(self._open)

    def _wanted(self) -> JsonObject:
        self._name = self._parking.keep(self)
        questions = {key: question for key, (question, _) in self._open.items()}
        return {"resultType": INPUT_REQUIRED, "inputRequests": questions, "requestState": self._ticket(self._name)}


LIFE = 3600.0
"""Seconds within which a client comes back. A person who takes longer begins anew."""

Carry = Callable[[Asked, Listener | None, Respondent | None], Awaitable[Served]]
"""Carries a request out, and tells the client how it goes. Raises `Rejected`."""


class Rounds:
    """Server requests to the clients of one agent session.

    An old-era client gets them on the stream of its request. A new-era client gets them as the result of its request,
    and repeats the request with the answers. For a new-era server no state is kept here: the client returns it. An
    old-era server waits for the answer in the middle of a call, so that request is suspended.
    """

    def __init__(self, principal: Principal, seal: Seal, deliverable: Deliverable) -> None:
        self._principal = principal
        self._seal = seal
        self._deliverable = deliverable
        self._parking = Parking()

    async def serve(self, asked: Asked, client: Client, carry: Carry) -> Served:
        """Serve a request whose client can be asked something, or that goes on with answers. Raises `Rejected`."""
        if not asked.new:
            return await carry(asked, client, respondent_of(client.capabilities, client.ask, client.send_away))
        state, answers = asked.params.get("requestState"), _answers(asked.params.get("inputResponses"))
        if state is None:
            served = await self._begin(asked, client, carry)
            state = _state_of(served, answers)
            if state is None:
                return served
        kept = self._known(asked, state)
        if "parked" in kept:
            parked = self._parking.take(kept["parked"])
            if parked is None:
                raise _not_ours()
            return await parked.go_on(asked, client, answers)
        return await self._begin(asked, client, carry, _continued(kept, answers))

    async def _begin(self, asked: Asked, client: Client, carry: Carry, continued: Continued | None = None) -> Served:
        parked = Parked(self._parking, asked, client, partial(self._ticket, asked), self._deliverable)
        respondent = respondent_of(client.capabilities, parked.ask, passes_on=True, continued=continued)
        try:
            served = await carry(asked, parked, respondent)
        except Rejected as rejected:
            parked.end(rejected)
            raise
        except BaseException:
            parked.end(None)
            raise
        parked.end(served)
        return served

    def passed_on(self, asked: Asked, wanted: ToolFailure, respondent: Respondent | None) -> JsonObject:
        """The questions of a server of the new era, as the answer to the request that led to them."""
        raw = as_object(wanted.cause)
        before = respondent.continued.rounds if respondent is not None and respondent.continued is not None else 0
        questions = {key: _question(each) for key, each in as_object(raw.get("inputRequests")).items()}
        kept: JsonObject = {
            "server": wanted.server,
            "tool": wanted.tool,
            "state": raw.get("requestState"),
            "questions": questions,
            "rounds": before + 1,
        }
        # An elicitation by URL without its address is declined for the client, and not shown to it.
        questions = {key: each for key, each in questions.items() if not lacks_address(each["method"], each["params"])}
        sealed = self._close(asked, kept)
        if len(sealed) > LONGEST:
            raise Rejected(INTERNAL_ERROR, f"{wanted.server} asks for more than can be carried to a client")
        return {"resultType": INPUT_REQUIRED, "inputRequests": questions, "requestState": sealed}

    def _ticket(self, asked: Asked, name: str) -> str:
        return self._close(asked, {"parked": name})

    def _close(self, asked: Asked, kept: JsonObject) -> str:
        try:
            return self._seal.close({**kept, "for": self._digest(asked)}, LIFE)
        except StoreError as error:
            raise Rejected(INTERNAL_ERROR, error.message) from error

    def _known(self, asked: Asked, state: object) -> JsonObject:
        """What was kept with the client. Raises `Rejected` for what was not, or for another's, or another request."""
        kept = self._seal.open(state) if isinstance(state, str) else None
        if kept is None or kept.get("for") != self._digest(asked):
            raise _not_ours()
        return kept

    def _digest(self, asked: Asked) -> str:
        """Who asks for what: a request goes on as what it began as."""
        who = self._principal.user_id, self._principal.session_id
        name, arguments = asked.params.get(NAMED_BY[asked.method]), as_object(asked.params.get("arguments"))
        told = msgspec.json.encode((who, asked.method, name, arguments), order="deterministic")
        return hashlib.sha256(told).hexdigest()


def _question(asked: object) -> JsonObject:
    """It was read before, and found to be one."""
    fields = as_object(asked)
    return {"method": fields["method"], "params": as_object(fields.get("params"))}


def _continued(kept: JsonObject, answers: JsonObject) -> Continued:
    questions = kept["questions"]
    found = {key: given(answer) for key, answer in answers.items() if key in questions}
    return Continued(kept["server"], kept["tool"], kept["state"], questions, found, kept["rounds"])


def _state_of(served: Served, answers: JsonObject) -> object:
    """With what a request goes on at once: its client had answers before it was asked, and to all that it is asked."""
    if not answers or not is_object(served) or served.get("resultType") != INPUT_REQUIRED:
        return None
    return served["requestState"] if as_object(served["inputRequests"]).keys() <= answers.keys() else None


def _answers(answers: object) -> JsonObject:
    if answers is None:
        return {}
    if not is_object(answers) or len(answers) > MAX_QUESTIONS:
        raise Rejected(INVALID_PARAMS, f"inputResponses must be an object, with at most {MAX_QUESTIONS} answers")
    return answers


def _not_ours() -> Rejected:
    told = "requestState is none that was given for this request, or it was used, or is too old; begin anew"
    return Rejected(INVALID_PARAMS, told, data={"reason": "invalid_request_state"})
