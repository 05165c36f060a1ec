"""A server of the new era that tells whatever it was given in confidence, on every occasion.

Secrets are the values of variables that begin with `SECRET_`, and the token of a kit server. What `how` says becomes of a
call: `result`, `structured`, `tool_error`, `error`, `garbage`, `exit`, `ask`; whatever else was given is told too. Its
first argument is a file, to which it writes its secrets: some of them are made while it runs.
"""

import os
import sys

from light import Any, dumps, loads, opened

CACHE = {"ttlMs": 0, "cacheScope": "private"}
SCHEMA = {"type": "object", "properties": {"how": {"type": "string"}, "n": {"type": "integer"}}, "required": ["how"]}
TOOLS = [{"name": "tell", "description": "Tells everything.", "inputSchema": SCHEMA}]
PROMPTS = [{"name": "hint", "arguments": [{"name": "who"}]}]
SECRETS = [value for name, value in os.environ.items() if name.startswith("SECRET_") or name == "BASCULE_TOKEN"]


def say(message: dict[str, Any]) -> None:
    print(dumps({"jsonrpc": "2.0", **message}), flush=True)


def all_of(params: Any) -> str:
    return " ".join([*SECRETS, dumps(params)])


def failure(params: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": -32000, "message": all_of(params), "data": {"secrets": SECRETS, "params": params}}}


def called(params: dict[str, Any]) -> dict[str, Any]:
    given = params.get("arguments") or {}
    print(f"telltale: {all_of(params)}", file=sys.stderr, flush=True)
    told = {"level": "error", "data": f"telltale: {' '.join(SECRETS)}", "logger": SECRETS[0] if SECRETS else "x"}
    say({"method": "notifications/message", "params": told})
    match given.get("how"):
        case "result":
            return {"result": {"content": [{"type": "text", "text": dumps(given)}], "resultType": "complete"}}
        case "structured":
            shown = {"content": [], "structuredContent": {"given": given}, "resultType": "complete"}
            return {"result": shown}
        case "tool_error":
            content = [{"type": "text", "text": all_of(params)}]
            cause = {"message": all_of(params), "code": SECRETS[0] if SECRETS else "x", "secrets": SECRETS}
            shown = {"isError": True, "content": content, "structuredContent": cause, "resultType": "complete"}
            return {"result": shown}
        case "garbage":
            return {"result": {"content": all_of(params), "resultType": SECRETS}}
        case "ask" if "inputResponses" not in params:
            asked = {
                "message": "Your key?",
                "requestedSchema": {"type": "object", "properties": {"k": {"type": "string"}}},
            }
            request = {"method": "elicitation/create", "params": asked}
            return {"result": {"resultType": "input_required", "inputRequests": {"q": request}}}
        case "exit":
            print(f"last words: {all_of(params)}", file=sys.stderr, flush=True)
            os._exit(3)
        case _:
            return failure(params)


LISTINGS: dict[str, dict[str, Any]] = {
    "server/discover": {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "logging": {}},
    },
    "tools/list": {"tools": TOOLS},
    "prompts/list": {"prompts": PROMPTS},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": [{"name": "any", "uriTemplate": "db://{+rest}"}]},
}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    listed = LISTINGS.get(message["method"])
    if listed is not None:
        return {"result": {**listed, **CACHE, "resultType": "complete"}}
    return called(message["params"]) if message["method"] == "tools/call" else failure(message.get("params") or {})


def serve(found: str) -> None:
    with opened(found, "a") as written:
        written.writelines(f"{secret}\n" for secret in SECRETS)
    for line in sys.stdin:
        message = loads(line)
        if "id" in message:
            say({"id": message["id"], **answer(message)})


serve(sys.argv[1])
