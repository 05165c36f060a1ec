import pytest

from bascule.bridges.weakincentives.errors import McpSchemaError
from bascule.bridges.weakincentives.naming import cut_description, lowered, one_line
from bascule.core.tool import ToolKey, ToolSpec


def a_spec(name: str, description: str = "", title: str | None = None) -> ToolSpec:
    return ToolSpec(name, ToolKey("work", name), "digest", description, title)


def test_names_are_lowercase():
    spec = a_spec("work_SayHello")

    assert lowered([spec]) == {"work_sayhello": spec}


def test_two_of_one_name_are_none():
    with pytest.raises(McpSchemaError, match="two tools would be called work_say"):
        lowered([a_spec("work_Say"), a_spec("work_say")])


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (a_spec("t", "Says it."), "Says it."),
        (a_spec("t", "Says\n\n# it\t."), "Says # it ."),
        (a_spec("t", "Überprüft – ☃"), "Uberpruft ? ?"),
        (a_spec("t", "", "A title"), "A title"),
        (a_spec("t"), "t"),
        (a_spec("t", "\u0301\u0301"), "t"),
        (a_spec("t", "a\x00b"), "a?b"),
        (a_spec("t", "x" * 200), "x" * 200),
        (a_spec("t", "x" * 201), "x" * 197 + "..."),
    ],
)
def test_a_description_is_what_the_framework_takes(spec: ToolSpec, shown: str):
    assert cut_description(spec) == shown


def test_a_text_of_a_server_stays_in_its_line():
    assert one_line("a\n# b\r\n\u2028- c") == "a # b - c"
