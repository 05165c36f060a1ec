"""Headers as they were meant."""

from starlette.types import ASGIApp, Receive, Scope, Send

BLANKS = b" \t"


class PlainHeaders:
    """Takes the blanks off around values. They belong to none (RFC 9110, 5.5), but not every parser of HTTP takes them
    off, and a header that has to agree with the body would else be refused for one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [(name, value.strip(BLANKS)) for name, value in scope["headers"]]}
        await self._app(scope, receive, send)
