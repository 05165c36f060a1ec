"""The command as a person and as a script meet it."""

import asyncio
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command import BASCULE, bascule, started
from support.runtime import a_tool
from support.scenarios import entry, write_mcp_json, write_yaml
from support.waiting import fail_after

GREET = a_tool("greet", {"properties": {"name": {"type": "string"}}, "required": ["name"]}, description="Say hello.")
ODD = {"name": "odd", "inputSchema": {"type": "array"}}
AS_ADA = ("--user", "ada", "--session", "s-1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A config with one good server and one that dies."""
    tools = json.dumps([GREET, a_tool("act"), ODD])
    servers = {"work": entry("obeying", tmp_path / "log", tools), "dies": entry("failing", 1, "no database")}
    write_mcp_json(tmp_path, servers)
    return tmp_path


@pytest.mark.requirement("UX-4")
@pytest.mark.parametrize(
    ("words", "packages"),
    [
        (("--help",), set[str]()),
        (("--version",), set[str]()),
        # The help of one command imports the module of that command, which has its options and its code.
        (("list", "--help"), {"msgspec", "typing_extensions"}),
        (("call", "--help"), {"msgspec", "typing_extensions"}),
    ],
    ids=["all", "version", "list", "call"],
)
async def test_help_loads_no_package_but_msgspec(words: tuple[str, ...], packages: set[str]):
    async def imported(*argv: object) -> set[str]:
        process = await asyncio.create_subprocess_exec(
            *map(str, argv),
            env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, told = await process.communicate()
        assert process.returncode == 0
        return {line.rpartition("|")[2].strip().partition(".")[0] for line in told.decode().splitlines()}

    async with fail_after(20):
        loaded = await imported(BASCULE, *words) - await imported(sys.executable, "-c", "pass")
    # `copy` tries to import `org`, which is no package.
    assert loaded - sys.stdlib_module_names - {"org"} == {"bascule", *packages}
    assert "asyncio" not in loaded


@pytest.mark.requirement("UX-4")
async def test_help_costs_less_than_a_fifth_of_a_second(tmp_path: Path):
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    costs: list[float] = []
    for _ in range(5):
        before = spent()
        assert "COMMAND" in (await bascule(tmp_path, "--help", anew=True)).out
        costs.append(spent() - before)
    assert min(costs) < 0.2


@pytest.mark.requirement("UX-2")
@pytest.mark.long
async def test_every_command_says_what_it_does_and_shows_an_example(tmp_path: Path):
    overview = (await bascule(tmp_path, "--help")).out

    assert "exit codes: 0 ok · 1 the tool failed · 2 config or usage" in overview
    for command in ("list", "call", "inspect", "doctor", "up", "logs", "sessions"):
        assert f"\n  {command} " in overview
        assert f"examples:\n  bascule {command}" in (await bascule(tmp_path, command, "--help")).out


@pytest.mark.requirement("UX-2")
async def test_list_shows_a_row_per_server_and_its_tools(folder: Path):
    ran = await bascule(folder, "list", *AS_ADA)

    assert ran.code == 0
    assert "work                ready" in ran.out
    assert "  work_greet                               Say hello." in ran.out
    assert "dies                failed" in ran.out
    assert "no database" in ran.out
    assert "work_odd" in ran.out
    assert "2 tools on 1 of 2 servers" in ran.out


@pytest.mark.requirement("UX-2")
async def test_list_as_json_has_its_documented_shape(folder: Path):
    ran = await bascule(folder, "list", "--json", *AS_ADA)
    servers = {server["name"]: server for server in ran.json["servers"]}
    tools = {tool["name"]: tool for tool in ran.json["tools"]}

    assert ran.json.keys() == {"servers", "tools"}
    assert servers["work"].keys() == {"name", "transport", "state", "era", "tools", "ms", "error"}
    assert (servers["work"]["era"], servers["work"]["error"]) == ("2026-07-28", None)
    assert (servers["dies"]["era"], servers["dies"]["tools"]) == (None, 0)
    assert servers["dies"]["error"].keys() == {"code", "message", "evidence", "fix"}
    assert tools["work_greet"].keys() == {
        "name",
        "server",
        "tool",
        "permissions",
        "digest",
        "description",
        "status",
        "problem",
        "findings",
    }
    assert tools["work_greet"]["permissions"] == ["connect", "write"]
    assert tools["work_greet"]["status"] == "exposed"


@pytest.mark.requirement("UX-2")
async def test_a_call_prints_the_result_alone_on_stdout(folder: Path):
    said = json.dumps({"content": [{"type": "text", "text": "hello"}]})
    ran = await bascule(folder, "call", "work_act", f"result:={said}")

    assert (ran.code, ran.out) == (0, "hello\n")
    assert "acting as user" in ran.err
    assert "session cli" in ran.err
    assert (await bascule(folder, "call", "work_act", *AS_ADA)).err == ""


@pytest.mark.requirement("UX-2")
async def test_a_call_as_json_has_its_documented_shape(folder: Path):
    good = await bascule(folder, "call", "work_greet", "name=Ada", "--json")
    bad = await bascule(folder, "call", "work_greet", "--json")

    assert good.json.keys() == {"ok", "text", "structured", "server", "tool", "lane", "ms", "steps"}
    assert bad.json.keys() == {"ok", "kind", "code", "message", "tool_code", "retriable", "fix"}
    assert (good.json["ok"], bad.json["ok"]) == (True, False)


ENDINGS: dict[str, tuple[int, tuple[str, ...]]] = {
    "good": (0, ("work_greet", "name=Ada")),
    "tool error": (1, ("work_act", 'result:={"isError": true, "content": []}')),
    "timeout": (1, ("work_act", "silent:=true", "--timeout", "0.2")),
    "nonsense": (1, ("work_act", 'result:={"content": 7}')),
    "wrong arguments": (2, ("work_greet", "name:=7")),
    "unknown tool": (2, ("work_gret",)),
    "not a pair": (2, ("work_greet", "Ada")),
    "not reachable": (3, ("dies_any",)),
    "denied": (4, ("work_odd",)),
}


@pytest.mark.requirement("UX-2")
@pytest.mark.parametrize("name", ENDINGS)
async def test_the_exit_code_says_how_a_call_ended(folder: Path, name: str):
    code, words = ENDINGS[name]
    ran = await bascule(folder, "call", *words)

    assert ran.code == code, ran.err
    assert bool(ran.out) == (code == 0)
    assert "Traceback" not in ran.err


@pytest.mark.requirement("UX-2")
async def test_an_interrupted_call_ends_with_130_and_leaves_nothing(folder: Path):
    os.mkfifo(folder / "log")  # what the server writes down can so be waited for
    async with fail_after(30), started(folder, "call", "work_act", "silent:=true") as process:
        log = await asyncio.to_thread((folder / "log").open)
        with log:
            await asyncio.to_thread(lambda: any('"tools/call"' in line for line in log))
            process.send_signal(signal.SIGINT)
            _, told = await process.communicate()

    assert process.returncode == 130
    assert b"aborted" in told
    assert b"Traceback" not in told


@pytest.mark.requirement("UX-2")
@pytest.mark.long
async def test_inspect_tells_all_that_is_known_of_a_tool_or_a_server(folder: Path):
    tool = (await bascule(folder, "inspect", "work_greet", "--json")).json
    server = (await bascule(folder, "inspect", "work", "--json")).json
    broken = await bascule(folder, "inspect", "dies")
    neither = await bascule(folder, "inspect", "work_gret")

    assert tool["input_schema"] == GREET["inputSchema"]
    assert tool["signature"] == "greet(name: string)"
    assert tool["digest"].startswith("sha256:")
    assert (server["state"], server["era"]) == ("ready", "2026-07-28")
    assert [(t["name"], t["status"]) for t in server["tools"]][-1] == ("work_odd", "unusable")
    assert broken.code == 3
    assert "no database" in broken.out
    assert neither.code == 2
    assert "work_greet" in neither.err


@pytest.mark.requirement("UX-2")
async def test_doctor_checks_everything_and_says_what_to_mend(folder: Path):
    ran = await bascule(folder, "doctor", "--json")
    checks = {check["subject"]: check for check in ran.json["checks"]}

    assert (ran.code, ran.json["ok"]) == (3, False)
    assert {subject: check["status"] for subject, check in checks.items()} == {
        "config": "ok",
        "disk": "ok",
        "state": "ok",
        "level key": "ok",
        "levels": "ok",
        "runtimes": "ok",
        "audit": "ok",
        "sandbox": "warn",
        "server work": "ok",
        "tool work_odd": "warn",
        "footing work": "ok",
        "server dies": "fail",
        "footing dies": "ok",
        "lock": "ok",
        "processes": "ok",
        "gateway": "ok",
        "dashboard": "ok",
    }
    assert "no database" in checks["server dies"]["evidence"]
    assert checks["server dies"]["fix"]


@pytest.mark.requirement("UX-2", "CAT-4")
@pytest.mark.long
async def test_doctor_tells_what_changed_since_the_last_run(tmp_path: Path):
    for description in ("before", "after"):
        tools = json.dumps([a_tool("act", description=description)])
        write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", tools)})
        ran = await bascule(tmp_path, "doctor")
        assert ran.code == 0
        assert ("since the last run: changed: act" in ran.out) == (description == "after")


@pytest.mark.requirement("UX-3")
@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({"command": "no-such-program"}, ("command not found: no-such-program", "PATH=", "install no-such-program")),
        (entry("failing", 3, "no database"), ("exited with code 3", "no database", "run its command in a terminal")),
        (
            {"url": "http://127.0.0.1:9/mcp"},
            ("no connection to http://127.0.0.1:9/mcp", "Connect call failed", "check host"),
        ),
        (entry("echo", env={"T": "${SURELY_NOT_SET}"}), ("work.env.T", "SURELY_NOT_SET is not set", "set SURELY_NOT")),
    ],
    ids=["missing", "dies", "refuses", "unset"],
)
async def test_an_error_says_what_failed_the_evidence_and_the_fix(
    tmp_path: Path, described: dict[str, Any], told: tuple[str, ...]
):
    write_mcp_json(tmp_path, {"work": described})
    commands = (("list",), ("call", "work_any"), ("doctor",))
    for ran in await asyncio.gather(*(bascule(tmp_path, *command) for command in commands)):
        said = ran.out + ran.err
        for part in (*told, "BSC-", "fix:"):
            assert part in said, said


@pytest.mark.requirement("UX-3")
async def test_without_a_config_it_is_said_where_one_was_looked_for(tmp_path: Path):
    ran = await bascule(tmp_path, "list")

    assert ran.code == 2
    for part in ("no configuration found", str(tmp_path), ".mcp.json", "BASCULE_CONFIG", "fix:"):
        assert part in ran.err
