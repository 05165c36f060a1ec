"""Leave that runs out."""

import asyncio

from bascule.core.errors import StoreError
from bascule.sensitivity.lease import Lease, since_boot
from bascule.store.deadline import StoreWait
from support.waiting import fail_after


async def never() -> None:
    raise StoreError("nobody renews it")


def test_a_lease_is_good_until_it_runs_out_and_can_be_good_again():
    now = [10.0]
    lease = Lease(never, lambda: now[0])

    assert not lease.valid()
    lease.until = 12.0
    assert lease.valid()
    now[0] = 12.0
    assert not lease.valid()
    lease.until = 13.0
    assert lease.valid()


def test_time_goes_on():
    assert since_boot() <= since_boot()


async def test_a_lease_that_has_run_out_is_renewed_when_it_is_wanted():
    async def renew() -> None:
        renewed.append(True)
        lease.until = 9.0

    renewed: list[bool] = []
    lease = Lease(renew, lambda: 1.0)
    await lease.regain()
    await lease.regain()

    assert lease.valid()
    assert renewed == [True]


async def test_without_the_store_it_stays_as_it_is():
    lease = Lease(never, lambda: 1.0)
    await lease.regain()

    assert not lease.valid()


async def test_a_renewal_ends_at_the_deadline_of_the_wait_that_it_is_part_of():
    async def paused() -> None:
        await asyncio.Event().wait()

    lease, wait = Lease(paused, lambda: 1.0), StoreWait()
    wait.left = 0.01
    async with fail_after(20, "the deadline"):
        with wait.shared():
            await lease.regain()

    assert not lease.valid()
    assert wait.left <= 0
