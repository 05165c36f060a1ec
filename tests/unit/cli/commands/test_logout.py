"""`bascule logout`: output."""

from bascule.cli.commands.logout import told


def test_each_end_of_a_login_is_told_apart():
    assert told("alice", "notes", revoked=None) == "user alice was not logged in at notes"
    assert "has revoked" in told("alice", "notes", revoked=True)
    assert "did not revoke" in told("alice", "notes", revoked=False)
