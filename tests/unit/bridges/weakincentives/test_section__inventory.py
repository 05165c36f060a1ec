import pytest

from bascule.bridges.weakincentives.section import DEFAULT, check_template, filled_in
from bascule.core.errors import UsageError
from bascule.core.tool import ToolKey, ToolSpec

SAY = ToolSpec("work_Say", ToolKey("work", "Say"), "digest", "Says $it.")


def test_servers_are_listed_with_their_tools_one_level_below_the_section():
    assert filled_in(DEFAULT, {"work": {"work_say": SAY}, "idle": {}}, 0).endswith(
        "### work\n\n- `work_say` - Says $it.\n\n### idle\n\n(no tools)"
    )
    assert "##### work" in filled_in(DEFAULT, {"work": {}}, 2)


def test_a_template_may_name_each_variable():
    text = filled_in("$server_names ${tool_count} $$", {"a": {"x": SAY}, "b": {}}, 0)

    assert text == "a, b 1 $"


@pytest.mark.parametrize("template", ["$", "${nothing}", "$tools_by_servers", "${"])
def test_a_template_with_anything_else_is_refused(template: str):
    with pytest.raises(UsageError):
        check_template(template)


def test_the_default_is_one():
    check_template(DEFAULT)
