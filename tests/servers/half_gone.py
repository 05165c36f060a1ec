"""A server of the new era that, asked anything but its versions, closes its stdout and lives on through end of input."""

import os
import sys

from light import dumps, loads, signal

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}

for line in sys.stdin:
    asked = loads(line)
    if asked.get("method") != "server/discover":
        break
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, **CACHE}
    print(dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
else:
    sys.exit()
os.close(1)
while True:
    signal.pause()
