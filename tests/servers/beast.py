"""A hostile server. It behaves until the method it is waiting for, and then misbehaves in one way.

Arguments: how it is reached; the name of the misbehaviour, one of those in the `beast_` files beside it; and the URL of a
trap, which nobody must ever ask. It is reached by `stdio`; by HTTP on a port, answering in `json` or in `events`; by HTTP on
a socket file in the folder it runs in, `unix`; by the old HTTP with one event stream, `sse`; or by a WebSocket, `ws`. The address is its first line of output. With
`ways` alone it only names them all, and with `den` it is the mother of beasts, of one at a time: each line of input has the
three words of one and the folder to run it in, or is `end`, to end it, which is answered with an empty line.
"""

import os
import sys

import beast_answers
import beast_listings
import beast_replies
import beast_sse_ways
import beast_ws_ways
from beast_speech import Mouth, pieces
from beast_ways import WAYS
from light import Iterator, loads, signal

FILLED_BY = (beast_answers, beast_listings, beast_replies, beast_sse_ways, beast_ws_ways)
"""Each adds its ways to those there are."""


def serve_stdio(name: str, trap: str) -> None:
    def write(data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    mouth = Mouth("stdio", write)
    for line in sys.stdin.buffer:
        message = loads(line)
        if "id" in message and "method" in message:
            for piece in pieces(message, "stdio", name, trap):
                mouth.say(piece)


def serve(carrier: str, name: str, trap: str) -> None:
    if carrier == "stdio":
        serve_stdio(name, trap)
        return
    # Not for those over stdio: it takes longer than all else that they do.
    from beast_http import listen, serve_http
    from beast_ws import serve_ws

    if carrier == "ws":
        serve_ws(listen(carrier), lambda message: pieces(message, carrier, name, trap))
    else:
        serve_http(listen(carrier), carrier, name, trap)


def bear(orders: Iterator[str]) -> None:
    """A fork for each beast: what they all import is imported once."""
    from importlib import import_module

    for name in ("beast_http", "beast_ws"):
        import_module(name)
    for order in orders:
        *words, folder = order.rstrip("\n").split(" ", 3)
        if (pid := os.fork()) == 0:
            nowhere = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nowhere, 0)
            try:
                os.chdir(folder)
                serve(*words)
            finally:
                # Whoever waits for an address is told that there is none.
                print(flush=True)
                os._exit(1)
        # It is ended when we are told to, or when nobody is left to tell us.
        next(orders, None)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print(flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ways"]:
            print(*WAYS, sep="\n")
        case ["den"]:
            bear(iter(sys.stdin))
        case [chosen, misbehaviour, trap_url]:
            serve(chosen, misbehaviour, trap_url)
        case _:
            sys.exit("see the first lines of this file")
