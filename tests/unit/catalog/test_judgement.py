"""What is made of a tool."""

from typing import Any

from bascule.catalog.digest import tool_digest
from bascule.catalog.judgement import Judgement, ServerJudge, TwinJudge, accept
from bascule.catalog.pinning.lock import Lock
from bascule.core.permission import UNDECLARED, Permission
from support.locks import RICH, approved

READ = frozenset({Permission.READ})


def test_without_a_word_a_tool_is_shown_and_not_believed_to_be_harmless():
    assert accept({"name": "read"}, "sha256:0") == Judgement(exposed=True, permissions=UNDECLARED, unapproved="")


def test_a_servers_tools_are_judged_by_the_word_and_the_lock():
    def permitting(definition: dict[str, Any], *, approved: bool) -> frozenset[Permission]:
        return READ if approved else UNDECLARED

    judge = ServerJudge("work", Lock({"work": approved(RICH)}), lambda tool: tool == "act", permitting)
    changed, other = {**RICH, "title": "Other"}, {**RICH, "name": "other"}

    assert judge(RICH, tool_digest(RICH)) == Judgement(True, READ, "")
    judged = judge(changed, tool_digest(changed))
    assert (judged.permissions, judged.unapproved[:17]) == (UNDECLARED, "its title changed")
    assert judge(other, tool_digest(other)).exposed is False


def test_a_tool_of_a_twin_is_judged_by_the_digest_of_the_servers_own():
    seen: list[str] = []

    def judge(definition: dict[str, Any], digest: str) -> Judgement:
        seen.append(digest)
        return Judgement()

    twin = TwinJudge(judge, {"act": "sha256:1"})
    for name in ("act", "other"):
        twin({"name": name}, "sha256:0")
    assert seen == ["sha256:1", "sha256:0"]
