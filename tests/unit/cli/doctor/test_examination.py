"""All health checks of a config, in order."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.catalog.pinning.lock import Lock
from bascule.cli.doctor.check import Check
from bascule.cli.doctor.examination import process_check
from bascule.cli.doctor.levels import lock_checks
from bascule.cli.doctor.report import lines
from bascule.cli.doctor.servers import SHOWN, server_checks
from bascule.config.model.runtime_config import Locking, RuntimeConfig
from bascule.core.errors import ConfigError, ConnectFailed
from bascule.core.events import CatalogChanged
from bascule.core.finding import Finding, FindingKind
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.sandbox.process.fork_server import Reach
from bascule.upstream.settings import Agreement
from bascule.upstream.state import LinkState
from support.command import bascule
from support.servers import SERVERS

AGREED = Agreement("2026-07-28", {}, {}, "")


def write(folder: Path, servers: object) -> None:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def test_a_good_server_is_one_check():
    report = ServerReport("files", "stdio", LinkState.READY, agreement=AGREED, tools=3, seconds=0.25)
    assert list(server_checks(report, ())) == [
        Check("server files", "ok", "3 tools, protocol 2026-07-28, 250 ms"),
    ]


def test_a_failed_server_says_why_and_what_to_do():
    error = ConnectFailed("it exited", evidence="boom", fix="mend it")
    checks = list(server_checks(ServerReport("files", "stdio", LinkState.FAILED, error=error), ()))
    assert checks == [Check("server files", "fail", "BSC-401 it exited", "boom", "mend it")]


def test_what_is_odd_is_a_warning():
    change = CatalogChanged("files", ("new",), ("read",), ("old",), 1.0)
    report = ServerReport("files", "stdio", LinkState.DEGRADED, "1 of its tools cannot be used", AGREED, change=change)
    spec = ToolSpec("files_x", ToolKey("files", "x"), "d", status=ToolStatus.UNUSABLE, problem="too costly")
    other = ToolSpec("notes_x", ToolKey("notes", "x"), "d", status=ToolStatus.UNUSABLE, problem="not ours")
    checks = list(server_checks(report, (spec, other)))
    assert [check.status for check in checks] == ["warn", "warn", "warn"]
    assert checks[1].message == "unusable: too costly"
    assert checks[2].message == "since the last run: new: new; changed: read; gone: old"


def test_evidence_of_many_lines_stays_readable():
    assert list(lines(Check("x", "fail", "bad", "one\ntwo", "mend")))[1:] == [
        "    evidence: one",
        "    evidence: two",
        "    fix:      mend",
    ]


async def test_all_is_well_with_a_good_server(tmp_path: Path):
    write(tmp_path, {"echo": {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}})
    ran = await bascule(tmp_path, "doctor", "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    levels = ["disk", "state", "level key", "levels", "runtimes", "audit", "sandbox"]
    subjects = ["config", *levels, "server echo", "footing echo", "lock", "processes", "gateway", "dashboard"]
    assert [check["subject"] for check in ran.json["checks"]] == subjects
    assert "all is well" in (await bascule(tmp_path, "doctor")).out


@pytest.mark.parametrize(("reached", "status"), [("tree", "ok"), ("group", "warn"), ("group while we live", "warn")])
def test_what_the_end_of_a_server_does_not_reach_is_a_warning_with_a_remedy(reached: Reach, status: str):
    check = process_check(reached, "why")

    assert (check.subject, check.status) == ("processes", status)
    assert bool(check.fix) == (status == "warn")


async def test_a_state_folder_that_cannot_be_written_is_told(tmp_path: Path):
    write(tmp_path, {})
    (tmp_path / "state").write_text("a file in the way")
    ran = await bascule(tmp_path, "doctor", "--json")
    assert ran.code == 3
    (told,) = (check for check in ran.json["checks"] if check["status"] == "fail")
    assert told["subject"] == "state"
    assert "BSC-650" in told["message"]


def test_findings_and_repairs_are_warnings_with_their_evidence():
    finding = Finding(FindingKind.BIDI, "description", "U+202E")
    report = ServerReport(
        "files", "stdio", LinkState.READY, agreement=AGREED, repairs=("x: mended",), findings=(finding,)
    )
    spec = ToolSpec("files_x", ToolKey("files", "x"), "d", findings=(finding,) * 9)
    _, repaired, said, tool = server_checks(report, (spec,))

    assert (repaired.status, repaired.evidence) == ("warn", "x: mended")
    assert (said.subject, said.evidence) == ("server files", "bidi in description: U+202E")
    assert (tool.subject, tool.status) == ("tool files_x", "warn")
    assert tool.evidence.count("\n") == SHOWN - 1
    assert "bascule inspect files_x" in tool.fix


CONFIG = RuntimeConfig(servers={}, path=Path("bascule.yaml"))
WAITING = ToolSpec("work_act", ToolKey("work", "act"), "d", status=ToolStatus.QUARANTINED)


@pytest.mark.parametrize(
    ("mode", "lock", "statuses", "says"),
    [
        ("off", Lock(), ["ok"], "off"),
        ("auto", Lock(), ["ok"], "no bascule.lock"),
        ("required", Lock(every=True), ["fail"], "required"),
        ("auto", Lock(trouble=ConfigError("broken")), ["fail"], "broken"),
        ("auto", Lock({"work": {}}), ["ok", "warn"], "approves 0 tools of 1 servers"),
        ("auto", Lock({"other": {}}), ["ok"], "approves 0 tools of 1 servers"),
    ],
)
def test_the_lock_is_checked(mode: Locking, lock: Lock, statuses: list[str], says: str):
    checks = [*lock_checks(replace(CONFIG, lock=mode), lock, (WAITING,))]

    assert [check.status for check in checks] == statuses
    assert says in checks[0].message
    assert all(check.fix for check in checks if check.status == "warn")


ME = ("--user", "alice", "--session", "s-1")


async def test_a_private_agent_session_is_no_fault_of_a_server(tmp_path: Path):
    write(tmp_path, {"echo": {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}})
    assert (await bascule(tmp_path, "sessions", "raise", *ME, "--to", "secret")).code == 0
    ran = await bascule(tmp_path, "doctor", "--json", *ME)
    checks = {check["subject"]: check for check in ran.json["checks"]}

    assert ran.code == 0
    assert checks["levels"]["message"] == "1 agent sessions are kept, 1 of them private"
    assert checks["server echo"]["status"] == "warn"
    assert "bascule sessions show --user alice --session s-1" in checks["server echo"]["message"]


async def test_a_twin_that_is_another_server_is_to_mend(tmp_path: Path):
    command, echo = sys.executable, {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}
    log = str(tmp_path / "log")
    other = {"command_isolated": [command, str(SERVERS / "obeying.py"), log]}
    (tmp_path / "bascule.yaml").write_text(json.dumps({"mcp_servers": {"echo": {**echo, **other}}}))
    assert (await bascule(tmp_path, "sessions", "raise", *ME, "--to", "secret")).code == 0
    ran = await bascule(tmp_path, "doctor", "--json", *ME)
    checks = {check["subject"]: check for check in ran.json["checks"]}

    assert (ran.code, checks["server echo"]["status"]) == (3, "fail")
    assert checks["footing echo"]["message"].startswith("confined: its twin is declared (stdio)")


async def test_levels_that_cannot_be_read_leave_out_what_depends_on_them(tmp_path: Path):
    write(tmp_path, {"echo": {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}})
    assert (await bascule(tmp_path, "sessions")).code == 0
    (tmp_path / "state/keys/levels.key").chmod(0o644)
    ran = await bascule(tmp_path, "doctor", "--json")

    assert ran.code == 3
    told = [(check["subject"], check["status"]) for check in ran.json["checks"]]
    kept = [("disk", "ok"), ("state", "ok"), ("level key", "fail"), ("levels", "fail"), ("audit", "ok")]
    assert told == [("config", "ok"), *kept, ("gateway", "ok"), ("dashboard", "ok")]
    assert ran.json["checks"][3]["evidence"] == "mode 0644"
