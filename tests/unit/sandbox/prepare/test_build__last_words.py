import pytest

from bascule.sandbox.prepare.build import LINES, fetch_failed, last_words


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("npm error code E404\nnpm error 404 Not Found", "no such package"),
        ("npm error code ETARGET\nnpm error notarget No matching version", "no such package"),
        ("npm error code ENOTFOUND\nnpm error network", "cannot be reached"),
        ("npm error code EAI_AGAIN", "cannot be reached"),
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "certificate"),
        ("npm error code E401", "credentials"),
        ("npm error code ENOSPC", "no room"),
        ("error: Failed to fetch: `https://x`\n  Caused by: dns error", "cannot be reached"),
        (
            "× No solution found when resolving dependencies:\n because a was not found in the package registry",
            "no such",
        ),
        ("ERROR: Could not find a version\nERROR: No matching distribution found for a", "no such package"),
        (
            "because the current Python version (3.11) does not satisfy Python>=3.13 No solution found",
            "another version",
        ),
        ("something else", "ended with the code 7"),
    ],
)
def test_what_the_tool_said_last_tells_why(output: str, cause: str):
    error = fetch_failed("pkg", 7, output)

    assert cause in error.cause
    assert error.fix
    assert error.message == "pkg could not be fetched"
    assert output.splitlines()[-1].strip() in error.evidence


def test_a_tool_that_said_nothing_is_told_by_its_code():
    assert fetch_failed("pkg", 7, "").evidence == "exit code 7"


def test_what_was_left_out_is_told_by_its_name():
    assert "left out, since they carry credentials: _auth" in fetch_failed("pkg", 1, "x", ("_auth",)).evidence


def test_last_words_are_few_and_move_no_cursor():
    said = last_words("\x1b[31mred\x1b[0m\r\nover\rwritten\x07\n" + "\n".join(map(str, range(50))))

    assert len(said.splitlines()) == LINES
    assert last_words("\x1b[31mred\x1b[0m\rover\x07") == "red\nover"
