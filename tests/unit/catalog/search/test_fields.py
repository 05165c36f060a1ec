"""What a tool is found by."""

from typing import Any

from bascule.catalog.search.fields import (
    ARGUMENT_TEXTS,
    ARGUMENTS,
    MOST_ARGUMENTS,
    TITLE,
    postings_of,
    texts_of,
)
from bascule.core.tool import ToolKey, ToolSpec


def a_spec(tool: str = "act", server: str = "work", **parts: Any) -> ToolSpec:
    return ToolSpec(f"{server}_{tool}", ToolKey(server, tool), "sha256:0", **parts)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_every_text_of_a_tool_counts():
    spec = a_spec(
        "read", title="Reader", description="Reads.", input_schema=schema(path={"description": "Where it lies."})
    )

    assert [text for _, text in texts_of(spec)] == [
        "read",
        "work_read",
        "Reader",
        "work",
        "Reads.",
        "path",
        "Where it lies.",
    ]


def test_a_title_may_stand_among_the_annotations():
    assert dict(texts_of(a_spec(annotations={"title": "Reader"})))[TITLE] == "Reader"


def test_arguments_inside_of_others_count_too():
    inner = schema(deep={"type": "string"})
    spec = a_spec(input_schema=schema(one=inner, many={"items": inner}, either={"anyOf": [inner, {"type": "null"}]}))

    assert dict(texts_of(spec))[ARGUMENTS].split() == ["one", "deep", "many", "deep", "either", "deep"]


def test_a_schema_of_any_shape_is_read_as_far_as_it_can_be():
    odd = {"properties": {"a": True, "b": {"description": 7, "items": [1], "anyOf": "x"}}}
    texts = dict(texts_of(a_spec(input_schema=odd)))

    assert (texts[ARGUMENTS], texts[ARGUMENT_TEXTS].strip()) == ("a b", "")


def test_a_schema_without_end_is_not_read_to_its_end():
    many = schema(**{f"argument{at}": {} for at in range(1000)})
    deep: dict[str, Any] = {}
    for _ in range(1000):
        deep = schema(inner=deep)

    assert len(dict(texts_of(a_spec(input_schema=many)))[ARGUMENTS].split()) == MOST_ARGUMENTS
    assert len(dict(texts_of(a_spec(input_schema=deep)))[ARGUMENTS].split()) == 4


def test_a_word_of_the_name_weighs_more_than_one_of_the_description():
    postings = postings_of([a_spec("search"), a_spec("act", description="search")])

    assert postings["search"][0] > postings["search"][1]


def test_a_long_text_is_evened_out():
    short, long = a_spec("one", description="search"), a_spec("two", description="search " + "other words " * 50)
    postings = postings_of([short, long])

    assert postings["search"][0] > postings["search"][1]


def test_words_that_tell_nothing_are_left_out_of_prose_and_kept_in_names():
    postings = postings_of([a_spec("to", description="of the which")])

    assert "to" in postings
    assert not {"of", "the", "which"} & postings.keys()
