"""What a beast says to each request, and how it is put into the bytes of a carrier."""

from beast_ways import END, WAYS, Ask, Piece, Raw
from light import Any, Callable, Iterable, dumps

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
ACT = {"name": "act", "description": "Does harm.", "inputSchema": {"type": "object"}}


def behaved(method: str) -> dict[str, Any]:
    match method:
        case "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}}
        case "initialize":
            info = {"name": "beast", "version": "1"}
            return {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [ACT], **CACHE}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def pieces(message: dict[str, Any], carrier: str, name: str, trap: str) -> Iterable[Piece]:
    """The answer to one request."""
    methods, way = WAYS[name]
    if message["method"] in methods:
        return way(Ask(message.get("id"), message.get("params") or {}, carrier, trap))
    if message["method"] == "upgrade":
        return []
    return [{"jsonrpc": "2.0", "id": message["id"], **behaved(message["method"])}]


class Mouth:
    """Puts pieces into the bytes of one carrier."""

    def __init__(self, carrier: str, write: Callable[[bytes], None]) -> None:
        self._before = b"data: " if carrier in {"events", "sse"} else b""
        self._after = {"stdio": b"\n", "events": b"\n\n", "sse": b"\n\n"}.get(carrier, b"")
        self._write = write
        self._within = False

    def say(self, piece: Piece) -> None:
        match piece:
            case Raw():
                self._write(piece)
            case bytes():
                self._write(piece if self._within else self._before + piece)
                self._within = True
            case dict():
                self.say(dumps(piece).encode())
                self.say(END)
            case _:
                self._write(self._after)
                self._within = False
