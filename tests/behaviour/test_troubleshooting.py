"""Each row of docs/troubleshooting.md: what stands in the first column is really printed, and the last column mends it."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from behaviour.codes import command, door, everyday, mending_programs, program
from behaviour.codes.mending import mends
from behaviour.test_fixes import named_in
from support.shown import Scenario

pytestmark = pytest.mark.requirement("UX-3")

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"

FILLED_BY = mending_programs

LEAST = 20
"""Rows that the page has at least."""


class Row(NamedTuple):
    seen: tuple[str, ...]
    fix: str
    code: str


class Made(NamedTuple):
    """What brings a row about, and the words of its last column that are done about it."""

    scenario: Scenario
    doing: str


MADE = {
    "no configuration found in …": Made(command.there_is_no_config, "name yours with `--config FILE`"),
    "not YAML: …": Made(everyday.a_config_is_not_yaml, "close the bracket"),
    "unknown key; did you mean …": Made(command.a_key_is_misspelt, "write the key that is named"),
    "the variable … is not set": Made(command.a_variable_is_not_set, "set it, or put it into `.env`"),
    "cannot listen at …: Address already in use": Made(everyday.somebody_listens_at_the_port, "another with `--port`"),
    "command not found: …": Made(command.a_command_is_not_there, "install it"),
    "the working directory … does not exist": Made(command.the_folder_of_a_server_is_not_there, "create it"),
    "ModuleNotFoundError: No module named …": Made(command.a_server_ends_at_once, "install it"),
    "no connection to …": Made(command.nobody_listens_at_the_address, "start the server, or correct host and port"),
    "the server wants a login (HTTP 401)": Made(command.a_server_wants_a_login, "`bascule login SERVER`"),
    "the server refuses the token that was sent": Made(everyday.a_token_is_wrong, "the right one into `headers."),
    "`headers_command` gave no headers: …": Made(everyday.a_program_that_prints_headers_fails, "run it by hand"),
    "no … box can be made here": Made(command.a_box_is_asked_for_where_none_can_be_made, "`sandbox: none`"),
    "the server exited with code …": Made(command.a_server_dies_under_a_call, "`bascule logs SERVER`"),
    "no reply to tools/call within …": Made(command.a_call_takes_too_long, "raise `timeouts.call`"),
    "the result of … is malformed": Made(command.a_result_is_misshapen, "another version"),
    "there is no tool …; did you mean …": Made(command.a_tool_is_misspelt, "`bascule list`"),
    "is not exposed: … would both be called …": Made(everyday.two_tools_have_one_name, "another `prefix`"),
    "missing argument …": Made(command.an_argument_is_misspelt, "`bascule inspect TOOL`"),
    "must be integer, not string": Made(everyday.an_argument_is_of_another_type, "`KEY:=JSON`"),
    "changed since it was approved": Made(
        everyday.a_tool_has_changed_since_it_was_approved, "`bascule approve SERVER`"
    ),
    "nobody has approved any tool of …": Made(everyday.the_lock_is_wanted_and_is_not_there, "`bascule approve SERVER`"),
    "this agent session has become private": Made(command.private_data_came_aboard, "`command_isolated`"),
    "waits for a person to agree, and nobody can be asked": Made(command.nobody_can_be_asked, "take it out of `ask`"),
    "its `limits.per_minute` is …": Made(program.one_call_too_many_is_made, "raise `limits.per_minute`"),
    "the isolated twin of … is another server": Made(program.a_twin_is_of_another_version, "to the same version"),
    "no link to … was free within …": Made(program.every_link_is_taken, "raise `links.max`"),
    "the state in … cannot be used": Made(everyday.the_state_folder_is_not_ours, "set `BASCULE_HOME`"),
    "no token was shown": Made(door.no_token_is_shown, "with a token"),
    "the token is not believed: its time is up": Made(door.a_token_is_too_old, "get a new token"),
    "a message may have … bytes, and this one has more": Made(door.a_message_is_too_long, "raise `messages.max`"),
}
"""By the first text of a row."""


def rows() -> list[Row]:
    lines = [line.strip("|").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    found: list[Row] = []
    for first, _, last in lines[1:]:
        quoted = re.findall(r"`` (.+?) ``|`([^`]+)`", first)
        code = re.search(r"\[(BSC-\d+)\]\(errors/\1\.md\)", last)
        assert quoted, f"no text in {first}"
        assert code, f"no page in {last}"
        found.append(Row(tuple(one or other for one, other in quoted), last, code[1]))
    return found


def test_every_row_is_brought_about_and_there_are_many():
    assert [row.seen[0] for row in rows()] == [*MADE]
    assert len(MADE) >= LEAST


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.seen[0])
async def test_what_a_row_shows_is_seen_and_what_it_says_helps(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    scenario, doing = MADE[row.seen[0]]
    text = await scenario(tmp_path)

    for seen in row.seen:
        assert re.search(".+".join(map(re.escape, seen.split("…"))).removesuffix(".+"), text), text
    assert row.code in text
    assert doing in row.fix
    await mends[scenario](tmp_path, f"{named_in(text)}\n{text}")
