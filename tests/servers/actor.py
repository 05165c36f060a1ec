"""A server of the new era with one tool for each way in which a call can end.

Its first argument is a folder, into which it writes what it gets; the second says who it is, which `where` answers. Once
`change` was called, the next one to be started there lists another definition of `steady`.
"""

import os
import sys

try:
    from light import Any, dumps, loads, opened
except ImportError:  # imported by a test
    from servers.light import Any, dumps, loads, opened

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LOCKED = {"message": "the table is locked", "retriable": True}
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


class Actor:
    def __init__(self, folder: str | os.PathLike[str], who: str) -> None:
        self._folder = folder
        self._who = who
        self._changed = f"{folder}/changed"

    def tools(self) -> list[dict[str, Any]]:
        changed = os.path.exists(self._changed)  # noqa: PTH110 -- see `light`
        steady = "Says that it is changed." if changed else "Says that it is steady."
        described = {
            "ok": "Says what it is told.",
            "retryable": "Fails, and says that another try may go well.",
            "broken": "Fails.",
            "fatal": "Fails so that no further call can help.",
            "silent": "Never answers.",
            "huge": "Gives more than a model can read.",
            "image": "Shows a picture.",
            "asked": "Waits for a person.",
            "private": "Reads what is private.",
            "where": "Says where it runs.",
            "change": "Has the server be another one from its next start on.",
            "steady": steady,
        }
        return [
            {"name": name, "description": description, "inputSchema": TEXT if name == "ok" else NOTHING}
            for name, description in described.items()
        ]

    def act(self, name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        if name == "change":
            opened(self._changed, "a").close()
        if name == "silent":
            return None
        if name == "huge":
            return words("\n".join(f"line {number}: nothing to see here" for number in range(40_000)))
        canned = {
            "retryable": words("the table is locked", structuredContent=LOCKED, isError=True),
            "broken": words("no such table", isError=True),
            "fatal": words("[FATAL] the disk is gone", isError=True, _meta={"dev.bascule/fatal": True}),
            "image": {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]},
            "where": words(self._who),
        }
        return canned.get(name) or words(arguments.get("text", f"{name} done"))

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        match message["method"]:
            case "server/discover":
                return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}
            case "tools/list":
                return {"tools": self.tools(), **CACHE}
            case _:
                params = message["params"]
                result = self.act(params["name"], params.get("arguments") or {})
                return None if result is None else {**result, "resultType": "complete"}

    def serve(self) -> None:
        with opened(f"{self._folder}/{self._who}.log", "a") as log:
            for line in sys.stdin:
                log.write(line)
                message = loads(line)
                result = self.answer(message) if "id" in message else None
                if result is not None:
                    print(dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    Actor(sys.argv[1], sys.argv[2]).serve()
