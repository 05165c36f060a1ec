"""The official suite finds the same in front of a gateway as in front of the server behind it."""

import pytest

from support import conformance

OLD, NEW = conformance.REVISIONS

NOT_DONE = ("FAILURE", "WARNING", "SKIPPED")

NOT_YET = {
    OLD: {
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "logging-set-level",
        "resources-subscribe",
        "resources-unsubscribe",
        "tools-call-elicitation",
        "tools-call-sampling",
        "tools-call-with-logging",
    },
    NEW: {
        "input-required-result-basic-elicitation",
        "input-required-result-basic-list-roots",
        "input-required-result-basic-sampling",
        "input-required-result-capability-check",
        "input-required-result-missing-input-response",
        "input-required-result-multi-round",
        "input-required-result-multiple-input-requests",
        "input-required-result-non-tool-request",
        "input-required-result-request-state",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-validate-input",
        "sep-2164-resource-not-found",
        "server-stateless",
    },
}
"""What the gateway does not do, all of it: a scenario that is here and passes makes the test fail as well."""


@pytest.fixture(scope="module", autouse=True)
def suite() -> None:
    conformance.install()


@pytest.mark.requirement("GTW-1")
@pytest.mark.parametrize("revision", conformance.REVISIONS)
@pytest.mark.parametrize("behind", conformance.BEHIND, ids=lambda behind: behind.__name__)
def test_every_scenario_for_servers_passes_through_a_gateway(behind: conformance.Behind, revision: str):
    ran = conformance.run_gateway(revision, behind)
    assert len(ran.with_status("SUCCESS")) > 30
    missing = {name for name in ran.with_status(*NOT_DONE) if not name.startswith("tasks-")}
    assert missing == NOT_YET[revision], ran.summary
    assert ran.code == 0 or NOT_YET[revision]
