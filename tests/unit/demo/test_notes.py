"""The built-in server that keeps notes."""

from bascule.demo.notes import Notebook, tools


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
