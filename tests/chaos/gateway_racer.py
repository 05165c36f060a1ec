"""A gateway that tells afterwards what it handed over: `-m chaos.gateway_racer URL HAND_OVERS WORD…`.

URL is that of the server on the open lane, and the words are those of the `bascule` command. When the command has ended
it writes down, for each time that something was handed over to that server, the instant and whom it names.
"""

import sys
from pathlib import Path

import msgspec

from bascule.cli.main import main
from bascule.cli.serve import command
from bascule.config import StreamableHttpTransport
from chaos.racer import summary
from support.racing import watched

if __name__ == "__main__":
    # What is handed over can be seen in this loop alone.
    command.loop_factory = lambda options: None
    url, written, *words = sys.argv[1:]
    with watched(StreamableHttpTransport(url)) as lanes:
        code = main(words)
    Path(written).write_bytes(msgspec.json.encode(summary(lanes)))
    sys.exit(code)
