"""Places of a schema."""

from bascule.catalog.schema.repair import Place


def test_a_note_says_where_it_belongs():
    notes: list[str] = []
    top = Place(notes)
    top.note("at the top")
    top.below("properties").below("a").note("deep")

    assert notes == ["at the top", "properties.a: deep"]


def test_what_cannot_be_mended_says_where_it_is():
    assert str(Place([]).below("items").unmendable("bad")) == "items: bad"
    assert str(Place([]).unmendable("bad")) == "bad"
