"""Options that `--stdio` excludes. Conversations are in tests/behaviour/test_gateway_stdio.py."""

import pytest

from bascule.cli.parser.command_table import build_parser
from bascule.cli.serve.stdio import run
from bascule.core.errors import UsageError


@pytest.mark.parametrize("words", [("--dev",), ("--host", "127.0.0.1"), ("--port", "1"), ("--url", "https://a.test")])
async def test_what_is_about_an_address_is_refused(words: tuple[str, ...]):
    with pytest.raises(UsageError, match=words[0]):
        await run(build_parser().parse_args(["serve", "--stdio", *words]))
