from bascule.core.extras import missing


def test_it_is_one_line_with_the_command_that_helps():
    error = missing("PydanticAI", "pydantic-ai", ModuleNotFoundError("No module", name="pydantic_ai"))
    assert str(error) == "PydanticAI is not installed: pip install 'bascule[pydantic-ai]'"
    assert error.name == "pydantic_ai"
