"""Secrets in the system's keyring, if the package `keyring` is installed and finds a real backend."""

import base64
from typing import TYPE_CHECKING, Any

from bascule.core.errors import StoreError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "bascule"

RECOMMENDED = 1
"""The priority from which the package itself recommends a backend. Those below keep secrets as plain text, or fail."""


class Keychain:
    """The keyring of the user who runs us. `place` sets entries of one state folder apart from those of another."""

    def __init__(self, backend: Any, place: str) -> None:
        self._backend = backend
        self._place = place

    def read(self, name: str) -> bytes | None:
        from keyring.errors import KeyringError  # noqa: PLC0415 -- an extra, and slow to import

        try:
            text = self._backend.get_password(SERVICE, self._entry(name))
        except KeyringError as error:
            raise _unusable(error) from error
        return None if text is None else base64.b64decode(text)

    def write(self, name: str, data: bytes) -> None:
        from keyring.errors import KeyringError  # noqa: PLC0415 -- see above

        try:
            self._backend.set_password(SERVICE, self._entry(name), base64.b64encode(data).decode())
        except KeyringError as error:
            raise _unusable(error) from error

    def delete(self, name: str) -> None:
        from keyring.errors import KeyringError, PasswordDeleteError  # noqa: PLC0415 -- see above

        try:
            self._backend.delete_password(SERVICE, self._entry(name))
        except PasswordDeleteError:
            pass  # there is none
        except KeyringError as error:
            raise _unusable(error) from error

    def _entry(self, name: str) -> str:
        return f"{self._place}/{name}"


def real_backend() -> "KeyringBackend | None":
    """The system's keyring, or None where there is none to be trusted with a secret."""
    try:
        import keyring  # noqa: PLC0415 -- an extra
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return backend if is_real(backend) else None


def is_real(backend: Any) -> bool:
    """Whether secrets are safe there. A chain of backends is as safe as the first of them, which takes what is kept."""
    chained = getattr(backend, "backends", None)
    first = next(iter(chained), None) if chained is not None else backend
    module = type(first).__module__
    if first is None or module in {"keyring.backends.fail", "keyring.backends.null"}:
        return False
    try:
        return bool(first.priority >= RECOMMENDED)
    except RuntimeError:
        return False  # how a backend says that what it needs is not on this machine


def _unusable(error: Exception) -> StoreError:
    return StoreError(
        "the system's keyring cannot be used",
        evidence=f"{type(error).__name__}: {error}"[:300],
        cause="it is locked, or nobody answered its question",
        fix="unlock it; or set PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring to keep logins in files",
    )
