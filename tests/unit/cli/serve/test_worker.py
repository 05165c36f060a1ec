"""Arguments of a worker process, and its exit code."""

import socket
from pathlib import Path

import msgspec
import pytest

from bascule.cli import exit_codes
from bascule.cli.parser.command_table import build_parser
from bascule.cli.serve.http import worker_command
from bascule.cli.serve.worker import Told, main
from bascule.config.model.gateway import GatewaySettings
from bascule.core.principal import Principal
from bascule.gateway.serve import Door


def told(*words: str, clients: socket.socket) -> str:
    options = build_parser().parse_args(["serve", *words])
    door = Door(GatewaySettings(), None, Principal("alice", "s-1"))
    *program, last = worker_command(options, door, (clients, None))(5, 1)
    assert program[1:] == ["-P", "-m", "bascule.cli.serve.worker"]
    return last


def test_a_worker_is_told_all_that_the_command_was_told_and_who_everybody_is():
    with socket.socket() as clients:
        read = msgspec.json.decode(told("--dev", "--port", "9000", clients=clients), type=Told)
        assert (read.clients, read.line, read.number, read.within) == (clients.fileno(), 5, 1, None)
    options = read.options
    assert (options.dev, options.port, options.user, options.session) == (True, 9000, "alice", "s-1")


def test_why_it_cannot_start_is_told_once_and_by_its_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    config = tmp_path / "bascule.yaml"
    config.write_text("mcp_servers: [1]")
    with socket.socket() as clients:
        words = told("--config", str(config), clients=clients)
        assert main([words]) == exit_codes.USAGE
    assert capfd.readouterr().err.count("BSC-100  ") == 1
