"""The scripts for shells; tests/behaviour/test_completion.py has the shells run them."""

from bascule.cli.completion.scripts import HIDDEN, SCRIPTS


def test_every_script_asks_with_the_hidden_word_and_names_its_shell():
    for shell, script in SCRIPTS.items():
        assert f"{HIDDEN} {shell} " in script
        assert f"bascule completion {shell}" in script
