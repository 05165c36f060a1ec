"""`bascule approve`: review of new and changed tools by a person, and their pinning in `bascule.lock`."""

import argparse
import signal
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from bascule.catalog.pinning.lock import LOCK_NAME, Lock
from bascule.cli import exit_codes
from bascule.cli.json_output.listings import ApproveShape, ReviewShape
from bascule.cli.output.errors import as_json, explain, finding_shapes, json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common
from bascule.cli.prompts.elicit import YES
from bascule.cli.session import agent_session, read_config
from bascule.core.errors import BasculeError, UsageError

if TYPE_CHECKING:
    from bascule.catalog.approval import Proposal
    from bascule.config.model.runtime_config import RuntimeConfig
    from bascule.runtime.session import AgentSession

_TITLES = {"new": "+ {} (new)", "changed": "~ {} (changed)", "removed": "- {} (no longer listed)"}


@dataclass(slots=True)
class Review:
    """One server, and what there is to approve of it."""

    server: str
    locked: bool
    """Whether it was in the lock before."""
    proposals: "tuple[Proposal, ...]" = ()
    others: int = 0
    """Proposals that nobody asked for."""
    error: BasculeError | None = None
    approved: bool = False

    @property
    def waits(self) -> bool:
        """Whether approving it would change the lock."""
        return self.error is None and (bool(self.proposals) or (not self.locked and not self.others))


_EXAMPLES = """\
  bascule approve files  shows every tool of the server, asks, and locks it in bascule.lock
  bascule approve  the same for what is new or changed at the servers that are locked
  bascule approve files/read_text_file  one tool only, by the server's own name for it
  bascule approve --all --yes  every server, without a question
  bascule approve --json  what waits for approval; exits with 2 if anything does"""


def add_options(command: Parser) -> None:
    exits = {
        2: "something waits for approval, and nobody could be asked",
        3: "a server cannot be reached",
        4: "a person was asked, and said no",
    }
    add_common(command.document(_EXAMPLES, exits))
    command.add_argument("names", metavar="SERVER[/TOOL]", nargs="*", help="default: the servers that are locked")
    command.add_argument("--all", action="store_true", help="every server of the config")
    command.add_argument("--yes", action="store_true", help="approve without asking; needed where nobody can be asked")


async def run(options: argparse.Namespace) -> int:
    import asyncio  # noqa: PLC0415 -- slow, and not for the options

    from bascule.runtime.servers.lock import approve, lock_path  # noqa: PLC0415

    config = read_config(options)
    path = lock_path(config.path)
    assert path is not None
    # What is to be approved is held against the lock also where the config does not.
    locked = replace(config, lock="auto") if config.lock == "off" else config
    # All servers are let go before anyone is asked: a person takes their time.
    async with agent_session(options, config=locked) as session:
        wanted = chosen(options, config, await _lock_of(session))
        await asyncio.gather(*map(session.settle, wanted))
        reviews = [await review(session, server, tools) for server, tools in wanted.items()]
    if not options.json:
        show(reviews, sys.stdout)
        sys.stdout.flush()
    asked = _somebody_is_there(options)
    with _interruptible():
        _decide(reviews, yes=options.yes, asked=asked)
    accepted = [each for each in reviews if each.approved]
    if accepted:
        agreed = [proposal for each in accepted for proposal in each.proposals]
        await asyncio.to_thread(approve, path, [each.server for each in accepted], agreed)
    if options.json:
        print(json_line(as_shape(reviews, str(path))))
    else:
        _tell(reviews, str(path), config, asked=asked)
    return _code(reviews, asked=asked)


async def _lock_of(session: "AgentSession") -> Lock:
    await session.look_at_lock()
    if session.lock.trouble is not None:
        raise session.lock.trouble
    return session.lock


def chosen(options: argparse.Namespace, config: "RuntimeConfig", lock: Lock) -> dict[str, frozenset[str] | None]:
    """By server: the tools that were named, or None for all of them."""
    if options.all or not options.names:
        names = [name for name in config.servers if options.all or name in lock.servers]
        if not names:
            told = f"there is no {LOCK_NAME} yet, or no server of this config is in it"
            raise UsageError(told, fix="name a server, or approve all of them with --all")
        return dict.fromkeys(names)
    wanted: dict[str, frozenset[str] | None] = {}
    for name in options.names:
        server, slash, tool = name.partition("/")
        if server not in config.servers:
            raise UsageError(f"no server is called {server[:80]!r}", fix=f"it is one of {', '.join(config.servers)}")
        before = wanted.get(server, frozenset[str]())
        wanted[server] = before | {tool} if slash and before is not None else None
    return wanted


async def review(session: "AgentSession", server: str, tools: frozenset[str] | None) -> Review:
    """Link to a server, and hold what it lists against the lock."""
    from bascule.catalog.approval import proposals  # noqa: PLC0415 -- slow, and not for the options

    report = await session.settle(server)
    # What it is held against may have been approved by another process meanwhile.
    await session.look_at_lock()
    locked = server in session.lock.servers
    if report.error is not None:
        return Review(server, locked, error=report.error)
    entries = session.entries(server)
    found = proposals(server, entries, session.lock)
    if tools is None:
        return Review(server, locked, found)
    known = entries.keys() | session.lock.servers.get(server, {}).keys()
    unknown = sorted(tools - known)
    if unknown:
        fix = f"`bascule inspect {server}` shows its tools; here they go by the server's own names"
        raise UsageError(f"{server} has no tool {unknown[0][:80]!r}", fix=fix)
    mine = tuple(proposal for proposal in found if proposal.key.tool in tools)
    return Review(server, locked, mine, len(found) - len(mine))


def show(reviews: Iterable[Review], writing: TextIO) -> None:
    for each in reviews:
        print(file=writing)
        if each.error is not None:
            told = "it stays in the lock as it is" if each.locked else "it is not in the lock"
            print(f"{each.server}: cannot be reached, {told}\n{explain(each.error)}", file=writing)
            continue
        state = "locked" if each.locked else "not locked yet"
        print(f"{each.server} ({state}): {len(each.proposals) or 'nothing'} to approve", file=writing)
        for proposal in each.proposals:
            print(legible("\n".join(_lines(proposal))), file=writing)
        if not each.locked and each.others:
            told = f"its other {each.others} tools are kept from agents once it is locked, until they are approved too"
            print(f"  note: {told}", file=writing)


def _lines(proposal: "Proposal") -> Iterable[str]:
    yield f"  {_TITLES[proposal.change].format(proposal.key)}"
    yield from (f"      {line}" for line in proposal.diff())
    yield from (f"    ! {finding}" for finding in proposal.findings)


def _decide(reviews: Iterable[Review], *, yes: bool, asked: bool) -> None:
    for each in reviews:
        if each.waits:
            each.approved = yes or (asked and agrees(f"approve {_what(each)}?", sys.stdin, sys.stderr))


@contextmanager
def _interruptible() -> Generator[None]:
    """Ctrl-C ends a wait for a line at once. asyncio would first wait for the line."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _what(each: Review) -> str:
    return f"these {len(each.proposals)} of {each.server}" if each.proposals else f"{each.server} as it is"


def agrees(question: str, reading: TextIO, writing: TextIO) -> bool:
    """Whether a person says yes. Anything else is a no."""
    writing.write(f"\n{question} [y/N] ")
    writing.flush()
    return reading.readline().strip().lower() in YES


def _somebody_is_there(options: argparse.Namespace) -> bool:
    return not options.json and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def _tell(reviews: list[Review], path: str, config: "RuntimeConfig", *, asked: bool) -> None:
    accepted = [each for each in reviews if each.approved]
    if accepted:
        tools = sum(len(each.proposals) for each in accepted)
        print(f"\napproved {tools} changes of {', '.join(each.server for each in accepted)} in {path}")
        if config.lock == "off":
            print("note: `catalog.lock` is off in this config, so nothing is held against it", file=sys.stderr)
    left = [each.server for each in reviews if each.waits and not each.approved]
    if left:
        why = "" if asked else "; there is no terminal to ask at, so --yes has to say that you have looked"
        print(f"\nnot approved: {', '.join(left)}{why}", file=sys.stderr)


def _code(reviews: list[Review], *, asked: bool) -> int:
    if any(each.waits and not each.approved for each in reviews):
        return exit_codes.DENIED if asked else exit_codes.USAGE
    return exit_codes.UNREACHABLE if any(each.error is not None for each in reviews) else exit_codes.OK


def as_shape(reviews: Iterable[Review], path: str) -> ApproveShape:
    """In its documented JSON shape."""
    shapes: list[ReviewShape] = [
        {
            "name": each.server,
            "locked": each.locked or each.approved,
            "approved": each.approved,
            "waits": each.waits and not each.approved,
            "error": as_json(each.error) if each.error is not None else None,
            "tools": [
                {
                    "tool": proposal.key.tool,
                    "change": proposal.change,
                    "digest": proposal.after.digest if proposal.after is not None else None,
                    "diff": list(proposal.diff()),
                    "findings": finding_shapes(proposal.findings),
                }
                for proposal in each.proposals
            ],
        }
        for each in reviews
    ]
    ok = all(each.error is None and not (each.waits and not each.approved) for each in reviews)
    return {"ok": ok, "lock": path, "servers": shapes}
