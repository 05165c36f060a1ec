"""How to link to each server, looked up by key."""

import pytest

from bascule.core.errors import ConfigError, UsageError
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.links.link import Link, LinkPlan
from bascule.links.plans import Plans, ServerPlan
from support.links import BOB, TERMS, a_key, admit_all
from support.streams import Loopback


class Dialled(Loopback):
    """A connection that knows on whose behalf it was made."""

    def __init__(self, principal: Principal) -> None:
        super().__init__()
        self.principal = principal


def changed(_link: Link, _kind: str) -> None:
    """Nothing changes here."""


PLAN = ServerPlan(TERMS, Dialled, admit_all, older=Dialled, on_change=changed)


async def test_a_plan_is_the_servers_with_the_key_it_was_asked_for():
    plans = Plans({"files": PLAN, "other": ServerPlan(TERMS, Dialled, admit_all)})
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
        Plans({"files": reason}).plan_for(a_key("files"))

    assert caught.value is reason


def test_a_server_nobody_configured_is_the_callers_mistake():
    with pytest.raises(UsageError, match="no server is called 'mail'") as caught:
        Plans({"files": PLAN}).plan_for(a_key("mail"))

    assert "bascule list" in caught.value.fix


def test_plans_can_be_others_from_one_moment_to_the_next():
    plans = Plans({"files": PLAN})
    plans.servers = {"mail": PLAN}

    assert plans.plan_for(a_key("mail")).key == a_key("mail")
    with pytest.raises(UsageError):
        plans.plan_for(a_key("files"))
