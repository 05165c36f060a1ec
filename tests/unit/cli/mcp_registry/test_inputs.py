"""Inputs of a `server.json`."""

from typing import Any

import pytest

from bascule.cli.mcp_registry.inputs import Need, read_input, told


def say(**raw: Any) -> tuple[str | None, list[Need]]:
    needs: list[Need] = []
    return told(read_input(raw), "SRV_X", needs), needs


def test_a_fixed_value_is_written_as_it_is():
    assert say(value="stdio") == ("stdio", [])
    assert say(value=8080) == ("8080", [])
    assert say(value=True) == ("true", [])


def test_what_is_required_becomes_a_reference_that_the_operator_fills():
    text, needs = say(isRequired=True, isSecret=True, description="The key.")

    assert text == "${SRV_X}"
    assert needs == [Need("SRV_X", "The key.", secret=True)]


def test_a_default_stands_in_the_reference():
    assert say(default="eu") == ("${SRV_X:-eu}", [Need("SRV_X", needed=False, default="eu")])


def test_what_need_not_be_told_is_not():
    assert say(description="Perhaps.") == (None, [])


@pytest.mark.parametrize("text", ["${HOME}", "$HOME", "a$$b", "${SECRET:-x}", "cost: $5"])
def test_somebody_elses_dollar_refers_to_nothing_of_ours(text: str):
    assert say(value=text) == (text.replace("$", "$$"), [])


@pytest.mark.parametrize("default", ["a}b", "${HOME}"])
def test_a_default_that_would_end_its_reference_is_written_as_it_is(default: str):
    assert say(default=default) == (default.replace("$", "$$"), [])


def test_blanks_with_a_name_are_filled_and_others_stay():
    variables = {"token": {"isRequired": True, "isSecret": True}, "kind": {"default": "Bearer"}}
    text, needs = say(value="{kind} {token} {other}", variables=variables)

    assert text == "${SRV_X_KIND:-Bearer} ${SRV_X_TOKEN} {other}"
    assert [(need.name, need.needed, need.secret) for need in needs] == [
        ("SRV_X_KIND", False, False),
        ("SRV_X_TOKEN", True, True),
    ]


def test_a_blank_has_to_be_filled_whatever_else_is_said():
    text, needs = say(value="{dir}:/data", description="A folder.", variables={"dir": {}})

    assert text == "${SRV_X_DIR}:/data"
    assert needs == [Need("SRV_X_DIR", "A folder.")]
