"""What tests of pages and of the command line compare with: the parser, the shapes of JSON, what a
request has set, errors as they are shown, a config as it is read."""

from bascule.cli.completion_command import INSTALL
from bascule.cli.explain import explain
from bascule.cli.grammar import Parser
from bascule.cli.parser import build_parser
from bascule.cli.shapes.answers import CallShape, FailedShape, FailureShape
from bascule.cli.shapes.listings import ListShape, StubsShape
from bascule.cli.shapes.running import CatalogEventShape
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
