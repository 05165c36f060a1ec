"""The built-in server that keeps notes."""

import pytest

from bascule.config import ServerConfig
from bascule.demo.notes import ALL, Notebook, tools
from bascule.demo.story.stage import built_in
from bascule.upstream.settings import Era
from support.runtime import at_work, good, well


def test_notes_are_numbered_as_they_come():
    notebook = Notebook()

    assert notebook.add("one") == {"number": 1, "text": "one"}
    assert notebook.add("two") == {"number": 2, "text": "two"}


def test_notes_are_found_by_a_word_whatever_its_case():
    notebook = Notebook()
    notebook.add("The bridge is down.")
    notebook.add("The river is wide.")

    assert notebook.search("BRIDGE") == {"notes": ["The bridge is down."]}
    assert notebook.search("moat") == {"notes": []}
    assert len(notebook.search()["notes"]) == 2


def test_two_notebooks_share_nothing():
    one, two = Notebook(), Notebook()
    one.add("mine")

    assert two.search() == {"notes": []}


def test_its_tools_are_those_of_one_notebook():
    add, search = tools(Notebook())
    add.run(text="hello")

    assert (add.name, search.name) == ("add", "search")
    assert search.run() == {"notes": ["hello"]}
    assert add.input_schema["required"] == ["text"]


@pytest.mark.parametrize("era", ["old", "new"])
async def test_its_notes_can_be_read_and_summed_up_in_either_era(era: Era):
    async with at_work(ServerConfig("notes", built_in("notes"), era=era)) as session:
        assert well(await session.read(ALL)).text == "No notes yet."
        good(await session.call("notes_add", {"text": "The bridge is down."}))
        assert well(await session.read(ALL)).text == "The bridge is down."
        prompt = well(await session.prompt("notes_summary", {"style": "funny"}))

    assert prompt.text == "user: Write a funny summary of these notes:\nThe bridge is down."
