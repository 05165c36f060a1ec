"""The texts of a value."""

from bascule.catalog.screening.findings import texts_of


def test_every_text_has_its_place_in_the_order_in_which_they_stand():
    value = {"a": "x", "b": [{"c": "y"}, "z"], "d": {"e": None, "f": 1}}

    assert [pair for pair in texts_of(value) if not pair[0].startswith("the name")] == [
        ("a", "x"),
        ("b[0].c", "y"),
        ("b[1]", "z"),
    ]


def test_names_of_members_are_texts_too():
    assert [pair for pair in texts_of({"a": {"b": 1}}) if pair[0].startswith("the name")] == [
        ("the name of a", "a"),
        ("the name of a.b", "b"),
    ]


def test_a_text_alone_stands_where_one_says():
    assert list(texts_of("x", "instructions")) == [("instructions", "x")]


def test_depth_takes_no_stack():
    value: object = "x"
    for _ in range(5000):
        value = [value]

    ((_, text),) = texts_of(value)
    assert text == "x"
