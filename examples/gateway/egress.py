"""The proxy of proxied boxes, on a port: for servers in containers that are made by others than Bascule.

`python egress.py bascule.yaml` becomes Envoy, which lets through to the hosts of `egress.allow`, and to nobody else. A
line for each request goes to stdout.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bascule.config.loading.load import load_file
from bascule.sandbox.egress.envoy_config import BOOTSTRAP, LISTENERS, bootstrap, listeners
from bascule.sandbox.egress.proxy import closed_ranges, find_envoy, own_addresses

PORT = 3128
EVERYWHERE = "0.0.0.0"  # noqa: S104 -- of this container; who is on its networks, compose.yaml says


def main(config: str) -> None:
    closed = closed_ranges(own_addresses())
    found: dict[str, Any] = listeners(load_file(config).egress, closed, [1])
    found["resources"][0]["address"] = {"socket_address": {"address": EVERYWHERE, "port_value": PORT}}
    os.chdir(tempfile.mkdtemp())
    Path(BOOTSTRAP).write_text(json.dumps(bootstrap(closed)))
    Path(LISTENERS).write_text(json.dumps(found))
    argv = [find_envoy(), "-c", BOOTSTRAP, "--concurrency", "2", "--disable-hot-restart", "--log-level", "warning"]
    os.execv(argv[0], argv)  # noqa: S606 -- a shell is what is not wanted


if __name__ == "__main__":
    main(sys.argv[1])
