"""JSON shapes of servers and tools."""

from bascule.cli.commands.inspect import twin_shape
from bascule.cli.json_output.listings import InspectedServerShape, ReportShape, TwinShape, WordShape
from bascule.config.model.transport import StdioTransport, StreamableHttpTransport
from support.shapes import misfit


def test_a_twin_is_told_by_its_command_or_its_address():
    command = twin_shape(StdioTransport("search", ("--offline",)), "eager")
    url = twin_shape(StreamableHttpTransport("http://127.0.0.1:1/mcp"), "lazy")
    assert [misfit(each, TwinShape) for each in (command, url)] == ["", ""]
    assert (command.get("command"), url.get("url")) == (["search", "--offline"], "http://127.0.0.1:1/mcp")


def test_a_server_is_told_by_how_it_stands_by_what_the_operator_says_of_it_and_by_its_box():
    parts = ReportShape.__required_keys__ | WordShape.__required_keys__
    assert InspectedServerShape.__required_keys__ - parts == {"box"}
