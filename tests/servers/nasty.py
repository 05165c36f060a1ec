"""A server that speaks well and leaves processes behind in one of six ways, named by its first argument.

All that it leaves carries this server's environment, by which it is found. The second argument is a file: for each process
that is up and stays, a line is written to it. The third, `mute`, makes a server that never answers.
"""

import os
import sys

try:
    from light import Callable, opened, signal
except ImportError:  # imported by a test
    from servers.light import Callable, opened, signal

BOMB = 50


def stay(*deaf_to: int) -> None:
    """What is left behind: it never ends by itself, and holds no pipe of the server's unless it is to."""
    for number in deaf_to:
        signal.signal(number, signal.SIG_IGN)
    with opened(sys.argv[2], "a") as up:
        up.write(f"{os.getpid()}\n")
    while True:
        signal.pause()


def let_go_of_pipes() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


def fork(then: Callable[[], None]) -> None:
    if os.fork() == 0:
        then()
        os._exit(0)


def same_group() -> None:
    let_go_of_pipes()
    stay()


def own_session() -> None:
    os.setsid()
    let_go_of_pipes()
    stay()


def orphan() -> None:
    """A daemon by the book: a session of its own, and a parent that is gone."""
    os.setsid()
    fork(own_session_if_it_can)


def own_session_if_it_can() -> None:
    os.setsid()
    let_go_of_pipes()
    stay(signal.SIGHUP)


def deaf() -> None:
    os.setsid()
    let_go_of_pipes()
    stay(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def clinging() -> None:
    """It keeps the server's stdin and stdout open."""
    os.setsid()
    stay()


def bomb() -> None:
    """Processes that fork, each in a session of its own, so that neither group nor parent leads to the next."""
    os.setsid()
    let_go_of_pipes()
    for _ in range(BOMB - 1):
        if os.fork():
            break  # the child goes on, and leaves us behind
        os.setsid()
    stay(signal.SIGTERM)


KINDS = {
    "same-group": same_group,
    "setsid": own_session,
    "double-fork": orphan,
    "ignores-term": deaf,
    "holds-stdout": clinging,
    "fork-bomb": bomb,
}

if __name__ == "__main__":
    from obeying import ACT, serve

    if sys.argv[1] == "ignores-term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fork(KINDS[sys.argv[1]])
    if sys.argv[3:] == ["mute"]:
        while True:
            signal.pause()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    serve(os.devnull, ACT)
