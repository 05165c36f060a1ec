"""What is looked at before anything else of a request over HTTP."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bascule.identity.host_origin_check import HouseRules, Knock, TurnedAway

JSON = "application/json"


class Doorkeeper:
    """Turns away what no client of the protocol sends: what the house rules do not let in, and a body that is not JSON,
    which a web page can send without being asked. `paths` are those to which messages are posted."""

    def __init__(self, app: ASGIApp, *, rules: HouseRules, paths: tuple[str, ...]) -> None:
        self._app = app
        self._rules = rules
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            said = JSONResponse({"error": refusal.words}, status_code=refusal.status)
            await said(scope, receive, send)

    def _refusal(self, scope: Scope) -> TurnedAway | None:
        headers = Headers(scope=scope)
        ends = (scope.get("scheme", "http"), scope.get("client"), scope.get("server"))
        refusal = self._rules.turn_away(Knock(headers.getlist("host"), headers.getlist("origin"), *ends))
        if refusal is not None:
            return refusal
        if scope["method"] == "POST" and self._is_for_messages(scope):
            kind = headers.get("content-type", "")
            if kind.partition(";")[0].strip().lower() != JSON:
                return TurnedAway(415, f"the body must be {JSON}")
        return None

    def _is_for_messages(self, scope: Scope) -> bool:
        # Mounted in another app, the path has that app's part before ours.
        path = scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/")
        return any(path == each or path.startswith(f"{each}/") for each in self._paths)
