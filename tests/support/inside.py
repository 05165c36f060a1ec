"""What tests of pages and of the command line compare with: the parser, the shapes of JSON, what a
request has set, errors as they are shown, a config as it is read."""

from bascule.cli.commands.completion import INSTALL
from bascule.cli.json_output.answers import CallShape, FailedShape, FailureShape
from bascule.cli.json_output.listings import ListShape, StubsShape
from bascule.cli.json_output.running import CatalogEventShape
from bascule.cli.output.errors import explain
from bascule.cli.parser.command_table import build_parser
from bascule.cli.parser.grammar import Parser
from bascule.config.loading.load import load_file
from bascule.runtime.execution.wrappers import Wrapped
from bascule.sensitivity import private_data

__all__ = [
    "INSTALL",
    "CallShape",
    "CatalogEventShape",
    "FailedShape",
    "FailureShape",
    "ListShape",
    "Parser",
    "StubsShape",
    "Wrapped",
    "build_parser",
    "explain",
    "load_file",
    "private_data",
]
