import pytest

from bascule.sandbox.prepare.recognise import NPM, PIPX, UV, Meaning, Table


@pytest.mark.parametrize("table", [NPM, UV, PIPX])
def test_the_short_name_of_an_option_means_what_the_long_one_does(table: Table):
    assert table.get("-q") is table.get("--quiet") is Meaning.PASSED_OVER
    assert table.long("-q") == "--quiet"


def test_an_option_that_nobody_knows_means_nothing():
    assert NPM.get("--frobnicate") is None


def test_what_changes_how_a_program_is_run_says_why_it_is_not_prepared():
    assert isinstance(NPM.get("--node-options"), str)


def test_only_some_meanings_take_a_value():
    assert {each for each in Meaning if not each.with_value} == {Meaning.SAID_ON, Meaning.PASSED_OVER}
