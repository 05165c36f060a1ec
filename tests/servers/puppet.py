"""A server that does what each request tells it to, and writes down every line it gets.

Its one argument is the file to write to. A request's `params` may hold, obeyed in this order: `stderr`, a text; `say`,
lines in which `$ID` stands for the request's id (without it the answer is an empty result); `close`, to close stdout;
`exit`, a code to end with.
"""

import os
import sys

from light import Any, dumps, loads, opened


def obey(message: dict[str, Any]) -> None:
    order = message.get("params") or {}
    if "stderr" in order:
        sys.stderr.write(order["stderr"])
        sys.stderr.flush()
    for line in order.get("say", ['{"jsonrpc": "2.0", "id": $ID, "result": {}}']):
        sys.stdout.write(line.replace("$ID", dumps(message["id"])) + "\n")
    sys.stdout.flush()
    if "close" in order:
        os.close(1)
    if "exit" in order:
        os._exit(order["exit"])


def serve(log: str) -> None:
    with opened(log, "a") as written:
        for line in sys.stdin:
            written.write(line)
            message = loads(line)
            if "method" in message and "id" in message:
                obey(message)


if __name__ == "__main__":
    serve(sys.argv[1])
