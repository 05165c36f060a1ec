"""Built-in MCP server that keeps notes in memory: tools, one resource and one prompt."""

from collections.abc import Mapping
from typing import Any

from bascule.kit.stdio_server import Answers, Tool, serve

ALL = "notes://all"


class Notebook:
    """The notes of one run."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def add(self, text: str) -> dict[str, Any]:
        self._notes.append(text)
        return {"number": len(self._notes), "text": text}

    def search(self, word: str = "") -> dict[str, Any]:
        return {"notes": [note for note in self._notes if word.lower() in note.lower()]}

    def read(self, _params: Mapping[str, Any]) -> dict[str, Any]:
        text = "\n".join(self._notes) or "No notes yet."
        return {"contents": [{"uri": ALL, "mimeType": "text/plain", "text": text}]}

    def summary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        arguments: dict[str, Any] = params.get("arguments") or {}
        text = f"Write a {arguments.get('style', 'short')} summary of these notes:\n" + "\n".join(self._notes)
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def others(notebook: Notebook) -> Answers:
    """All notes as one resource, and a prompt about them."""
    everything = {"uri": ALL, "name": "all", "description": "Every note.", "mimeType": "text/plain"}
    style = {"name": "style", "description": "How it is to read: short, formal, funny."}
    prompt = {"name": "summary", "description": "Sum the notes up.", "arguments": [style]}
    return {
        "resources/list": lambda _: {"resources": [everything]},
        "resources/read": notebook.read,
        "prompts/list": lambda _: {"prompts": [prompt]},
        "prompts/get": notebook.summary,
    }


def tools(notebook: Notebook) -> tuple[Tool, ...]:
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    word = {"type": "object", "properties": {"word": {"type": "string"}}}
    return (
        Tool("add", "Write down a note.", text, notebook.add),
        Tool("search", "Find the notes that contain a word; without one, all of them.", word, notebook.search),
    )


if __name__ == "__main__":
    kept = Notebook()
    serve("notes", tools(kept), others(kept))
