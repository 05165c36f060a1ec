"""A server that starts a process of its own, notifies us of its pid, and leaves it behind when it ends politely.

With `--far` that process has left the group, where nothing that ends the group reaches it.
"""

import json
import subprocess
import sys

left = subprocess.Popen(
    [sys.executable, "-S", "-c", "import signal; signal.pause()"], start_new_session="--far" in sys.argv
)
print(json.dumps({"jsonrpc": "2.0", "method": "notifications/left", "params": {"pid": left.pid}}), flush=True)
sys.stdin.read()
