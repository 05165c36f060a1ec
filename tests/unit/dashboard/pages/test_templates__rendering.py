"""Nothing that anybody says becomes a part of a page."""

import pytest
from jinja2 import UndefinedError

from bascule.dashboard.pages.assets import assets
from bascule.dashboard.pages.templates import asset_address, environment, render


def written(template: str, value: str) -> str:
    return environment().from_string(template).render(value=value)


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'-alert(1)-'", "{{7*7}}"]
)
def test_whatever_is_said_stays_text(hostile: str):
    shown = written('<p title="{{ value }}">{{ value | one_line }}</p>', hostile)
    assert "<script" not in shown
    assert "<img" not in shown
    assert '""' not in shown
    assert "49" not in shown


def test_what_hides_or_turns_around_is_written_out_wherever_it_stands():
    shown = written('<a title="{{ value }}">{{ value }}</a>', "a\u202e\x1b[2Jb")
    assert shown.count("a\\u202e\\x1b[2Jb") == 2


def test_a_name_that_is_not_there_is_a_mistake():
    with pytest.raises(UndefinedError):
        written("{{ other }}", "x")


def test_the_closed_door_needs_nothing_but_its_words():
    page = render("enter.html", words="no <b>", place="in a file")
    assert "no &lt;b&gt;" in page
    assert asset_address("style.css") in page
    assert assets()["style.css"].digest in page


def test_no_template_has_a_script_or_a_style_in_it():
    for name in environment().list_templates():
        source = environment().loader.get_source(environment(), name)[0]  # pyright: ignore[reportOptionalMemberAccess]
        assert "style=" not in source, name
        assert "onclick" not in source, name
        assert "<style" not in source, name
        assert "|safe" not in source.replace(" ", ""), name
        for line in source.splitlines():
            assert "<script" not in line or "src=" in line, name
