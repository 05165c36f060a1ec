from typing import Any

import pytest
from fastmcp.exceptions import NotFoundError, ToolError, ValidationError

from bascule.core.errors import NotIdentified, Refused
from bascule.kit.governed_tool import RETRY_KEY, failed, fatal, refused, retryable
from bascule.wire.tool_result import FATAL_KEY, PREFIX


def shown(result: Any) -> tuple[str, Any, Any]:
    assert result.is_error
    return result.content[0].text, result.structured_content, result.meta


@pytest.mark.parametrize(("code", "more"), [(None, {}), ("E7", {"code": "E7"}), (0, {"code": 0})])
def test_an_error_to_retry_says_so_in_words_for_a_program_and_in_meta(code: Any, more: dict[str, Any]) -> None:
    said = {"message": "no such city", "retriable": True, **more}

    assert shown(retryable("no such city", code)) == ("no such city", said, {RETRY_KEY: True})


def test_a_fatal_error_says_so_in_its_first_word_and_in_meta() -> None:
    words, structured, meta = shown(fatal("the licence has ended", 402))

    assert words == f"{PREFIX}the licence has ended"
    assert structured == {"message": words, "code": 402}
    assert meta == {FATAL_KEY: True}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Refused("not now", rule="r", fix="wait"), "not now; wait"),
        (Refused("not now", rule="r"), "not now"),
        (NotIdentified("who?", rule="r", fix="log in"), "who?; log in"),
    ],
)
def test_a_refusal_is_not_to_be_retried(error: Refused, words: str) -> None:
    assert shown(refused(error)) == (words, {"message": words, "code": error.code, "retriable": False}, None)


def test_arguments_that_do_not_fit_can_be_mended() -> None:
    assert shown(failed(ValidationError("city is missing")))[1] == {"message": "city is missing", "retriable": True}


@pytest.mark.parametrize("error", [ToolError("the author's words"), NotFoundError("no such thing")])
def test_what_an_author_says_in_fastmcps_own_way_is_said_as_it_is(error: Any) -> None:
    assert shown(failed(error)) == (str(error), None, None)
