"""The pair of `examples/pair` in a real engine: one image twice, and the runtime switches to the one without a route."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bascule.identity.jwt.minting import Mint
from support.command import BASCULE
from support.docker import ROOT, DockerEngine, reached, shown_programs
from support.ports import free_port

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples/pair"
USER = 65532
SERVICES = ("records", "records-isolated")
MISSING = "docker-compose is not installed (Debian: apt-get install docker-compose)"

FROM_DOCKERFILE = ("WORKDIR", "USER", "ENTRYPOINT")
"""What of the Dockerfile is not about getting programs, which are this machine's own here."""

LISTENS = "0A"
"""A socket's state, in the kernel's own list."""


class Pair:
    """The two containers, and the folder in which all of it lies."""

    def __init__(self, engine: DockerEngine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.state = folder / "state"
        self.port = free_port()

    def write(self) -> None:
        """The example as it is, but for the port, which may be somebody's."""
        for name in ("compose.yaml", "bascule.yaml", "server.py"):
            (self.folder / name).write_text((EXAMPLE / name).read_text().replace("8000", str(self.port)))
        (self.folder / "run").mkdir(mode=0o700)
        os.chown(self.folder / "run", USER, USER)
        shown = [*shown_programs(), (str(self.folder), "/srv")]
        service = {"volumes": [f"{source}:{target}:ro" for source, target in shown]}
        (self.folder / "here.yaml").write_text(json.dumps({"services": dict.fromkeys(SERVICES, service)}))

    def build(self) -> None:
        lines = (EXAMPLE / "Dockerfile").read_text().splitlines()
        wanted = [line for line in lines if line.split(maxsplit=1)[0] in FROM_DOCKERFILE]
        assert len(wanted) == len(FROM_DOCKERFILE)
        path = f"ENV PATH={ROOT}/.venv/bin:/usr/bin:/bin"
        changes = [word for change in (*wanted, path) for word in ("--change", change)]
        self.engine.run("import", *changes, str(self.engine.folder / "empty.tar"), "records")

    def compose(self, *words: str) -> str:
        argv = ["docker-compose", "--project-name", "pair", "-f", "compose.yaml", "-f", "here.yaml", *words]
        told = {
            "DOCKER_HOST": self.engine.host,
            "RECORDS_RUN": f"{self.folder}/run",
            "RECORDS_USER": f"{USER}:{USER}",
            "BASCULE_TOKEN_KEY": str(Mint.of(self.state).mark),
        }
        ended = subprocess.run(
            argv, cwd=self.folder, env={**os.environ, **told}, capture_output=True, text=True, check=False, timeout=120
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def container(self, service: str) -> str:
        """Asked of the engine: docker-compose takes half a second to ask it the same."""
        labels = ("com.docker.compose.project=pair", f"com.docker.compose.service={service}")
        return self.engine.run("ps", "--quiet", *(f"--filter=label={label}" for label in labels))

    def listens(self) -> bool:
        """Whether both do, as the kernel tells it."""
        pid = self.engine.run("inspect", "--format", "{{.State.Pid}}", self.container("records"))
        listed = "".join(Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6"))
        open_one = any(f":{self.port:04X} " in line and LISTENS in line.split() for line in listed.splitlines())
        return open_one and (self.folder / "run/records.sock").exists()

    @property
    def apart(self) -> tuple[str, ...]:
        """Runs what follows on the network of the engine, which is not this machine's own."""
        return "nsenter", f"--net=/proc/{self.engine.pid}/ns/net", "--"

    def call(self, tool: str, *words: str, user: str = "alice", home: Path | None = None) -> dict[str, Any]:
        """What an agent's call comes to."""
        argv = [*self.apart, str(BASCULE), "call", f"records_{tool}", *words, "--json"]
        told = {"RECORDS_RUN": f"{self.folder}/run", "BASCULE_HOME": str(home or self.state)}
        ended = subprocess.run(
            [*argv, "--user", user, "--session", "s-1"],
            cwd=self.folder,
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return json.loads(ended.stdout)

    @property
    def gateway(self) -> str:
        """This machine, as the open one sees it on the network that was made for it."""
        return self.engine.run("network", "inspect", "pair_default", "--format", "{{(index .IPAM.Config 0).Gateway}}")

    def inside(self, service: str, program: str) -> str:
        """What a Python program says that runs in one of them."""
        return self.engine.run("exec", self.container(service), "python", "-c", program)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    if shutil.which("docker-compose") is None:
        pytest.skip(MISSING)
    # The folders of tests are deeper than a path of a socket may be.
    with reached() as engine, TemporaryDirectory() as folder:
        made = Pair(engine, Path(folder))
        os.chmod(folder, 0o755)  # noqa: PTH101
        made.write()
        made.build()
        try:
            made.compose("up", "--detach", "--no-build")
            until_ready(made)
            yield made
        finally:
            made.compose("down", "--timeout", "2", "--volumes")


ROUTES = """
import socket
found = [line.split()[0] for line in open("/proc/net/route").readlines()[1:]]
for address in ("192.0.2.1", "169.254.169.254", "10.0.0.1"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError:
            continue
        found.append(address)
print(found, [name for _, name in socket.if_nameindex()])
"""


LISTENING = """
import socket, sys
with socket.create_server((sys.argv[1], 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    while True:
        connection, _ = listening.accept()
        print(connection.makefile().read(), flush=True)
"""


@contextmanager
def somebody(pair: Pair) -> Generator[tuple[list[str], "subprocess.Popen[str]"]]:
    """Somebody on the network of the open one, who writes down what is sent there. Where to send to, as arguments."""
    argv = [*pair.apart, sys.executable, "-c", LISTENING, pair.gateway]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield [f"host={pair.gateway}", f"port:={process.stdout.readline().strip()}"], process
        finally:
            process.kill()


def until_ready(pair: Pair) -> None:
    """Both can be reached: a server takes its time to start. Only then is it called, which takes half a second of this
    machine each time."""
    deadline = time.monotonic() + 90
    while not pair.listens():
        assert time.monotonic() < deadline, pair.compose("logs", "--tail", "30")
        time.sleep(0.1)
    while not (told := pair.call("container", user="starting"))["ok"]:
        assert time.monotonic() < deadline, told


def test_before_private_data_the_open_one_answers_and_after_it_the_one_without_a_route(pair: Pair):
    with somebody(pair) as (there, listener):
        before = pair.call("container")
        assert (before["lane"], before["structured"]["result"]) == ("open", "with-a-network")
        assert pair.call("send", *there, "text=nothing private")["ok"]

        assert pair.call("salaries")["ok"]

        after = pair.call("container")
        assert (after["lane"], after["structured"]["result"]) == ("sealed", "without-a-network")
        refused = pair.call("send", *there, "text=5200")
        assert not refused["ok"]
        assert "unreachable" in refused["message"]
        # Another agent session is where it was.
        assert pair.call("container", user="bob")["structured"]["result"] == "with-a-network"
        listener.kill()
        assert listener.stdout is not None
        assert listener.stdout.read() == "nothing private\n"

    assert pair.inside("records-isolated", ROUTES) == "[] ['lo']"
    # The same question has another answer where there is a network.
    assert "'eth0'" in pair.inside("records", ROUTES)


def test_nobody_is_believed_who_has_another_key(pair: Pair, tmp_path: Path):
    refused = pair.call("container", home=tmp_path / "another state folder")

    assert not refused["ok"]
    assert "does not believe the token" in refused["message"]
