"""Callback of a program: called with a question under a deadline; an exception in it is logged, and is no answer."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from bascule.core.client_features import Approval, Elicitation, RootsAsked, Sampling
from bascule.core.errors import Refused
from bascule.transports.inprocess.worker_thread import in_a_thread

_log = logging.getLogger("bascule.runtime")

AnyQuestion = Elicitation | Sampling | RootsAsked | Approval


async def put_to(callback: Callable[[Any], Any], question: AnyQuestion, wait: float) -> Any:
    """What a callback says: its answer, None if it took too long, `Refused` if it broke."""
    try:
        async with asyncio.timeout(wait):
            if inspect.iscoroutinefunction(callback):
                return await callback(question)
            answer = await in_a_thread(partial(callback, question), "bascule-callback")
            return await answer if inspect.isawaitable(answer) else answer
    except TimeoutError:
        _log.warning("nobody answered what %s asked within %g s", question.server, wait)
        return None
    except Exception:  # noqa: BLE001 -- a user's code: whatever it raises is no answer, and none of the server's business
        _log.exception("the callback for what %s asked raised", question.server)
        return Refused("the callback raised", rule="question_is_answered")
