"""How progress is put into words for a client."""

from bascule.core.json_types import JsonObject
from bascule.gateway.mcp.client import progress_to


class Listener:
    """One that takes down what it is told."""

    streams = True

    def __init__(self) -> None:
        self.told: list[tuple[str, JsonObject]] = []

    async def tell(self, method: str, params: JsonObject) -> None:
        self.told.append((method, params))


async def test_progress_says_what_is_known_and_nothing_else():
    client = Listener()
    tell = progress_to(client, "t")
    await tell(1, None, None)
    await tell(2.5, 10, "half way")
    assert client.told == [
        ("notifications/progress", {"progressToken": "t", "progress": 1}),
        ("notifications/progress", {"progressToken": "t", "progress": 2.5, "total": 10, "message": "half way"}),
    ]
