"""The official suite finds nothing to complain of."""

import pytest

from support import conformance


@pytest.mark.parametrize("revision", conformance.REVISIONS)
def test_every_scored_scenario_for_clients_passes(revision: str):
    conformance.install()
    ran = conformance.run(revision)
    assert ran.returncode == 0, conformance.summary(ran)
