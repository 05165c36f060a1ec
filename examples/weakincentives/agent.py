"""A weakincentives prompt with governed tools. Run it in this folder; `codex.py` stands in for Codex and its model."""

import json
from pathlib import Path

from bascule import Runtime
from bascule.bridges.weakincentives import McpIntegrationSection, McpToolInvoked
from weakincentives.adapters.codex_app_server import CodexAppServerAdapter, CodexAppServerClientConfig
from weakincentives.prompt import Prompt, PromptTemplate
from weakincentives.runtime import InProcessDispatcher, Session

CALLS = [("notes_add", {"text": 7}), ("notes_add", {"text": "The bridge is down."})]

model = CodexAppServerAdapter(
    client_config=CodexAppServerClientConfig(
        codex_bin=str(Path(__file__).with_name("codex.py")), env={"CALLS": json.dumps(CALLS)}
    )
)
session = Session(dispatcher=InProcessDispatcher())
session.dispatcher.subscribe(McpToolInvoked, lambda event: print("called:", getattr(event, "mcp_server", None)))

with McpIntegrationSection(session=session, runtime=Runtime.from_file("bascule.yaml"), user_id="ada") as section:
    prompt = Prompt(PromptTemplate[None](ns="example", key="notes", sections=[section]))
    print(prompt.render(session=session).text)
    answer = model.evaluate(prompt, session=session)

for shown in json.loads(answer.text or "{}")["shown"]:
    print(shown["success"], shown["text"])
