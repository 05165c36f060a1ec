"""A server of the old era that frames what it sends with `Content-Length`, as language servers do.

Arguments: the file in which it notes how each message came (`line` or `length`) and its method; and what it reads:
`both`; `lengths`, complaining of anything else; or `silent`, lengths alone, without a word on anything else.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}}}
COMPLAINT = {"id": None, "error": {"code": -32700, "message": "Parse error"}}


def received(reads: str) -> Iterator[tuple[str, dict[str, Any]]]:
    while line := sys.stdin.buffer.readline():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            sys.stdin.buffer.readline()
            yield "length", json.loads(sys.stdin.buffer.read(int(value)))
        elif reads == "both":
            yield "line", json.loads(line)
        elif reads == "lengths":
            send(COMPLAINT)


def send(message: dict[str, Any]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    head = f"Content-Length: {len(data)}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"
    sys.stdout.buffer.write(head.encode() + data)
    sys.stdout.buffer.flush()


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            info = {"name": "lengths", "version": "1"}
            return {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [TOOL]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": params["arguments"]["message"]}]}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def serve(log: Path, reads: str) -> None:
    with log.open("a") as noted:
        for came, message in received(reads):
            noted.write(f"{came} {message.get('method')}\n")
            noted.flush()
            if "id" in message:
                send({"id": message["id"], **answer(message)})


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
