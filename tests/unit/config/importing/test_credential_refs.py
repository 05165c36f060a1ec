"""Credentials taken out of an entry."""

from typing import Any

import pytest

from bascule.config.importing.credential_refs import Variables, is_credential, without_credentials


def safe(entry: dict[str, Any], server: str = "desk", variables: Variables | None = None) -> dict[str, Any]:
    return without_credentials(server, entry, variables or Variables())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "abc"),
        ("apiKey", "abc"),
        ("PGPASSWORD", "hunter2"),
        ("MYSQL_PWD", "x"),
        ("OPENAI_KEY", "x"),
        ("API_KEY", "<YOUR_KEY>"),
        ("ANYTHING", "ghp_abcdefghij0123456789"),
        ("ANYTHING", "0123456789abcdef0123456789abcdef"),
        ("DATABASE_URL", "postgres://u:p4ss@h/db"),
        ("Cookie", "a=b"),
    ],
)
def test_what_looks_like_a_credential_is_one(name: str, value: str):
    assert is_credential(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEVEL", "debug"),
        ("TOKEN", "${TOKEN}"),
        ("MAX_TOKEN", "4096"),
        ("TOKEN", ""),
        ("KEY", "/run/secrets/key"),
        ("USE_TOKEN", "true"),
        ("MODEL", "some-model-4-20250514"),
        ("REGION", "eu-west-1"),
    ],
)
def test_what_does_not_is_none(name: str, value: str):
    assert not is_credential(name, value)


def test_a_reference_takes_the_place_of_a_credential_and_its_value_is_kept_apart():
    variables = Variables()
    entry = safe({"command": "a", "env": {"API_KEY": "s3cret", "LEVEL": "debug"}}, variables=variables)

    assert entry == {"command": "a", "env": {"API_KEY": "${API_KEY}", "LEVEL": "debug"}}
    assert variables.values == {"API_KEY": "s3cret"}


@pytest.mark.parametrize(
    ("header", "value", "read", "variable"),
    [
        ("Authorization", "Bearer abc", "Bearer ${DESK_TOKEN}", "DESK_TOKEN"),
        ("Authorization", "abc", "${DESK_TOKEN}", "DESK_TOKEN"),
        ("X-API-Key", "abc", "${DESK_API_KEY}", "DESK_API_KEY"),
        ("Desk-Key", "abc", "${DESK_KEY}", "DESK_KEY"),
    ],
)
def test_a_header_keeps_its_scheme(header: str, value: str, read: str, variable: str):
    variables = Variables()

    assert safe({"headers": {header: value}}, variables=variables)["headers"] == {header: read}
    assert variables.values == {variable: "abc"}


@pytest.mark.parametrize("value", ["Bearer ${TOKEN}", "application/json"])
def test_a_header_that_shows_nothing_stays(value: str):
    assert safe({"headers": {"Accept": value}})["headers"] == {"Accept": value}


def test_credentials_in_an_address_are_taken_out_of_it():
    url = "https://a.test/s/9a8b7c6d5e4f3a2b1c0d9e8f/mcp?api_key=abc&page=2"

    assert safe({"url": url})["url"] == "https://a.test/s/${DESK_URL_KEY}/mcp?api_key=${DESK_API_KEY}&page=2"


def test_the_secret_of_a_login_is_taken_out():
    entry = safe({"url": "https://a.test", "oauth": {"client_id": "c", "client_secret": "s"}})

    assert entry["oauth"] == {"client_id": "c", "client_secret": "${DESK_CLIENT_SECRET}"}
    assert safe({"oauth": {"client_secret": "${S}"}}) == {"oauth": {"client_secret": "${S}"}}


def test_what_docker_sets_for_its_container_is_put_into_its_environment():
    entry = safe({"command": "/usr/bin/docker", "args": ["run", "-e", "TOKEN=abc", "-e", "LEVEL=debug", "image"]})

    assert entry["args"] == ["run", "-e", "TOKEN", "-e", "LEVEL=debug", "image"]
    assert entry["env"] == {"TOKEN": "${TOKEN}"}


def test_arguments_of_other_programs_stay_as_they_are():
    assert safe({"command": "a", "args": ["-e", "TOKEN=abc"]})["args"] == ["-e", "TOKEN=abc"]


def test_one_variable_never_stands_for_two_values():
    variables = Variables()
    first, second, third = (
        safe({"env": {"KEY": value}}, server, variables)["env"]["KEY"]
        for server, value in (("a", "one"), ("b", "two"), ("c", "one"))
    )

    assert (first, second, third) == ("${KEY}", "${B_KEY}", "${KEY}")


def test_a_variable_that_something_refers_to_already_is_left_to_it():
    assert safe({"env": {"KEY": "one"}}, "a", Variables().reserving(["KEY"]))["env"] == {"KEY": "${A_KEY}"}


def test_a_name_that_begins_with_a_digit_can_be_a_variable():
    assert safe({"headers": {"Authorization": "Bearer x"}}, "9-lives")["headers"] == {
        "Authorization": "Bearer ${_9_LIVES_TOKEN}"
    }


def test_what_is_no_text_stays_to_be_refused():
    assert safe({"env": {"TOKEN": 5}, "headers": {"X": 6}}) == {"env": {"TOKEN": 5}, "headers": {"X": 6}}
