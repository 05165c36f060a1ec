"""Doctor on what is served and what is written down: the dashboard, servers of our own, programs that print headers, and
the audit log. Each set-up is really broken, and mended as doctor says."""

import json
import subprocess
from pathlib import Path

import pytest

from integration.test_doctor_machine import AS_ADA, without_powers
from support.command import bascule
from support.doctor import HOME, all_in_order, command_in, doctor, on_the_page, seen
from support.guarded import guarded
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.tokens import SECRET

RIGHT = "Bearer right-token"


def served(folder: Path, **top: object) -> None:
    write_yaml(folder, {"notes": entry("echo")}, **top)


async def test_a_token_of_the_dashboard_that_others_can_read(tmp_path: Path):
    served(tmp_path)
    keys = tmp_path / "state" / "keys"
    keys.mkdir(parents=True, mode=0o700)
    (tmp_path / "state").chmod(0o700)
    (keys / "dashboard.token").write_text("a-token-that-nobody-guesses")
    (keys / "dashboard.token").chmod(0o644)
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (found.code, check.subject, check.status) == (3, "dashboard", "fail")
    assert "others" in check.message
    assert "a-token-that" not in str(found.checks)
    on_the_page("A token of the dashboard that others can read", found, {str(tmp_path): HOME})
    subprocess.run(command_in(check.fix), shell=True, check=True)
    assert all_in_order(await doctor(tmp_path))
    assert not (keys / "dashboard.token").exists()


@pytest.mark.long
async def test_a_dashboard_that_can_be_reached_from_elsewhere(tmp_path: Path):
    keys = [{"algorithm": "HS256", "secret": SECRET}]
    auth = {"keys": keys, "issuer": "https://i.test", "audience": "bascule"}
    gateway = {"host": "0.0.0.0", "port": free_port(), "auth": auth}
    served(tmp_path, gateway=gateway)
    found = await doctor(tmp_path)
    (check,) = [each for each in found.problems if each.subject == "dashboard"]

    assert check.status == "warn"
    assert check.evidence == "gateway.host: 0.0.0.0"
    for mended in (
        {"dashboard": {"enabled": False}, "gateway": gateway},
        {"gateway": {**gateway, "host": "127.0.0.1"}},
    ):
        served(tmp_path, **mended)
        assert [each for each in (await doctor(tmp_path)).problems if each.subject == "dashboard"] == []


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["no-such-program"], "`headers_command` gave no headers: command not found: no-such-program"),
        (["echo", "hello there"], "what it printed (12 bytes) is no JSON object of headers"),
        (["sh", "-c", "echo sealed >&2; exit 3"], "it ended with 3"),
        (["sleep", "100"], "longer than"),
    ],
    ids=["missing", "no JSON", "fails", "hangs"],
)
async def test_a_program_that_prints_no_headers(tmp_path: Path, argv: list[str], told: str):
    async with guarded(guard=lambda shown: None if shown == RIGHT else "Bearer") as url:
        write_yaml(tmp_path, {"notes": {"url": url, "headers_command": argv}})
        found = await doctor(tmp_path)
        (check,) = found.problems

        assert (found.code, check.subject, check.status) == (3, "server notes", "fail")
        assert told in check.message
        assert "hello there" not in str(found.checks)
        assert "`command`" not in check.fix
        assert len(check.fix.split()) > 3
        if "exit 3" in argv[-1]:
            on_the_page("A program that prints no headers", found, {})
        (tmp_path / "printed").write_text(json.dumps({"Authorization": RIGHT}))
        write_yaml(tmp_path, {"notes": {"url": url, "headers_command": ["cat", str(tmp_path / "printed")]}})
        assert (await doctor(tmp_path)).ok


async def test_the_file_of_a_server_of_ours_is_not_there(tmp_path: Path):
    write_yaml(tmp_path, {"data": {"type": "server", "target": "sever.py", "port": free_port()}})
    (tmp_path / "server.py").write_text("")
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (found.code, check.subject, check.status) == (3, "server data", "fail")
    assert f"there is no file {tmp_path}/sever.py" in check.message
    assert "correct `target` of data" in check.fix
    on_the_page("A server of yours whose file is not there", found, {str(tmp_path): HOME})
    write_yaml(tmp_path, {"data": {"type": "server", "target": "server.py", "port": free_port()}})
    assert all_in_order(await doctor(tmp_path))


async def test_a_server_of_ours_whose_entry_is_wrong_is_told_as_that(tmp_path: Path):
    write_yaml(tmp_path, {"data": {"type": "server", "target": "${WHERE_IT_IS}"}})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (check.subject, check.status) == ("server data", "fail")
    assert check.message.startswith("BSC-100 ")
    assert "WHERE_IT_IS" in check.fix
    (tmp_path / "server.py").write_text("")
    assert all_in_order(await doctor(tmp_path, WHERE_IT_IS="server.py"))


async def logged(folder: Path) -> Path:
    """A log with some records in it."""
    served(folder)
    assert (await bascule(folder, "call", "notes_echo", "message=hi")).code == 0
    (log,) = (folder / "state" / "audit").glob("*.log")
    return log


@pytest.mark.long
async def test_an_audit_log_that_was_changed(tmp_path: Path):
    log = await logged(tmp_path)
    assert all_in_order(await doctor(tmp_path))
    before = log.read_bytes()
    changed = before.replace(b"notes", b"noten", 1)
    assert changed != before
    log.write_bytes(changed)
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (found.code, check.subject, check.status) == (0, "audit", "warn")
    assert check.message.startswith("the audit log is not what was written")
    verified = await bascule(tmp_path, "audit", "verify")
    assert verified.code == 1
    for line in check.evidence.splitlines():
        assert line in verified.out
    assert command_in(check.fix) == "bascule audit verify"
    on_the_page("An audit log that was changed", found, {str(tmp_path): HOME})


@pytest.mark.long
async def test_an_audit_log_that_is_not_ours_to_write(tmp_path: Path):
    log = await logged(tmp_path)
    log.parent.chmod(0o500)
    found = seen(await without_powers(tmp_path, "doctor", "--json", *AS_ADA))
    (check,) = found.problems

    assert (found.code, check.subject, check.status) == (3, "audit", "fail")
    assert "mode 0500" in check.evidence
    subprocess.run(command_in(check.fix), shell=True, check=True)
    assert all_in_order(seen(await without_powers(tmp_path, "doctor", "--json", *AS_ADA)))
