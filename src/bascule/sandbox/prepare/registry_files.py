"""Configuration files and variables of package registries: npm, uv and pip."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import Path
from typing import Any, cast

from bascule.files.regular_file import read_regular
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.package_registries import Gathering, Registries
from bascule.sandbox.process.child import Command

_TAKEN = ("registry", "cafile", "proxy", "https-proxy", "noproxy", "fetch-retries", "fetch-timeout")
_CREDENTIALS = ("_auth", "_authToken", "_password", "username", "certfile", "keyfile", "cert", "key")
_PREFIX = "npm_config_"


def npm_registries(texts: Iterable[str], environ: Mapping[str, str]) -> Registries:
    """npm's registries, from the texts of its files in ascending priority, and from variables."""
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


_UV_ADDRESSES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
_UV_WORDS = (
    *("UV_INDEX_STRATEGY", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_NO_INDEX"),
    *("UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES"),
)
_PIP_ADDRESSES = ("index-url", "extra-index-url", "find-links")
_PIP_WORDS = ("no-index", "trusted-host", "cert", "proxy", "timeout", "default-timeout", "retries")


def uv_registries(texts: Iterable[str], environ: Mapping[str, str]) -> Registries:
    """uv's indexes, from the texts of its files in ascending priority; variables have the highest."""
    gathering = Gathering(environ)
    found: dict[str, list[str]] = {}
    for text in texts:
        found.update(_uv_addresses(_toml(text)))
    for name in _UV_ADDRESSES:
        # uv parts addresses of packages that lie in folders by commas, and the others by spaces.
        values = environ[name].replace(",", " ").split() if environ.get(name) else found.get(name, [])
        gathering.addresses(name, values)
    for name in _UV_WORDS:
        gathering.variable(name, environ.get(name, ""))
    return gathering.done()


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        # uv says so itself, to whoever uses it.
        return {}


def _uv_addresses(settings: Mapping[str, Any]) -> dict[str, list[str]]:
    found = {
        "UV_INDEX_URL": _text_list(settings.get("index-url")),
        "UV_EXTRA_INDEX_URL": _text_list(settings.get("extra-index-url")),
        "UV_FIND_LINKS": _text_list(settings.get("find-links")),
        "UV_DEFAULT_INDEX": [],
        "UV_INDEX": [],
    }
    for index in _tables(settings.get("index")):
        url, name = index.get("url"), index.get("name")
        if isinstance(url, str) and not index.get("explicit"):
            where = "UV_DEFAULT_INDEX" if index.get("default") is True else "UV_INDEX"
            found[where].append(f"{name}={url}" if isinstance(name, str) else url)
    return {name: values for name, values in found.items() if values}


def _text_list(value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]


def _tables(value: Any) -> list[Mapping[str, Any]]:
    values = cast("list[Any]", value) if isinstance(value, list) else []
    return [each for each in values if isinstance(each, Mapping)]


def pip_registries(texts: Iterable[str], environ: Mapping[str, str]) -> Registries:
    """pip's indexes, from the texts of its files in ascending priority; variables have the highest."""
    gathering = Gathering(environ)
    found: dict[str, str] = {}
    for text in texts:
        found.update(_pip_settings(text))
    for name in (*_PIP_ADDRESSES, *_PIP_WORDS):
        variable = f"PIP_{name.upper().replace('-', '_')}"
        gathering.addresses(variable, (environ.get(variable) or found.get(name, "")).split())
    return gathering.done()


def _pip_settings(text: str) -> dict[str, str]:
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except ConfigParserError:
        return {}
    return {
        name.replace("_", "-"): value
        for section in ("global", "install")
        if parser.has_section(section)
        for name, value in parser.items(section)
    }


LONGEST = 1024 * 1024
"""Bytes of a file with settings. They have a few lines."""


def registries_of(fetcher: Fetcher, command: Command, environ: Mapping[str, str]) -> Registries:
    """As whoever fetches would find them: in files, in our variables, and in what the server is configured with."""
    said = {**environ, **command.env}
    home = Path(said.get("HOME") or "/")
    config = Path(said.get("XDG_CONFIG_HOME") or home / ".config")
    match fetcher.tool:
        case "npm":
            return npm_registries(_texts(_npm_files(fetcher, command, said, home)), said)
        case "uv":
            own = said.get("UV_CONFIG_FILE")
            files = (Path(own),) if own else (Path("/etc/uv/uv.toml"), config / "uv/uv.toml")
            return uv_registries(_texts(files), said)
        case "pip":
            files = (Path("/etc/pip.conf"), home / ".pip/pip.conf", config / "pip/pip.conf")
            own = said.get("PIP_CONFIG_FILE")
            return pip_registries(_texts((*files, Path(own)) if own else files), said)


def _npm_files(fetcher: Fetcher, command: Command, said: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    lowered = {name.lower(): value for name, value in said.items()}
    everybody = lowered.get("npm_config_globalconfig") or Path(fetcher.interpreter).parent.parent / "etc/npmrc"
    own = lowered.get("npm_config_userconfig") or home / ".npmrc"
    project = (Path(command.cwd, ".npmrc"),) if command.cwd else ()
    return (Path(everybody), Path(own), *project)


def _texts(files: tuple[Path, ...]) -> Iterator[str]:
    for path in files:
        try:
            yield read_regular(path, LONGEST).decode("utf-8", "replace")
        except OSError:
            # Most machines have few of these. One that we may not read is none that fetching could depend on.
            continue
