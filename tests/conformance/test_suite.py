"""The official suite finds nothing to complain of."""

from collections.abc import Iterator

import pytest

from support import conformance

OLD, NEW = conformance.REVISIONS

NOT_DONE = ("FAILURE", "WARNING", "SKIPPED")

FASTMCP_LACKS = {
    OLD: {"resources-subscribe", "resources-unsubscribe"},
    NEW: {"server-stateless", "http-header-validation"},
}
"""What a plain FastMCP server does not do. Those of the old revision are scored, and fail. Of the new one, the first is
passed by leaving out the checks of `subscriptions/listen`, and the second, which fails, is not scored."""


@pytest.fixture(scope="module", autouse=True)
def suite() -> None:
    conformance.install()


@pytest.fixture(scope="module")
def kit_server(suite: None) -> Iterator[str]:
    with conformance.served() as url:
        yield url


@pytest.fixture(scope="module")
def plain_server(suite: None) -> Iterator[str]:
    with conformance.served(conformance.PLAIN_SERVER) as url:
        yield url


@pytest.mark.parametrize("revision", conformance.REVISIONS)
def test_every_scored_scenario_for_clients_passes(revision: str):
    ran = conformance.run_client(revision)
    assert ran.code == 0, ran.summary


@pytest.mark.parametrize("revision", conformance.REVISIONS)
def test_every_scenario_for_servers_passes_and_none_by_being_left_out(kit_server: str, revision: str):
    ran = conformance.run_server(revision, kit_server)
    assert ran.code == 0, ran.summary
    assert len(ran.with_status("SUCCESS")) > 30
    assert without_tasks(ran.with_status(*NOT_DONE)) == set(), ran.summary


@pytest.mark.parametrize("revision", conformance.REVISIONS)
def test_fastmcp_alone_lacks_what_our_kit_adds(plain_server: str, revision: str):
    """The day this fails, FastMCP has it, and ours can go."""
    ran = conformance.run_server(revision, plain_server, conformance.PLAIN_SERVER)
    assert without_tasks(ran.with_status(*NOT_DONE)) == FASTMCP_LACKS[revision], ran.summary


def without_tasks(scenarios: set[str]) -> set[str]:
    """Without the tasks extension, which is not scored, and which FastMCP has only with another package."""
    return {name for name in scenarios if not name.startswith("tasks-")}
