import socket
from pathlib import Path

import pytest

from bascule.core.errors import ConfigError, StoreError
from bascule.gateway.cluster.address import InnerAddress, listen_within, socket_in
from support.ports import free_port


def test_an_address_is_read_as_it_was_written(tmp_path: Path):
    for url in ("", "http://10.0.0.5:9100"):
        listening, address = socket_in(tmp_path / "with a space", url)
        listening.close()
        assert InnerAddress.read(str(address)) == address
        assert (address.url, Path(address.path).is_socket()) == (url, True)
        address.remove()
        assert not Path(address.path).exists()
    assert InnerAddress.read("") == InnerAddress("", "")


def test_only_its_user_can_enter_the_folder_and_use_the_socket(tmp_path: Path):
    listening, address = socket_in(tmp_path)
    with listening:
        path = Path(address.path)
        assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(address.path)


def test_who_shares_a_folder_is_beside_and_others_are_not(tmp_path: Path):
    sockets = [socket_in(tmp_path / name) for name in ("a", "a", "b")]
    (_, one), (_, two), (_, other) = sockets
    for listening, _ in sockets:
        listening.close()
    assert one.is_beside(two)
    assert not one.is_beside(other)


def test_what_was_left_behind_is_swept_and_what_listens_is_not(tmp_path: Path):
    left, gone = socket_in(tmp_path)
    left.close()
    living, address = socket_in(tmp_path)
    with living:
        third, _ = socket_in(tmp_path)
        third.close()
        assert not Path(gone.path).exists()
        assert Path(address.path).exists()


def test_a_long_path_is_made_short(tmp_path: Path):
    folder = tmp_path / ("x" * 100)
    listening, address = socket_in(folder)
    listening.close()
    assert len(address.path) < 100
    address.remove()
    Path(address.path).parent.rmdir()


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path):
    (tmp_path / "workers").mkdir(mode=0o755)
    with pytest.raises(StoreError, match="cannot reach each other"):
        socket_in(tmp_path)


@pytest.mark.parametrize(
    "url", ["", "10.0.0.5:9100", "ftp://10.0.0.5:9100", "https://10.0.0.5", "http://10.0.0.5", "http://10.0.0.5:9100/x"]
)
def test_what_is_no_place_for_other_machines_is_refused(url: str):
    with pytest.raises(ConfigError, match="--internal-url"):
        listen_within(url)


def test_a_place_for_other_machines_is_listened_at_or_told_to_be_taken():
    url = f"http://127.0.0.1:{free_port()}"
    with listen_within(url) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        with pytest.raises(ConfigError, match="cannot listen"):
            listen_within(url)
