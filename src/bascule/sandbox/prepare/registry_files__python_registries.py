"""The indexes of uv and of pip, read from their configuration files and variables."""

import tomllib
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from typing import Any, cast

from bascule.sandbox.prepare.package_registries import Gathering, Registries

_UV_ADDRESSES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
_UV_WORDS = (
    *("UV_INDEX_STRATEGY", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_NO_INDEX"),
    *("UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES"),
)
_PIP_ADDRESSES = ("index-url", "extra-index-url", "find-links")
_PIP_WORDS = ("no-index", "trusted-host", "cert", "proxy", "timeout", "default-timeout", "retries")


def uv_registries(texts: Iterable[str], environ: Mapping[str, str]) -> Registries:
    """From the texts of its files, the one that counts least first. Variables count more."""
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
    """From the texts of its files, the one that counts least first. Variables count more."""
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
