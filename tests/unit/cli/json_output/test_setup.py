"""JSON shapes of the command line and of the demo."""

from bascule.cli.commands.help import outline
from bascule.cli.json_output.setup import CommandShape, DemoShape
from bascule.cli.parser.command_table import build_parser
from bascule.demo.story.steps import Command, Ending, Step
from support.shapes import misfit


def test_the_whole_command_line_has_its_shape():
    assert misfit(outline(build_parser()), CommandShape) == ""


def test_a_story_has_its_shape_also_where_it_did_not_go_as_told():
    step = Step("send", "Sends")
    step.say("good", "It went.")
    step.expect(False, "a letter")
    shape = Ending(False, 1.5, None, "no box", (Command("bascule doctor", "look"),)).shape([step])
    assert misfit({**shape}, DemoShape) == ""
