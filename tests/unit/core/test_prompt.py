"""A prompt as agents see it."""

from bascule.core.prompt import PromptArgument, PromptSpec
from bascule.core.tool import ToolKey, ToolStatus


def test_an_argument_may_be_left_out_unless_it_says_otherwise():
    assert not PromptArgument("name").required


def test_a_prompt_is_exposed_unless_something_is_wrong_with_it():
    spec = PromptSpec("files_greet", ToolKey("files", "greet"), "sha256:0")

    assert (spec.status, spec.problem, spec.arguments) == (ToolStatus.EXPOSED, "", ())
