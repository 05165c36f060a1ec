"""Secrets in the system's keyring, and what counts as one."""

import pytest
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring
from keyring.errors import KeyringLocked, PasswordDeleteError

from bascule.core.errors import StoreError
from bascule.store.secrets.keyring import Keychain, is_real, real_backend


class InMemory(KeyringBackend):
    """A keyring as good as any, for the length of a test."""

    priority = 5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise PasswordDeleteError
        del self.kept[service, username]


class Locked(InMemory):
    """A keyring whose owner does not answer."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("dismissed")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked("dismissed")

    def delete_password(self, service: str, username: str) -> None:
        raise KeyringLocked("dismissed")


class Plain(InMemory):
    """Keeps what it is given for everyone to read, and says so by its priority."""

    priority = 0.5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]


def test_what_is_written_is_read_and_can_be_deleted():
    chain = Keychain(InMemory(), "/state")
    assert chain.read("a") is None
    chain.write("a", b"\x00one")
    assert chain.read("a") == b"\x00one"
    chain.delete("a")
    chain.delete("a")
    assert chain.read("a") is None


def test_two_state_folders_share_nothing():
    backend = InMemory()
    Keychain(backend, "/one").write("a", b"one")

    assert Keychain(backend, "/two").read("a") is None


def test_a_locked_keyring_is_told_and_never_passed_over():
    chain = Keychain(Locked(), "/state")
    for use in (lambda: chain.read("a"), lambda: chain.write("a", b"x"), lambda: chain.delete("a")):
        with pytest.raises(StoreError, match="keyring cannot be used") as caught:
            use()
        assert "unlock" in caught.value.fix


def chain_of(*backends: KeyringBackend) -> ChainerBackend:
    class Chain(ChainerBackend):
        """A chain of these, whatever the machine has."""

    Chain.backends = list(backends)  # pyright: ignore[reportAttributeAccessIssue]
    return Chain()


def test_what_only_looks_like_a_keyring_is_none():
    assert is_real(InMemory())
    assert not is_real(FailKeyring())
    assert not is_real(NullKeyring())
    assert not is_real(Plain())


def test_one_whose_service_is_not_there_is_none():
    class Absent:
        @property
        def priority(self) -> float:
            raise RuntimeError("no bus")

    assert not is_real(Absent())


def test_a_chain_is_as_good_as_its_first():
    assert is_real(chain_of(InMemory(), Plain()))
    assert not is_real(chain_of(Plain(), InMemory()))
    assert not is_real(chain_of())


def test_the_backend_is_the_one_the_package_chooses():
    import keyring

    before = keyring.get_keyring()
    mine = InMemory()
    try:
        keyring.set_keyring(mine)
        assert real_backend() is mine
        keyring.set_keyring(FailKeyring())
        assert real_backend() is None
    finally:
        keyring.set_keyring(before)
