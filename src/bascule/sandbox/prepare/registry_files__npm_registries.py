"""npm's registries, read from its configuration files and variables."""

from collections.abc import Iterable, Iterator, Mapping

from bascule.sandbox.prepare.package_registries import Gathering, Registries

_TAKEN = ("registry", "cafile", "proxy", "https-proxy", "noproxy", "fetch-retries", "fetch-timeout")
_CREDENTIALS = ("_auth", "_authToken", "_password", "username", "certfile", "keyfile", "cert", "key")
_PREFIX = "npm_config_"


def npm_registries(texts: Iterable[str], environ: Mapping[str, str]) -> Registries:
    """From the texts of its files, the one that counts least first."""
    gathering = Gathering(environ)
    found: dict[str, str] = {}
    for text in texts:
        for name, value in _settings(text):
            if name.rpartition(":")[2] in _CREDENTIALS:
                gathering.leave_out(name)
            else:
                found[name] = value
    for name, value in environ.items():
        if name.lower().startswith(_PREFIX):
            found[name[len(_PREFIX) :].lower().replace("_", "-")] = value
    for name, value in found.items():
        if name in _TAKEN or (name.startswith("@") and name.endswith(":registry")):
            gathering.option(name, value)
    return gathering.done()


def _settings(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, given, value = line.strip().partition("=")
        if given and name[:1] not in {";", "#"}:
            yield name.strip(), value.strip().strip("\"'")
