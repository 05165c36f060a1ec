"""DNS rebinding during `bascule login`: requests of a login go no nearer than the connection that gave the challenge."""

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from support.command import BASCULE, configured, environment
from support.internet import ALLOWED, DENIED, Internet, internet
from support.on_the_internet import entering

pytestmark = [pytest.mark.requirement("TRN-11"), pytest.mark.long]

GLOBAL = "93.184.216.34"
"""A public address, which only the far namespace has here."""

NEAR = "10.9.9.9"
"""A private address in the far namespace."""

HERE = "127.0.0.1"


@pytest.fixture
def net() -> Generator[Internet]:
    with internet() as net:
        net.far.run("ip", "address", "add", f"{GLOBAL}/32", "dev", "in")
        yield net


def log_in(net: Internet, folder: Path, url: str) -> str:
    """The error of `bascule login` on the machine of the small internet, which no login there can avoid."""
    config = configured(folder, notes={"url": url})
    argv = [*entering(net), str(BASCULE), "login", "notes", "--no-browser", "--timeout", "30", "--config", config]
    env = environment(folder, {"SSL_CERT_FILE": str(net.certificate)})
    ended = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 3, ended.stderr
    return ended.stderr


def paths(net: Internet, address: str) -> set[str]:
    """Paths of all requests that came to this address."""
    return {asked["head"][0].split(" ")[1] for asked in net.asked() if asked["at"] == address}


@pytest.mark.parametrize("target", [f"http://{HERE}:8080/inside", "https://allowed.test/inside"])
@pytest.mark.parametrize("first", [GLOBAL, ALLOWED], ids=["public server", "private server"])
def test_a_name_that_turns_to_the_loopback_leads_no_login_there(net: Internet, tmp_path: Path, first: str, target: str):
    net.far.name({"allowed.test": [first]})
    net.far.challenge(f'Bearer resource_metadata="{target}"', {"allowed.test": [HERE]})

    said = log_in(net, tmp_path, "https://allowed.test/challenge")

    assert paths(net, first) == {"/challenge"}, "the challenge came from the server's first address"
    assert "is not followed" in said
    assert not {address for address, _ in net.reached() if address.startswith("127.")}


def test_a_public_server_whose_name_turns_private_leads_no_login_there(net: Internet, tmp_path: Path):
    net.far.name({"allowed.test": [GLOBAL]})
    net.far.challenge('Bearer resource_metadata="https://allowed.test/inside"', {"allowed.test": [NEAR]})

    said = log_in(net, tmp_path, "https://allowed.test/challenge")

    assert paths(net, GLOBAL) == {"/challenge"}
    assert f"its name resolves to {NEAR}" in said
    assert NEAR not in {address for address, _ in net.reached()}


def test_a_name_that_means_the_loopback_from_the_start_gets_no_request(net: Internet, tmp_path: Path):
    net.far.name({"allowed.test": [HERE]})

    said = log_in(net, tmp_path, "https://allowed.test/challenge")

    assert f"its name resolves to {HERE}" in said
    assert "name a server on this machine by its IP address or `localhost`" in said
    assert not {address for address, _ in net.reached() if address.startswith("127.")}


def test_a_private_server_leads_to_its_private_login_server(net: Internet, tmp_path: Path):
    net.far.name({"allowed.test": [ALLOWED], "denied.test": [DENIED]})
    net.far.challenge('Bearer resource_metadata="https://allowed.test/inside"', {"allowed.test": [DENIED]})

    log_in(net, tmp_path, "https://allowed.test/challenge")

    assert "/inside" in paths(net, DENIED), "requests of the login are not refused as such"
