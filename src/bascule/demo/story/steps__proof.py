"""The log of the played session: verified from its first record to its last, and found out where a copy was changed."""

import shutil
from pathlib import Path

from bascule.demo.story.steps import Step
from bascule.records.audit.damage import AuditCheck
from bascule.records.audit.verify import check_state
from bascule.store.open import store_at

LOG = "audit/0001.log"


async def prove(step: Step, state: Path) -> None:
    """Once the runtime has ended: then all that was done is in the log."""
    checked = await _checked(state)
    records = sum(writer.records for writer in checked.writers)
    step.facts.update(records=records, verified=checked.ok)
    if checked.ok:
        step.say("good", f"{records} records, each sealing the one before: the log is whole.")
    step.expect(checked.ok and records > 0, "the log can be verified", checked)
    forged = await _checked(_tampered(state))
    found = next((damage for writer in forged.writers for damage in writer.damage), None)
    step.facts.update(tampered_found=found is not None)
    if found is not None:
        step.say("good", f"One letter changed in a copy of it: found, in record {found.sequence}.")
    step.expect(found is not None, "a log that was changed is found out")


async def _checked(state: Path) -> AuditCheck:
    store = store_at(None, state)
    await store.open()
    try:
        return await check_state(state, store)
    finally:
        await store.close()


def _tampered(state: Path) -> Path:
    """A copy in which one call was made to another server."""
    copy = state.with_name("tampered")
    shutil.copytree(state, copy)
    log = copy / LOG
    log.write_bytes(log.read_bytes().replace(b'"post"', b'"past"', 1))
    return copy
