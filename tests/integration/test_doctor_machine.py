"""Doctor on the machine itself: a port that somebody else has, no Docker, a full disk, a folder that is not ours; and
set-ups in which nothing is wrong. The port, the sockets and the disk are real."""

import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.bwrap import skip_without_bubblewrap
from support.command import BASCULE, Ran, bascule, environment, started
from support.docker import reached
from support.doctor import HOME, Seen, all_in_order, doctor, on_the_page, seen
from support.http_servers import socket_file
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.servers import argv
from support.tokens import SECRET as TOKEN_SECRET
from support.waiting import fail_after, until

LISTEN = (
    "import socket, sys\nwith socket.create_server(('127.0.0.1', 0)) as s:\n"
    " print(s.getsockname()[1], flush=True)\n sys.stdin.read()\n"
)

AS_ADA = ("--user", "ada", "--session", "s-1")


@asynccontextmanager
async def another_program(folder: Path) -> AsyncGenerator[tuple[asyncio.subprocess.Process, int]]:
    """A process that listens at a port, until its block ends."""
    script = folder / "somebody.py"
    script.write_text(LISTEN)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, str(script), stdin=pipe, stdout=pipe)
    try:
        assert process.stdout is not None
        async with fail_after(20):
            yield process, int(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.long
async def test_a_port_that_is_taken_by_another_program(tmp_path: Path):
    async with another_program(tmp_path) as (other, port):
        write_yaml(tmp_path, {"notes": entry("echo")}, gateway={"port": port})
        found = await doctor(tmp_path)
        (check,) = found.problems
        free = re.search(r"`gateway\.port: (\d+)`, which is free", check.fix)

        assert (found.code, check.subject, check.status) == (3, "gateway", "fail")
        assert check.message == f"port {port} is taken by another program"
        assert re.fullmatch(
            rf"process {other.pid} \(python\S* somebody\.py\) listens at 127.0.0.1:{port}", check.evidence
        )
        assert f"`kill {other.pid}`" in check.fix
        assert free is not None
        named = check.evidence.partition("(")[2].partition(" ")[0]
        names = {str(port): "8470", free[1]: "8471", str(other.pid): "4242", named: "python3"}
        on_the_page("A port that is taken", found, names)
        write_yaml(tmp_path, {"notes": entry("echo")}, gateway={"port": int(free[1])})
        assert all_in_order(await doctor(tmp_path))
    write_yaml(tmp_path, {"notes": entry("echo")}, gateway={"port": port})
    assert all_in_order(await doctor(tmp_path))


@pytest.mark.long
async def test_a_gateway_of_ours_that_serves_already_is_in_order(tmp_path: Path):
    port = free_port()
    write_yaml(tmp_path, {"notes": entry("echo")}, gateway={"port": port})
    async with started(tmp_path, "serve", "--dev", anew=True) as serving, fail_after(60):

        def listens() -> bool:
            with socket.socket() as asking:
                return asking.connect_ex(("127.0.0.1", port)) == 0

        await until(listens)
        found = await doctor(tmp_path)

        assert all_in_order(found)
        assert f"already: process {serving.pid} (" in found.of("gateway").message


@pytest.mark.long
async def test_the_page_of_the_metrics_and_the_collector_are_tried(tmp_path: Path):
    async with another_program(tmp_path) as (_, port):
        nobody = f"http://127.0.0.1:{free_port()}"
        write_yaml(tmp_path, {}, telemetry={"prometheus": f"127.0.0.1:{port}", "otlp": nobody})
        found = await doctor(tmp_path)

        assert [(check.subject, check.status) for check in found.problems] == [
            ("telemetry", "warn"),
            ("telemetry", "fail"),
        ]
        assert found.problems[0].message.startswith(f"no collector listens at {nobody}")
        assert found.problems[1].message == f"port {port} is taken by another program"
        # That somebody listens is all that is asked of a collector.
        told = {"prometheus": f"127.0.0.1:{free_port()}", "otlp": f"http://127.0.0.1:{port}"}
        write_yaml(tmp_path, {}, telemetry=told)
        assert all_in_order(await doctor(tmp_path))


def containing(folder: Path, container: str = "box-1") -> None:
    command, *args = argv("echo")
    write_yaml(folder, {"notes": {"container": container, "command": command, "args": args}})


async def without_powers(folder: Path, *words: str, **env: str) -> Ran:
    """The command by a root who may not overlook what files allow."""
    powers = "-dac_override,-dac_read_search,-fowner"
    process = await asyncio.create_subprocess_exec(
        *("setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}", "--", BASCULE, *words),
        cwd=folder,
        env=environment(folder, env),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with fail_after(60):
        out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


def only(found: Seen) -> tuple[str, str, str]:
    (check,) = found.problems
    assert (found.code, check.subject, check.status) == (3, "server notes", "fail")
    return check.message, check.evidence, check.fix


@pytest.mark.long
async def test_no_docker(tmp_path: Path):
    with socket_file() as path:
        host = f"unix://{path}"
        containing(tmp_path)
        found = await doctor(tmp_path, DOCKER_HOST=host)
        message, evidence, fix = only(found)

        assert f"the container engine at {path} cannot be reached (there is no such socket" in message
        assert "No such file" in evidence
        assert "`sudo systemctl start docker`" in fix
        on_the_page("No Docker", found, {path: "/var/run/docker.sock"})
    with reached() as engine, engine.container() as container:
        containing(tmp_path, container.name)
        assert all_in_order(await doctor(tmp_path, DOCKER_HOST=engine.host))


@pytest.mark.long
async def test_a_docker_that_has_stopped_and_one_that_is_not_for_us(tmp_path: Path):
    with socket_file() as path, socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
        containing(tmp_path)
        assert (
            "(nobody listens at its socket: Docker has stopped)"
            in only(await doctor(tmp_path, DOCKER_HOST=f"unix://{path}"))[0]
        )

        left.listen()
        Path(path).chmod(0o000)
        message, evidence, fix = only(
            seen(await without_powers(tmp_path, "doctor", "--json", *AS_ADA, DOCKER_HOST=f"unix://{path}"))
        )
        assert "(this user may not use its socket)" in message
        assert "Permission denied" in evidence
        assert "`sudo usermod -aG docker $USER`" in fix


async def test_a_box_by_docker_where_there_is_none(tmp_path: Path):
    with socket_file() as path:
        env = {"DOCKER_HOST": f"unix://{path}", "BASCULE_SANDBOX": "docker"}
        write_yaml(tmp_path, {"notes": entry("echo", sandbox={"engine": "docker"})})
        message, evidence, fix = only(await doctor(tmp_path, **env))

        assert "no docker box can be made here" in message
        assert f"docker: the container engine at {path} cannot be reached" in evidence
        assert "`sandbox: none`" in fix
        write_yaml(tmp_path, {"notes": entry("echo", sandbox="none")})
        assert (await doctor(tmp_path, **env)).ok


FULL = """
set -e
mount -t tmpfs -o size=64m none "$DISK"
mkdir "$DISK/state"
chmod 700 "$DISK/state"
head -c 100m /dev/zero >"$DISK/filler" 2>/dev/null || true
"$@" || true
BASCULE_HOME="$ELSEWHERE" "$@" || true
rm "$DISK/filler"
"$@"
"""


@pytest.mark.long
async def test_a_disk_that_is_full(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("a small disk needs root")
    write_yaml(tmp_path, {"notes": entry("echo")})
    disk = tmp_path / "disk"
    disk.mkdir()
    env = {"DISK": str(disk), "BASCULE_HOME": str(disk / "state"), "ELSEWHERE": str(tmp_path / "elsewhere")}
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--mount", "sh", "-c", FULL, "sh", BASCULE, "doctor", "--json", *AS_ADA),
        cwd=tmp_path,
        env=environment(tmp_path, env),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with fail_after(90):
        out, err = await process.communicate()
    full, elsewhere, mended = (json.loads(line) for line in out.decode().splitlines())
    found = seen(Ran(3, json.dumps(full), err.decode()))
    (check,) = found.problems

    assert (check.subject, check.status) == ("disk", "fail")
    assert check.message == "the disk for the state is full"
    assert check.evidence == f"0 B of 64 MiB are free at {disk}/state"
    assert "BASCULE_HOME" in check.fix
    on_the_page("A disk that is full", found, {str(tmp_path): HOME})
    for after in (elsewhere, mended):
        assert all_in_order(seen(Ran(0, json.dumps(after), "")))


@pytest.mark.long
async def test_a_state_folder_that_is_not_ours_to_write(tmp_path: Path):
    write_yaml(tmp_path, {"notes": entry("echo")})
    state = tmp_path / "state"
    state.mkdir(mode=0o500)
    found = seen(await without_powers(tmp_path, "doctor", "--json", *AS_ADA))
    (check,) = found.problems

    assert (found.code, check.subject, check.status) == (3, "state", "fail")
    assert "mode 0500" in check.evidence
    assert check.fix == f"run `chmod 700 {state}`"
    on_the_page("A state folder that is not ours to write", found, {str(tmp_path): HOME})
    state.chmod(0o700)
    assert all_in_order(seen(await without_powers(tmp_path, "doctor", "--json", *AS_ADA)))


async def test_a_state_folder_that_others_can_look_into_is_worth_a_word(tmp_path: Path):
    write_yaml(tmp_path, {"notes": entry("echo")})
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o755)
    (check,) = (await doctor(tmp_path)).problems

    assert (check.subject, check.status) == ("state", "warn")
    assert check.fix == f"run `chmod 700 {tmp_path}/state`"


@pytest.mark.long
async def test_nothing_is_wrong_with_a_set_up_that_has_one_of_everything(tmp_path: Path):
    skip_without_bubblewrap()
    (tmp_path / "state").mkdir(mode=0o700)
    keys = [{"algorithm": "HS256", "secret": "${KEY}"}]
    write_yaml(
        tmp_path,
        {"notes": entry("echo"), "data": {"type": "server", "target": "server.py", "port": free_port()}},
        gateway={"port": free_port(), "auth": {"keys": keys, "issuer": "https://i.test", "audience": "bascule"}},
        telemetry={"prometheus": f"127.0.0.1:{free_port()}"},
        workspace={"root": str(tmp_path / "workspaces")},
    )
    (tmp_path / "server.py").write_text("")
    found = await doctor(tmp_path, KEY=TOKEN_SECRET, BASCULE_SANDBOX="bubblewrap")

    assert [check for check in found.checks if check.status != "ok"] == []
    assert {check.subject for check in found.checks} >= {
        "config", "state", "disk", "levels", "audit", "lock", "sandbox", "server notes", "box notes", "sealed notes",
        "gateway", "gateway keys", "port data", "telemetry",
    }  # fmt: skip
    assert "all is well" in (await bascule(tmp_path, "doctor", env={"KEY": TOKEN_SECRET})).out


async def test_doctor_changes_neither_the_config_nor_the_lock_nor_a_workspace(tmp_path: Path):
    write_yaml(tmp_path, {"notes": entry("echo")}, workspace={"root": str(tmp_path / "workspaces")})
    assert (await bascule(tmp_path, "approve", "notes", "--yes")).code == 0

    def files() -> dict[str, bytes]:
        found = [path for path in tmp_path.rglob("*") if path.is_file() and "state" not in path.parts]
        return {str(path): path.read_bytes() for path in found}

    before = files()
    assert all_in_order(await doctor(tmp_path))
    assert files() == before
