"""How to link to each server, looked up by key."""

from dataclasses import replace

import pytest

from bascule.core.errors import ConfigError, PermitLost, Refused, UsageError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.sensitivity.ratchet import Ratchets
from bascule.store.levels.interface import SessionRecord
from bascule.upstream.connection_plan import Plans, ServerPlan
from bascule.upstream.key import SHARED
from bascule.upstream.link import Link, LinkPlan
from support.links import ALICE, BOB, TERMS, a_key, admit_all
from support.streams import Leave, Loopback


class Dialled(Loopback):
    """A connection that knows on whose behalf it was made."""

    def __init__(self, principal: Principal) -> None:
        super().__init__()
        self.principal = principal


def changed(_link: Link, _kind: str) -> None:
    """Nothing changes here."""


def known() -> Ratchets:
    ratchets = Ratchets()
    for principal in (ALICE, BOB):
        ratchets.of(principal).follow(SessionRecord(principal, DataSensitivity.PUBLIC))
    return ratchets


KNOWN = known()
PLAN = ServerPlan(TERMS, Dialled, admit_all, older=Dialled, on_change=changed)


async def test_a_plan_is_the_servers_with_the_key_it_was_asked_for():
    other = ServerPlan(TERMS, Dialled, admit_all)
    plans = Plans({("files", Lane.OPEN): PLAN, ("files", Lane.SEALED): PLAN, ("other", Lane.OPEN): other}, KNOWN)
    for key in (a_key("files"), a_key("files", Lane.SEALED), a_key("files", principal=BOB)):
        plan = plans.plan_for(key)
        assert plan == LinkPlan(key, PLAN.terms, plan.dial, PLAN.admit, PLAN.mask, plan.older, on_change=changed)
        assert plan.older is not None
        for dialled in (plan.dial(), plan.older()):
            assert isinstance(dialled, Dialled)
            assert dialled.principal == key.principal


def test_a_server_that_cannot_be_linked_to_raises_its_reason():
    reason = ConfigError("TOKEN is not set")
    with pytest.raises(ConfigError) as caught:
        Plans({("files", Lane.OPEN): reason}, KNOWN).plan_for(a_key("files"))

    assert caught.value is reason


def test_a_server_nobody_configured_is_the_callers_mistake():
    with pytest.raises(UsageError, match="no server is called 'mail'") as caught:
        Plans({("files", Lane.OPEN): PLAN}, KNOWN).plan_for(a_key("mail"))

    assert "bascule list" in caught.value.fix


def test_plans_can_be_others_from_one_moment_to_the_next():
    plans = Plans({("files", Lane.OPEN): PLAN}, KNOWN)
    plans.servers = {("mail", Lane.OPEN): PLAN}

    assert plans.plan_for(a_key("mail")).key == a_key("mail")
    with pytest.raises(UsageError):
        plans.plan_for(a_key("files"))


def test_nothing_is_opened_that_is_too_wide_for_its_principal():
    ratchets = Ratchets()
    plans = Plans({("files", Lane.OPEN): PLAN, ("files", Lane.SEALED): PLAN}, ratchets)
    with pytest.raises(PermitLost, match="the open lane of files is closed"):
        plans.plan_for(a_key("files"))
    assert plans.plan_for(a_key("files", Lane.SEALED))
    assert plans.plan_for(a_key("files", principal=SHARED))

    ratchets.of(ALICE).follow(SessionRecord(ALICE, DataSensitivity.PUBLIC))
    assert plans.plan_for(a_key("files"))
    ratchets.of(ALICE).follow(SessionRecord(ALICE, DataSensitivity.PUBLIC, 1, ended=True))
    with pytest.raises(Refused, match="an operator has ended this agent session") as caught:
        plans.plan_for(a_key("files", Lane.SEALED))
    assert caught.value.rule == "session_goes_on"


@pytest.mark.parametrize("lane", [Lane.PROXIED, Lane.SEALED])
def test_a_server_without_a_lane_is_never_reached_by_another(lane: Lane):
    with pytest.raises(Refused, match=f"files has no {lane} lane") as caught:
        Plans({("files", Lane.OPEN): PLAN}, KNOWN).plan_for(a_key("files", lane))

    assert "url_isolated" in caught.value.fix


def test_who_is_refused_a_lane_is_told_what_made_it_necessary():
    ratchets = Ratchets()
    ratchets.of(ALICE).follow(SessionRecord(ALICE, DataSensitivity.SECRET), "dataset 'payroll'")
    with pytest.raises(Refused, match=r"has become private \(dataset 'payroll'\)"):
        Plans({("files", Lane.OPEN): PLAN}, ratchets).plan_for(a_key("files", Lane.SEALED))


def test_the_servers_leave_is_the_links():
    leave = Leave()
    plans = Plans({("files", Lane.OPEN): replace(PLAN, leave=leave)}, KNOWN)

    assert plans.plan_for(a_key("files")).leave is leave
