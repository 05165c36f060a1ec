"""Replacement of credentials in an imported entry by references to variables (`${NAME}`), as in every shared file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from bascule.config.credential_detection import credentials_in, names_credential
from bascule.config.loading.key_table import SERVER_KEYS
from bascule.core.json_types import JsonObject, as_array, as_object, as_text

_SCHEME = re.compile(r"(?P<scheme>(?:bearer|basic|token|apikey|digest)\s+)(?P<value>\S.*)", re.IGNORECASE | re.DOTALL)
_ENDS = re.compile(
    r"(?:key|token|secrets?|password|passwd|pwd|pass|passphrase|pat|credentials?|cookie|auth|authorization|dsn|jwt)",
    re.IGNORECASE,
)
"""Last words of names that may be those of credentials. Wider than what refuses an argument: a reference too many costs
its reader one variable, and one too few a credential in a shared file."""

_KEYLIKE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=]{24,}")
"""A value that no word is: long, unbroken, letters and digits."""

_PLAIN = re.compile(r"true|false|yes|no|on|off|none|null|\d{1,6}|(?:\.{0,2}|~)/\S*|[A-Za-z]:\\.*", re.IGNORECASE)
"""Values that are no credential, whatever they are called: switches, counts, paths."""

_QUERY = re.compile(r"(?P<lead>[?&](?P<name>[\w.-]+)=)(?P<value>[^&#\s]+)")
_SEGMENT = re.compile(r"(?<=/)(?=[^/?#]*[0-9])(?=[^/?#]*[A-Za-z])[A-Za-z0-9_=-]{20,}(?=[/?#]|$)")
_DOCKER_ENV = {"-e", "--env"}
_ORDER = tuple(dict.fromkeys(key.partition(".")[0] for key in SERVER_KEYS))


@dataclass(slots=True)
class Variables:
    """Variables that stand for credentials, over all entries. One name never stands for two values."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    reserved: frozenset[str] = frozenset()
    """Names that entries refer to already, whatever they stand for."""

    def copy(self) -> "Variables":
        return Variables(dict(self.values), self.reserved)

    def reserving(self, names: Iterable[str]) -> "Variables":
        return Variables(dict(self.values), self.reserved | {*names})

    def reference(self, name: str, value: str, server: str) -> str:
        for each in (name, f"{_upper(server)}_{name}", *(f"{_upper(server)}_{name}_{n}" for n in range(2, 100))):
            if each not in self.reserved and self.values.setdefault(each, value) == value:
                return f"${{{each}}}"
        return f"${{{name}}}"


def without_credentials(server: str, entry: JsonObject, variables: Variables) -> JsonObject:
    """The entry as it may stand in a shared file. What stands in its arguments stays: it cannot be given otherwise."""
    safe = dict(entry)
    env = as_object(entry.get("env"))
    safe["args"], moved = _out_of_args(entry, server, variables)
    env = {**env, **moved}
    safe["env"] = {name: _env(name, value, server, variables) for name, value in env.items()}
    headers = as_object(entry.get("headers"))
    safe["headers"] = {name: _header(name, value, server, variables) for name, value in headers.items()}
    if url := as_text(entry.get("url")):
        safe["url"] = _url(url, server, variables)
    oauth = as_object(entry.get("oauth"))
    secret = as_text(oauth.get("client_secret"))
    if secret and "${" not in secret:
        named = variables.reference(f"{_upper(server)}_CLIENT_SECRET", secret, server)
        safe["oauth"] = {**oauth, "client_secret": named}
    return {key: safe[key] for key in _ORDER if safe.get(key) not in (None, [], {})}


def is_credential(name: str, value: str) -> bool:
    """Whether a value, called this, is better not shown. A reference to a variable shows nothing."""
    if not value or "${" in value or _PLAIN.fullmatch(value):
        return False
    words = re.split(r"[_.\-\s]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))
    called = names_credential(name) or bool(_ENDS.fullmatch(words[-1])) or name.upper().endswith(("PASSWORD", "TOKEN"))
    return called or bool(_KEYLIKE.fullmatch(value)) or any(credentials_in([value]))


def _env(name: str, value: Any, server: str, variables: Variables) -> Any:
    if not isinstance(value, str) or not is_credential(name, value):
        return value
    return variables.reference(_upper(name), value, server)


def _header(name: str, value: Any, server: str, variables: Variables) -> Any:
    if not isinstance(value, str) or "${" in value:
        return value
    found = _SCHEME.fullmatch(value)
    if found is None and not is_credential(name, value):
        return value
    scheme, secret = (found["scheme"], found["value"]) if found is not None else ("", value)
    kind = "TOKEN" if name.lower() == "authorization" else _upper(name).removeprefix("X_")
    named = kind if kind.startswith(_upper(server)) else f"{_upper(server)}_{kind}"
    return scheme + variables.reference(named, secret, server)


def _url(url: str, server: str, variables: Variables) -> str:
    def of_query(found: re.Match[str]) -> str:
        if not is_credential(found["name"], found["value"]):
            return found[0]
        named = f"{_upper(server)}_{_upper(found['name'])}"
        return found["lead"] + variables.reference(named, found["value"], server)

    def of_path(found: re.Match[str]) -> str:
        return variables.reference(f"{_upper(server)}_URL_KEY", found[0], server)

    path, mark, query = url.partition("?")
    lead, slashes, rest = path.partition("://")
    return f"{lead}{slashes}{_SEGMENT.sub(of_path, rest)}{_QUERY.sub(of_query, mark + query)}"


def _out_of_args(entry: JsonObject, server: str, variables: Variables) -> tuple[list[Any], dict[str, str]]:
    """Docker takes `-e NAME=VALUE`, and `-e NAME` with the value in its own environment: the same to the container."""
    args = as_array(entry.get("args"))
    if PurePath(as_text(entry.get("command")) or "").name not in {"docker", "podman"}:
        return args, {}
    kept: list[Any] = []
    moved: dict[str, str] = {}
    for index, arg in enumerate(args):
        name, value = _assigned(arg) if index and args[index - 1] in _DOCKER_ENV else ("", "")
        if name and is_credential(name, value):
            moved[name] = variables.reference(_upper(name), value, server)
        kept.append(name if name in moved else arg)
    return kept, moved


def _assigned(arg: Any) -> tuple[str, str]:
    name, given, value = arg.partition("=") if isinstance(arg, str) else ("", "", "")
    return (name, value) if given else ("", "")


def _upper(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper()
    return f"_{name}" if name[:1].isdigit() else name or "VALUE"
