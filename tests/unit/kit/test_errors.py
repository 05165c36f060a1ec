import pytest

from bascule.kit.errors import ToolFatalError, ToolRetryError


@pytest.mark.parametrize("kind", [ToolRetryError, ToolFatalError])
def test_an_error_has_words_for_a_model_and_may_have_a_code_for_a_program(
    kind: type[ToolRetryError | ToolFatalError],
) -> None:
    assert (str(kind("no such city")), kind("x").code, kind("x", code="E7").code) == ("no such city", None, "E7")


def test_neither_is_the_other() -> None:
    assert not issubclass(ToolRetryError, ToolFatalError)
    assert not issubclass(ToolFatalError, ToolRetryError)
