"""The official suite finds the same in front of a gateway as in front of the server behind it."""

import pytest

from support import conformance

NOT_DONE = ("FAILURE", "WARNING", "SKIPPED")


@pytest.fixture(scope="module", autouse=True)
def suite() -> None:
    conformance.install()


@pytest.mark.requirement("GTW-1")
@pytest.mark.parametrize("revision", conformance.REVISIONS)
@pytest.mark.parametrize("behind", conformance.BEHIND, ids=lambda behind: behind.__name__)
def test_every_scenario_for_servers_passes_through_a_gateway_and_none_by_being_left_out(
    behind: conformance.Behind, revision: str
):
    ran = conformance.run_gateway(revision, behind)
    assert ran.code == 0, ran.summary
    assert len(ran.with_status("SUCCESS")) > 30
    # But for the tasks extension, which is not scored, and which neither server has.
    missing = {name for name in ran.with_status(*NOT_DONE) if not name.startswith("tasks-")}
    assert missing == set(), ran.summary
