"""Package registries as the host is configured: addresses, certificates and proxies. A setting with credentials is left
out and reported, because install scripts could read it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bascule.sandbox.prepare.package import has_credentials

CERTIFICATES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "REQUESTS_CA_BUNDLE")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")

_NOTHING = dict[str, str]


@dataclass(frozen=True, slots=True)
class Registries:
    """What a box that fetches is told of this machine's registries."""

    options: tuple[str, ...] = ()
    """For npm, whose names with a scope are no names of variables."""
    env: Mapping[str, str] = field(default_factory=_NOTHING)
    paths: tuple[str, ...] = ()
    """What these name on this machine: certificates, and folders with packages."""
    left_out: tuple[str, ...] = ()
    """The names of settings that carry credentials."""


class Gathering:
    """Registries in the making: each setting is looked at before it is taken."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._options: list[str] = []
        self._env: dict[str, str] = {}
        self._paths: list[str] = []
        self._left_out: list[str] = []
        for name in (*CERTIFICATES, *PROXIES):
            self.variable(name, environ.get(name, ""))

    def option(self, name: str, value: str) -> None:
        if value and self._taken(name, value):
            self._options.append(f"--{name}={value}")

    def variable(self, name: str, value: str) -> None:
        if value and self._taken(name, value):
            self._env[name] = value

    def addresses(self, name: str, values: Iterable[str]) -> None:
        """A variable with several, of which those without credentials are taken."""
        taken = [value for value in values if self._taken(name, value)]
        if taken:
            self._env[name] = " ".join(taken)

    def leave_out(self, name: str) -> None:
        if name not in self._left_out:
            self._left_out.append(name)

    def _taken(self, name: str, value: str) -> bool:
        # A proxy may be named without a scheme.
        of_a_proxy = "@" in value and name.lower().endswith("proxy")
        if has_credentials(value) or of_a_proxy or "${" in value:
            self.leave_out(name)
            return False
        if path := path_of(value):
            self._paths.append(path)
        return True

    def done(self) -> Registries:
        return Registries(
            tuple(self._options), dict(self._env), tuple(dict.fromkeys(self._paths)), tuple(self._left_out)
        )


def path_of(value: str) -> str | None:
    """The file or folder of this machine that a setting names. An index may be called `name=file:///…`."""
    _, named, address = value.partition("=file://")
    value = address if named else value.removeprefix("file://")
    return value.rstrip("/") or None if value.startswith("/") else None
