"""Worker thread for code of a program that may block: one thread for each call."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def in_a_thread(work: Callable[[], T], name: str) -> asyncio.Future[T]:
    """It may wait for a person or a disk, and must not stop the loop while it does. The thread is its own: one that
    never ends must neither take the place of others nor keep the program from ending. Nothing can end it either: who
    stops waiting leaves it to itself."""
    answer: concurrent.futures.Future[T] = concurrent.futures.Future()
    context = copy_context()

    def run() -> None:
        answer.set_running_or_notify_cancel()
        try:
            answer.set_result(context.run(work))
        except Exception as error:  # noqa: BLE001 -- it goes on to whoever waits, as what it is
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(answer)
