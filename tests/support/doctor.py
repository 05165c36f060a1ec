"""What `bascule doctor` says of a set-up, and the page that shows it: the one is held against the other."""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bascule.cli.doctor.check import Check
from bascule.cli.doctor.report import screen
from support.command import Ran, bascule

PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"

HOME = "/home/ada/project"
"""What stands on the page in the place of a test's own folder."""

REWRITE = "BASCULE_REWRITE_PAGES"
"""Set, the page is written anew from what doctor says; else it must say that already."""

_SHAPE = msgspec.json.Decoder(list[Check])
_DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


@dataclass(frozen=True)
class Seen:
    """What doctor said."""

    code: int
    ok: bool
    checks: list[Check]

    @property
    def problems(self) -> list[Check]:
        """All that is not in order. That the servers of most tests have no boxes is none of it."""
        return [check for check in self.checks if check.status != "ok" and check.subject != "sandbox"]

    def of(self, subject: str) -> Check:
        """The worst that was said of a subject."""
        return max(
            (check for check in self.checks if check.subject == subject),
            key=lambda check: ("ok", "warn", "fail").index(check.status),
        )


async def doctor(folder: Path, **env: str) -> Seen:
    """Run it as a user does."""
    return seen(await bascule(folder, "doctor", "--json", "--user", "ada", "--session", "s-1", env=env))


def seen(ran: Ran) -> Seen:
    assert ran.code in {0, 2, 3}, ran
    shape = json.loads(ran.out)
    assert shape.keys() == {"ok", "checks"}
    assert all(check.keys() <= {"subject", "status", "message", "evidence", "fix"} for check in shape["checks"])
    checks = _SHAPE.decode(json.dumps(shape["checks"]))
    assert shape["ok"] is (ran.code == 0)
    return Seen(ran.code, shape["ok"], checks)


def all_in_order(found: Seen) -> bool:
    assert found.problems == []
    return found.ok


def command_in(fix: str) -> str:
    """The first command that a remedy names."""
    return fix.split("`")[1]


def on_the_page(title: str, found: Seen, stand_ins: Mapping[str, str]) -> None:
    """Whether the page shows just this below a heading: what was said, with names that are the same on every machine."""
    told = screen([_plain(check, stand_ins) for check in found.problems])
    text = PAGE.read_text()
    head, block, tail = _parts(text, title)
    if os.environ.get(REWRITE):
        PAGE.write_text(f"{head}{told}{tail}")
    else:
        assert block == told, f"write the page anew with {REWRITE}=1"


def _parts(text: str, title: str) -> tuple[str, str, str]:
    start = text.index("```text\n", text.index(f"\n## {title}\n")) + len("```text\n")
    end = text.index("\n```", start)
    return text[:start], text[start:end], text[end:]


def _plain(check: Check, stand_ins: Mapping[str, str]) -> Check:
    names = {**stand_ins, sys.executable: "/usr/bin/python3"}
    dates = iter(("2026-08-03 09:00 UTC", "2026-11-01 09:00 UTC"))

    def plain(text: str) -> str:
        # The longest first: one may hold another.
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, names[name])
        return _DATE.sub(lambda _: next(dates, "2026-11-16 09:00 UTC"), text)

    return Check(check.subject, check.status, plain(check.message), plain(check.evidence), plain(check.fix))
