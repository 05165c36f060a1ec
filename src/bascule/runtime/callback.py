"""A question put to a program's callback: under a deadline, and whatever it does harms nobody."""

import asyncio
import concurrent.futures
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any

from bascule.core.answer import Approval, Elicitation, Sampling
from bascule.core.errors import Refused

_log = logging.getLogger("bascule.runtime")

AnyQuestion = Elicitation | Sampling | Approval


async def put_to(callback: Callable[[Any], Any], question: AnyQuestion, wait: float) -> Any:
    """What a callback says: its answer, None if it took too long, `Refused` if it broke."""
    try:
        async with asyncio.timeout(wait):
            if inspect.iscoroutinefunction(callback):
                return await callback(question)
            answer = await _in_a_thread(callback, question)
            return await answer if inspect.isawaitable(answer) else answer
    except TimeoutError:
        _log.warning("nobody answered what %s asked within %g s", question.server, wait)
        return None
    except Exception:  # noqa: BLE001 -- a user's code: whatever it raises is no answer, and none of the server's business
        _log.exception("the callback for what %s asked raised", question.server)
        return Refused("the callback raised", rule="question_is_answered")


def _in_a_thread(callback: Callable[[Any], Any], question: AnyQuestion) -> asyncio.Future[Any]:
    """It may wait for a person, and must not stop the loop while it does. The thread is its own: one that never ends
    must neither take the place of others nor keep the program from ending."""
    answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run() -> None:
        answer.set_running_or_notify_cancel()
        try:
            answer.set_result(callback(question))
        except Exception as error:  # noqa: BLE001 -- it goes on to whoever waits, as what it is
            answer.set_exception(error)

    threading.Thread(target=run, name="bascule-callback", daemon=True).start()
    return asyncio.wrap_future(answer)
