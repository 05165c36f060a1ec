"""`bascule sessions`: sensitivity levels of agent sessions, and the operator's commands to raise, declassify or end
one."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bascule.catalog.naming import nearest_names
from bascule.cli import exit_codes
from bascule.cli.output.errors import explain, json_line, legible
from bascule.cli.output.tables import fitting
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_deed_json, add_filters
from bascule.cli.session import store_of, this_user
from bascule.cli.views.sessions import (
    deed_shape,
    deed_text,
    listing_shape,
    plainly,
    show_table,
    shown_shape,
    shown_text,
)
from bascule.core.errors import StoreError, UsageError
from bascule.core.principal import Principal
from bascule.store.interface import Store
from bascule.store.levels.interface import LevelStore, SessionRecord

if TYPE_CHECKING:
    from bascule.config.model.runtime_config import RuntimeConfig
    from bascule.records.audit.log import Audit
    from bascule.runtime.levels.operator import Deed, Operator
    from bascule.workspace.level_marks import LevelMarks

ALL = 1 << 31
"""More receipts than there are."""

_EXAMPLES = """\
  bascule sessions  every agent session, how private it is, and why
  bascule sessions --user alice  hers alone
  bascule sessions show --user alice --session s-1  what has changed its level
  bascule sessions raise --user alice --session s-1 --to secret  by hand, also before it has seen anything
  bascule sessions declassify --user alice --session s-1 --to public --reason "test data, after all"
  bascule sessions end --user alice --session s-1  nothing more is done on its behalf, for good"""

_SHOW_EXAMPLES = """\
  bascule sessions show --user alice --session s-1
  bascule sessions show --user alice --session s-1 --json  every receipt, for programs"""

_RAISE_EXAMPLES = """\
  bascule sessions raise --user alice --session s-1 --to secret
  bascule sessions raise --user alice --session s-1 --to confidential --dataset payroll --reason "uploaded by hand" """

_DECLASSIFY_EXAMPLES = """\
  bascule sessions declassify --user alice --session s-1 --to public --reason "test data, after all"
  bascule sessions declassify --user alice --session s-1 --to internal --reason "reviewed" --yes  without a question"""

_END_EXAMPLES = """\
  bascule sessions end --user alice --session s-1
  bascule sessions end --user alice --session s-1 --reason "left the company" --yes"""


def add_options(command: Parser) -> None:
    add_filters(command.document(_EXAMPLES))
    command.has_words("deed")

    def add(name: str, summary: str, examples: str, exits: Mapping[int, str] | None = None) -> Parser:
        deed = command.word(name, summary).document(examples, exits)
        # Those that stand before the deed count too, so what is missing here must not undo them.
        for option, word, told in (
            ("--config", "FILE", "the config file, which may say where levels are kept"),
            ("--user", "ID", "the user whose agent session it is"),
            ("--session", "ID", "the agent session"),
        ):
            deed.add_argument(option, metavar=word, default=argparse.SUPPRESS, help=told)
        return add_deed_json(deed)

    add("show", "show what has changed the level of one agent session", _SHOW_EXAMPLES)
    lift = add("raise", "raise the level of one agent session", _RAISE_EXAMPLES)
    levels = ("internal", "confidential", "secret")
    lift.add_argument("--to", required=True, type=str.lower, choices=levels, help="the level it has then, at least")
    lift.add_argument("--dataset", metavar="NAME", default="", help="the private dataset that it has seen")
    unagreed = {4: "a person was asked, and said no; nothing was changed"}
    lower = add("declassify", "lower the level of one agent session", _DECLASSIFY_EXAMPLES, unagreed)
    levels = ("public", "internal", "confidential")
    lower.add_argument("--to", required=True, type=str.lower, choices=levels, help="the level it has then")
    end = add("end", "end one agent session: nothing more is done on its behalf, for good", _END_EXAMPLES, unagreed)
    for deed in (lift, lower, end):
        deed.add_argument("--reason", metavar="TEXT", default="", required=deed is lower, help="kept in the receipt")
    for deed in (lower, end):
        deed.add_argument("--yes", action="store_true", help="do not ask first")


async def run(options: argparse.Namespace) -> int:
    async with store_of(options) as (store, config):
        kept = await Kept.of(store, config)
        look = _LOOKS.get(options.deed)
        if look is not None:
            return await look(options, kept)
        from bascule.runtime.levels.operator import Operator  # noqa: PLC0415 -- slow, and not for the options

        async with _written_down(store, config) as audit:
            operator = Operator(store.levels, this_user(), time.time, audit, kept.marks)
            return await _DEEDS[options.deed](options, kept, operator)


class Kept:
    """Agent sessions of one store, at the levels that count on this machine."""

    def __init__(self, store: LevelStore, marks: "LevelMarks") -> None:
        self.store = store
        self.marks = marks

    @classmethod
    async def of(cls, store: Store, config: "RuntimeConfig") -> "Kept":
        from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- as above
        from bascule.workspace.level_marks import LevelMarks  # noqa: PLC0415

        marks = LevelMarks.at(config.workspace_root, state_folder(os.environ), store.levels)
        await marks.identify()
        return cls(store.levels, marks)

    async def sessions(self) -> tuple[SessionRecord, ...]:
        return await self.marks.judge(await self.store.sessions())


@asynccontextmanager
async def _written_down(store: Store, config: "RuntimeConfig") -> "AsyncGenerator[Audit]":
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- as above
    from bascule.records.audit.log import Audit  # noqa: PLC0415

    audit = Audit(time.time)
    whole = config.audit_arguments == "full"
    await audit.open(state_folder(os.environ), store.anchors, every=config.anchor_every, whole=whole)
    try:
        yield audit
    finally:
        await audit.close()


async def _list(options: argparse.Namespace, kept: Kept) -> int:
    records = [record for record in await kept.sessions() if _is_of(record.principal, options)]
    counts = await _receipts_by_session(kept)
    if options.json:
        print(json_line(listing_shape(records, counts)))
    elif records:
        show_table(records, counts)
    else:
        print("no agent session is known" + (" by these ids" if options.user or options.session else " yet"))
    return exit_codes.OK


def _is_of(principal: Principal, options: argparse.Namespace) -> bool:
    return options.user in {None, principal.user_id} and options.session in {None, principal.session_id}


async def _receipts_by_session(kept: Kept) -> Counter[Principal] | None:
    """How many there are of each. None where one of them cannot be read: levels are told nevertheless."""
    try:
        return Counter(receipt.principal for receipt in await kept.store.receipts(limit=ALL))
    except StoreError as error:
        print(explain(error), file=sys.stderr)
        return None


async def _show(options: argparse.Namespace, kept: Kept) -> int:
    record = await _wanted(options, kept)
    receipts = await kept.store.receipts(record.principal)
    if options.json:
        print(json_line(shown_shape(record, receipts)))
    else:
        print(fitting(shown_text(record, receipts)))
    return exit_codes.OK


async def _raise(options: argparse.Namespace, kept: Kept, operator: "Operator") -> int:
    from bascule.config.model.trust import level_named  # noqa: PLC0415 -- as above

    principal = _principal(options)
    deed = await operator.raise_to(principal, level_named(options.to), dataset=options.dataset, reason=options.reason)
    if deed.began:
        # Also a mistyped id can be raised, and then the one that was meant is not.
        known = [record.principal for record in await kept.sessions() if record.principal != principal]
        told = f"{principal} was not known; it begins {deed.record.level.name}{_did_you_mean(principal, known)}"
        print(legible(f"note: {told}"), file=sys.stderr)
    _tell(options, deed)
    return exit_codes.OK


async def _declassify(options: argparse.Namespace, kept: Kept, operator: "Operator") -> int:
    from bascule.config.model.trust import level_named  # noqa: PLC0415 -- as above

    level = level_named(options.to)
    question = f"Lower it to {level.name}? What it has seen may leave from then on."
    return await _if_agreed(
        options, kept, question, lambda principal: operator.declassify(principal, level, options.reason)
    )


async def _end(options: argparse.Namespace, kept: Kept, operator: "Operator") -> int:
    question = "End it? There is no way back."
    return await _if_agreed(options, kept, question, lambda principal: operator.end(principal, options.reason))


Doing = Callable[[Principal], Coroutine[Any, Any, "Deed"]]


async def _if_agreed(options: argparse.Namespace, kept: Kept, question: str, doing: Doing) -> int:
    record = await _wanted(options, kept)
    if not options.yes:
        if not await _agreed(record, question, options.deed):
            print("nothing was changed", file=sys.stderr)
            return exit_codes.DENIED
        now = await _wanted(options, kept)
        if (now.epoch, now.level, now.ended) != (record.epoch, record.level, record.ended):
            raise UsageError(
                f"{record.principal} has changed since you were asked; nothing was done",
                evidence=f"it was {record.level.name}, and is {now.level.name}{', ended' if now.ended else ''}",
                fix="look at it again, then decide again",
            )
    _tell(options, await doing(record.principal))
    return exit_codes.OK


async def _agreed(record: SessionRecord, question: str, deed: str) -> bool:
    from bascule.cli.prompts.confirm import consent_at_the_terminal  # noqa: PLC0415 -- as above

    consent = consent_at_the_terminal(sys.stdin, sys.stderr)
    if consent is None:
        raise UsageError(
            f"`bascule sessions {deed}` asks before it does anything, and nobody can be asked here",
            fix="run it at a terminal, or with --yes",
        )
    print(legible(plainly(record)), file=sys.stderr)
    return await consent.agrees(question)


def _tell(options: argparse.Namespace, deed: "Deed") -> None:
    print(json_line(deed_shape(deed)) if options.json else fitting(deed_text(deed)))


def _principal(options: argparse.Namespace) -> Principal:
    if options.user is None or options.session is None:
        raise UsageError(
            f"`bascule sessions {options.deed}` needs to know which agent session",
            fix="pass --user ID and --session ID",
        )
    return Principal(options.user, options.session)


async def _wanted(options: argparse.Namespace, kept: Kept) -> SessionRecord:
    """What is kept of the one that is named. Raises where there is none."""
    principal, records = _principal(options), await kept.sessions()
    record = next((record for record in records if record.principal == principal), None)
    if record is None:
        hint = _did_you_mean(principal, [each.principal for each in records])
        raise UsageError(
            f"there is no agent session {principal}{hint}", fix="`bascule sessions` lists those that there are"
        )
    return record


def _did_you_mean(principal: Principal, known: Iterable[Principal]) -> str:
    nearest = nearest_names(str(principal), sorted(map(str, known)))
    return f"; did you mean {' or '.join(nearest)}?" if nearest else ""


_LOOKS = {None: _list, "show": _show}
_DEEDS = {"raise": _raise, "declassify": _declassify, "end": _end}
