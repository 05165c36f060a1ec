"""`examples/gateway` in a real engine: two gateways, a database, a server with its twin, and a proxy, as one would run them."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from support.deployment import base_image, postgres_image
from support.docker import ROOT, DockerEngine, engine_of_its_own
from support.ports import free_port
from support.postgres import installed as postgres_installed
from support.tokens import SECRET, claims, token

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples/gateway"
GATEWAYS = ("gateway-1", "gateway-2")
SERVICES = (*GATEWAYS, "records", "records-isolated", "egress", "postgres")
LONGEST = 180
"""Seconds for a gateway to become ready."""

HEALTHY = "health_status: healthy"
PASSWORD = "only-in-the-environment-of-a-test"

ASK = """
import json, sys, urllib.request
port, body, headers = sys.argv[1], sys.argv[2].encode(), json.loads(sys.argv[3])
request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, headers)
try:
    with urllib.request.urlopen(request, timeout=60) as answer:
        print(json.dumps({"status": answer.status, "body": json.load(answer)}))
except urllib.error.HTTPError as error:
    print(json.dumps({"status": error.code, "body": error.read().decode()}))
except OSError as error:
    print(json.dumps({"status": 0, "body": str(error)}))
"""
"""A client without anything of ours."""

HERE: dict[str, Any] = {
    "services": {
        # Somebody on what is the internet to the proxy, whom it may tell, and somebody whom it may not.
        "host": {
            "image": "${BASCULE_IMAGE}",
            "entrypoint": ["python", "-c", "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=80)"],
            "user": "0:0",
            "init": True,
            "working_dir": "/etc/ssl",
            "networks": {"outside": {"aliases": ["allowed.test", "denied.test"]}},
        }
    },
    "networks": {"outside": {"ipam": {"config": [{"subnet": "203.0.113.0/24"}]}}},
}


class Deployment:
    """All its containers."""

    def __init__(self, engine: DockerEngine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.key = ""
        first = free_port(len(GATEWAYS))
        self.ports: dict[str, int] = dict(zip(GATEWAYS, range(first, first + len(GATEWAYS)), strict=True))

    def build(self) -> None:
        self.base = base_image(self.engine)
        self.postgres = postgres_image(self.engine)
        options = ("--file", str(EXAMPLE / "Containerfile"), "--build-arg", f"BASE={self.base}")
        self.engine.build(ROOT, "bascule-gateway", *options)
        (self.folder / "here.yaml").write_text(json.dumps(HERE))

    def compose(self, *words: str) -> str:
        files = ("-f", str(EXAMPLE / "compose.yaml"), "-f", str(self.folder / "here.yaml"))
        told = {
            "DOCKER_HOST": self.engine.host,
            "BASCULE_IMAGE": "bascule-gateway",
            "POSTGRES_IMAGE": self.postgres,
            "POSTGRES_PASSWORD": PASSWORD,
            "TOKEN_SECRET": SECRET,
            "BASCULE_TOKEN_KEY": self.key,
            **{f"PORT_{number}": str(port) for number, port in enumerate(self.ports.values(), 1)},
        }
        argv = ["docker-compose", "--project-name", "deployed", *files, *words]
        ended = subprocess.run(
            argv, env={**os.environ, **told}, capture_output=True, text=True, check=False, timeout=300
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def up(self) -> None:
        self.key = self.compose("run", "--rm", "--no-deps", "-T", "gateway-1", "token", "--key")
        self.compose("up", "--detach", "--no-build")
        for gateway in GATEWAYS:
            self.until_healthy(gateway)

    def until_healthy(self, service: str) -> None:
        """The engine tells when it is, and need not be asked again and again."""
        now = time.time()
        words = ("--since", f"{now:.3f}", "--until", f"{now + LONGEST:.3f}", "--format", "{{.Status}}")
        only = (f"--filter=container=deployed_{service}_1", "--filter=event=health_status")
        argv = ["docker", "--host", self.engine.host, "events", *words, *only]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as events:
            try:
                assert events.stdout is not None
                told = (line.strip() for line in events.stdout)
                healthy = self.state(service, "{{.State.Health.Status}}") == "healthy" or HEALTHY in told
            finally:
                events.kill()
        assert healthy, self.compose("logs", "--tail", "30")

    def state(self, service: str, shown: str) -> str:
        return self.engine.run("inspect", "--format", shown, f"deployed_{service}_1")

    @property
    def apart(self) -> tuple[str, ...]:
        """Runs what follows on the network of the engine, which is not this machine's own."""
        return "nsenter", f"--net=/proc/{self.engine.pid}/ns/net", "--"

    def ask(self, gateway: str, tool: str, *, user: str | None = "alice", **arguments: Any) -> dict[str, Any]:
        """What a client of the gateway is told that has this user's token, or none."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": f"records_{tool}", "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": f"records_{tool}",
        }
        if user is not None:
            headers["Authorization"] = f"Bearer {a_token(user)}"
        argv = [*self.apart, "python3", "-c", ASK, str(self.ports[gateway]), body, json.dumps(headers)]
        ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=90)
        return json.loads(ended.stdout)

    def call(self, gateway: str, tool: str, *, user: str = "alice", **arguments: Any) -> tuple[bool, str]:
        """Whether it went well, and what it says."""
        told = self.ask(gateway, tool, user=user, **arguments)
        assert told["status"] == 200, told
        result = told["body"]["result"]
        return not result.get("isError", False), result["content"][0]["text"]


def a_token(user: str) -> str:
    now = time.time()
    audience = "https://tools.example/mcp"
    return token(claims(aud=audience, sub=user, session_id="s-1", iat=now, exp=now + 600), algorithm="HS256")


@pytest.fixture(scope="module")
def deployed() -> Iterator[Deployment]:
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed (Debian: apt-get install docker-compose)")
    if not postgres_installed():
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with engine_of_its_own() as engine, TemporaryDirectory() as folder:
        made = Deployment(engine, Path(folder))
        made.build()
        try:
            made.up()
            yield made
        finally:
            made.compose("down", "--timeout", "20", "--volumes")
        assert engine.run("ps", "--all", "--quiet") == ""
        assert engine.run("volume", "ls", "--quiet") == ""
        assert "deployed" not in engine.run("network", "ls", "--format", "{{.Name}}")


@pytest.mark.requirement("GTW-1", "GTW-2")
def test_what_one_gateway_has_let_in_holds_at_the_other_and_after_a_restart(deployed: Deployment):
    assert deployed.ask("gateway-1", "container", user=None)["status"] == 401
    assert deployed.call("gateway-1", "container") == (True, "with-a-network")

    assert deployed.call("gateway-1", "salaries")[0]

    for gateway in GATEWAYS:
        assert deployed.call(gateway, "container") == (True, "without-a-network")
        assert deployed.call(gateway, "container", user="bob") == (True, "with-a-network")

    deployed.compose("restart", "gateway-1")
    # The other one serves meanwhile.
    assert deployed.call("gateway-2", "container", user="bob") == (True, "with-a-network")
    deployed.until_healthy("gateway-1")
    assert deployed.call("gateway-1", "container") == (True, "without-a-network")


def test_the_server_reaches_the_hosts_that_are_listed_and_nobody_else(deployed: Deployment):
    ok, page = deployed.call("gateway-2", "visit", user="carol", url="http://allowed.test/")
    assert (ok, "Directory listing" in page) == (True, True), page
    ok, refused = deployed.call("gateway-2", "visit", user="carol", url="http://denied.test/")
    assert (ok, "403" in refused) == (False, True), refused


ALONE = """
import socket, sys
listening = socket.create_server(("0.0.0.0", 0))
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
"""
"""Somebody on the machine of the engine, who listens at every address that it has."""

KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)
except OSError as error:
    print("not reached", error)
"""


def test_the_server_does_not_reach_the_machine_itself(deployed: Deployment):
    shown = "{{(index .IPAM.Config 0).Gateway}}"
    address = deployed.engine.run("network", "inspect", "deployed_inside", "--format", shown)
    argv = [*deployed.apart, "python3", "-c", ALONE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout is not None
        port = listener.stdout.readline().strip()
        told = deployed.engine.run("exec", "deployed_records_1", "python", "-c", KNOCK, address, port)
        listener.kill()
    assert told.startswith("not reached"), told


def test_nobody_is_root_nothing_can_be_written_and_no_secret_is_in_the_image(deployed: Deployment):
    for service in set(SERVICES) - {"postgres"}:
        shown = "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.Privileged}}"
        assert deployed.state(service, shown) == "65532:65532 true [ALL] false"
    baked = deployed.engine.run("history", "--no-trunc", "bascule-gateway")
    baked += deployed.engine.run("inspect", "bascule-gateway")
    assert PASSWORD not in baked
    assert SECRET not in baked
