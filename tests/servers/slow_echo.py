"""The server `echo`, taking its time: each call is answered after some milliseconds, by chance with the seed given."""

import json
import random
import sys
import time

from echo import answer

if __name__ == "__main__":
    chance = random.Random(sys.argv[1])
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            time.sleep(chance.random() * 0.01)
        if "id" in message:
            result = answer(message)
            body = {"result": result} if result is not None else {"error": {"code": -32601, "message": "what?"}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
            sys.stdout.flush()
