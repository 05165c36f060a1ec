"""A server of the new era alone: no handshake, and every request must carry its envelope.

`--offers` are the versions it names. `--refusals` is how many times it refuses our version first. `--late` keeps its
answer to the question for its versions back until it is asked to `initialize`, and then answers both in one write:
`found` with its versions, `settled` with the refusal of a server that has already settled on the new era.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

VERSION = "io.modelcontextprotocol/protocolVersion"
INFO = {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "1"}}
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}}}
CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}


def answer(message: dict[str, Any], offers: list[str]) -> dict[str, Any]:
    params = message.get("params") or {}
    if VERSION not in params.get("_meta", {}):
        return {"error": {"code": -32602, "message": "The envelope is missing"}}
    match message["method"]:
        case "server/discover":
            return {"result": {"supportedVersions": offers, "capabilities": {"tools": {}}, "_meta": INFO, **CACHE}}
        case "tools/list":
            return {"result": {"tools": [TOOL], **CACHE}}
        case "tools/call":
            text = params["arguments"]["message"]
            return {"result": {"content": [{"type": "text", "text": text}], "resultType": "complete"}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def line(message: dict[str, Any], body: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n"


def serve(options: argparse.Namespace) -> None:
    offers, refusals, kept = options.offers.split(","), options.refusals, ""
    refused = {"error": {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": offers}}}
    for text in sys.stdin:
        note(options.log, text)
        message = json.loads(text)
        if "id" not in message:
            continue
        said = line(message, answer(message, offers))
        if refusals > 0 or (kept and options.late == "settled" and message["method"] == "initialize"):
            refusals -= 1
            said = line(message, refused)
        elif options.late and not kept:
            kept, said = said, ""
        elif kept and options.late == "found" and message["method"] == "initialize":
            said = kept + said
        sys.stdout.write(said)
        sys.stdout.flush()


def note(log: Path | None, text: str) -> None:
    if log is not None:
        with log.open("a") as written:
            written.write(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--offers", default="2026-07-28")
    parser.add_argument("--refusals", type=int, default=0)
    parser.add_argument("--late", choices=["found", "settled"])
    parser.add_argument("--log", type=Path)
    serve(parser.parse_args())
