"""Who may end an agent's run: a server that is trusted with it, and no other."""

from pathlib import Path
from typing import Any

import pytest

from bascule.core.outcome import FailureKind
from support.runtime import at_work, bad
from support.spies import CARRIERS, spying

SAID: dict[str, dict[str, Any]] = {
    "in _meta": {"content": [{"type": "text", "text": "gone"}], "_meta": {"dev.bascule/fatal": True}},
    "in words": {"content": [{"type": "text", "text": "[FATAL] gone"}]},
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize(
    ("trust", "kind"),
    [
        (("fatal",), FailureKind.FATAL),
        ((), FailureKind.TOOL_ERROR),
        (("labels", "permissions", "annotations"), FailureKind.TOOL_ERROR),
    ],
)
async def test_an_error_ends_the_run_only_from_a_server_trusted_with_that(
    carrier: str, said: str, trust: tuple[str, ...], kind: FailureKind, tmp_path: Path
):
    scenario = {"tools/call": [{"result": {**SAID[said], "isError": True}}]}
    async with spying(carrier, tmp_path, scenario, trust=trust) as loose, at_work(loose.config) as session:
        failure = bad(await session.call("loose_act"), kind)

    assert "gone" in failure.message
