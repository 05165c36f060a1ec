"""A built-in server that keeps notes for as long as it runs."""

from typing import Any

from bascule.demo.protocol import Tool, serve


class Notebook:
    """The notes of one run."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def add(self, text: str) -> dict[str, Any]:
        self._notes.append(text)
        return {"number": len(self._notes), "text": text}

    def search(self, word: str = "") -> dict[str, Any]:
        return {"notes": [note for note in self._notes if word.lower() in note.lower()]}


def tools(notebook: Notebook) -> tuple[Tool, ...]:
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    word = {"type": "object", "properties": {"word": {"type": "string"}}}
    return (
        Tool("add", "Write down a note.", text, notebook.add),
        Tool("search", "Find the notes that contain a word; without one, all of them.", word, notebook.search),
    )


if __name__ == "__main__":
    serve("notes", tools(Notebook()))
