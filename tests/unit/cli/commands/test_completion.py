"""`bascule completion`."""

import json

import pytest

from bascule.cli.completion.scripts import SCRIPTS
from bascule.cli.main import main


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_printed_alone_or_with_how_to_install_it(capsys: pytest.CaptureFixture[str], shell: str):
    assert main(["completion", shell]) == 0
    assert capsys.readouterr() == (SCRIPTS[shell], "")
    assert main(["completion", shell, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["shell"], told["script"]) == (shell, SCRIPTS[shell])
    assert f"bascule completion {shell}" in told["install"]
