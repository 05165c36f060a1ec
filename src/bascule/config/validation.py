"""Validation rules for values of the right type, from files and from code alike; each rule yields flaws."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, cast

from bascule.config.credential_detection import ADVICE, credentials_in
from bascule.config.names import NAME_RULE, fold_name, is_name
from bascule.config.problems import KeyPath, did_you_mean, dotted
from bascule.config.secret import Secret
from bascule.config.urls import POSTGRES, postgres_url_flaw, unix_url_flaw, url_flaw, ws_url_flaw
from bascule.core.errors import ConfigError

_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_NOT_PRINTED = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers that decide where a message ends, where it goes, or what it is."""

MESSAGE_LEAST = 1024
"""Shortest cap on messages that is not a mistake, in bytes: a handshake must fit."""

MESSAGE_MOST = 1024**3
"""Longest cap on messages. What is parsed takes several times its length in memory."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing wrong, by the key it is wrong in."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.text}"


def refuse(subject: str, flaws: Iterable[Flaw]) -> None:
    """Raise one `ConfigError` that tells every flaw; do nothing if there is none."""
    problems = tuple(str(flaw) for flaw in flaws)
    if problems:
        raise ConfigError(f"{subject}: " + "; ".join(problems), problems=problems, where=subject)


def name_flaws(name: Any) -> Iterator[Flaw]:
    if not isinstance(name, str):
        yield Flaw(("name",), "must be text")
    elif not is_name(name):
        yield Flaw(("name",), f'must be {NAME_RULE}; "{fold_name(name)}" would do')


def stdio_flaws(*, command: Any, args: Any, cwd: Any, env: Any, inherit_env: Any) -> Iterator[Flaw]:
    yield from _command_flaws(command)
    yield from _texts_flaws("args", args, empty=True)
    if cwd is not None and not _is_text(cwd):
        yield Flaw(("cwd",), "must name a folder")
    yield from _mapping_flaws("env", env, _env_name_flaw, re.compile("\0"))
    yield from _texts_flaws("inherit_env", inherit_env)


def container_flaws(container: Any) -> Iterator[Flaw]:
    if not (isinstance(container, str) and _CONTAINER.fullmatch(container)):
        yield Flaw(("container",), "must be the name or the id of a container, as `docker ps` shows it")


def credential_flaws(args: Iterable[Any]) -> Iterator[Flaw]:
    for index, reason in credentials_in([str(arg) for arg in args]):
        yield Flaw(("args", index), f"looks like a credential ({reason}); {ADVICE}")


def http_flaws(*, url: Any, headers: Any) -> Iterator[Flaw]:
    return _remote_flaws(url_flaw, url, headers)


def ws_flaws(*, url: Any, headers: Any) -> Iterator[Flaw]:
    yield from _remote_flaws(ws_url_flaw, url, headers)
    for name in cast("Mapping[Any, Any]", headers) if isinstance(headers, Mapping) else ():
        if str(name).lower().startswith("sec-websocket-"):
            yield Flaw(("headers", str(name)), "is part of opening a WebSocket and set by nobody else; remove it")


def unix_flaws(*, url: Any, headers: Any) -> Iterator[Flaw]:
    return _remote_flaws(unix_url_flaw, url, headers)


def _remote_flaws(flaw_of: Callable[[str], str | None], url: Any, headers: Any) -> Iterator[Flaw]:
    flaw = flaw_of(url) if isinstance(url, str) else "must be text"
    if flaw:
        yield Flaw(("url",), flaw)
    yield from _mapping_flaws("headers", headers, _header_name_flaw, _HEADER_UNFIT)


def header_flaws(headers: Any) -> Iterator[Flaw]:
    """What is wrong with headers that were not written by the operator, but printed by a program of theirs."""
    yield from _mapping_flaws("headers", headers, _header_name_flaw, _HEADER_UNFIT)
    for name in cast("Mapping[Any, Any]", headers) if isinstance(headers, Mapping) else ():
        if str(name).lower() in _NOT_PRINTED or str(name).lower().startswith("mcp-"):
            yield Flaw(("headers", str(name)), "is set by the transport alone")


def headers_command_flaws(*, command: Any, kind: str, lifetime: Any, kit: Any) -> Iterator[Flaw]:
    """What cannot be the program that prints a server's headers, and what it cannot stand beside."""
    if command is None:
        return
    path = ("headers_command",)
    given = items(command)
    if not given or not all(isinstance(word, str) and "\0" not in word for word in given) or not given[0].strip():
        yield Flaw(path, "must be a list: the program, then its arguments")
        return
    for flaw in credential_flaws(given[1:]):
        yield Flaw((*path, int(flaw.path[1]) + 1), flaw.text)
    if kind == "ws":
        yield Flaw(path, "does not go with a WebSocket, which shows its headers once; use an http(s):// address")
    if lifetime == "shared":
        yield Flaw(path, "does not go with `lifetime: shared`: the headers are each principal's own")
    if kit is True:
        yield Flaw(path, "does not go with `kit: true`: the server is shown a token of ours")


def idempotent_flaws(idempotent: Any) -> Iterator[Flaw]:
    return _texts_flaws("idempotent", idempotent)


def ask_flaws(ask: Any) -> Iterator[Flaw]:
    return _texts_flaws("ask", ask)


def exposure_flaws(*, prefix: Any, allow: Any, block: Any) -> Iterator[Flaw]:
    if prefix is not None and not (isinstance(prefix, str) and _PREFIX.fullmatch(prefix)):
        yield Flaw(("prefix",), "must be at most 32 of A-Z, a-z, 0-9, - and _")
    if allow is not None:
        yield from _texts_flaws("allow", allow)
    yield from _texts_flaws("block", block)


def choice_flaws(name: str, value: Any, choices: tuple[str, ...]) -> Iterator[Flaw]:
    if value not in choices:
        # The value itself stays unsaid: it may have come from a variable that holds a secret.
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        yield Flaw((name,), f"must be one of {', '.join(choices)}{hint}")


def seconds_flaws(name: str, value: Any) -> Iterator[Flaw]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        yield Flaw((name,), "must be a number of seconds above 0")


def count_flaws(name: str, value: Any) -> Iterator[Flaw]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        yield Flaw((name,), "must be a whole number above 0")


def runtime_flaws(given: Mapping[str, Any]) -> Iterator[Flaw]:
    """What is wrong with the settings beside the servers, by the model's names of them."""
    for name in ("links_max", "links_starting", "workspace_quota"):
        yield from count_flaws(name, given[name])
    if given["search_above"] is not None:
        yield from count_flaws("search_above", given["search_above"])
    yield from seconds_flaws("anchor_every", given["anchor_every"])
    if not isinstance(given["message_max"], int) or not MESSAGE_LEAST <= given["message_max"] <= MESSAGE_MOST:
        yield Flaw(("message_max",), f"must be a size from {MESSAGE_LEAST} bytes to {MESSAGE_MOST // 1024**3}GiB")
    root = given["workspace_root"]
    if root is not None and (not _is_text(root) or "\0" in root):
        yield Flaw(("workspace_root",), "must be the path of a folder")
    yield from _store_flaws(given["store"])


def _store_flaws(store: Any) -> Iterator[Flaw]:
    scheme = str(store).partition("://")[0].lower() if store is not None and "://" in str(store) else "sqlite"
    if scheme in POSTGRES:
        if flaw := postgres_url_flaw(str(store)):
            yield Flaw(("store",), flaw)
    elif scheme != "sqlite" or store == "":
        yield Flaw(("store",), "must be the path of an SQLite file, sqlite:///path, or postgresql://user@host/database")


def items(value: Any) -> tuple[Any, ...] | None:
    """A list or tuple as a tuple; nothing for anything else, above all for a text, whose items are its letters."""
    return tuple(cast("Iterable[Any]", value)) if isinstance(value, list | tuple) else None


def texts(value: Any) -> tuple[str, ...]:
    """A checked list of texts in its final form: a tuple of plain ones, whatever marks the loaders put on them."""
    return tuple(str(item) for item in items(value) or ())


def _command_flaws(command: Any) -> Iterator[Flaw]:
    if not _is_text(command):
        yield Flaw(("command",), "must name a program")
    elif re.match(r"[^\s/\\]+\s", command):
        # No shell will take this apart, so it would be looked for as one program of that name.
        yield Flaw(("command",), "must be the program alone; put what follows it into `args`")


def _texts_flaws(name: str, value: Any, *, empty: bool = False) -> Iterator[Flaw]:
    given = items(value)
    if given is None:
        yield Flaw((name,), "must be a list of texts")
        return
    for index, text in enumerate(given):
        if not (_is_text(text) or (empty and text == "")):
            yield Flaw((name, index), "must be text" + ("" if empty else ", and not empty"))


def _mapping_flaws(name: str, value: Any, name_flaw: Any, unfit: re.Pattern[str]) -> Iterator[Flaw]:
    if not isinstance(value, Mapping):
        yield Flaw((name,), "must map names to texts")
        return
    for key, given in cast("Mapping[Any, Any]", value).items():
        text = given.reveal() if isinstance(given, Secret) else given
        flaw = name_flaw(key) if isinstance(key, str) else "names must be text"
        if flaw:
            yield Flaw((name, str(key)), flaw)
        if not isinstance(text, str) or unfit.search(text):
            yield Flaw((name, str(key)), "must be text without control characters")


def _env_name_flaw(name: str) -> str | None:
    return None if _is_text(name) and "=" not in name else "is no name for a variable"


def _header_name_flaw(name: str) -> str | None:
    return None if _HEADER_NAME.fullmatch(name) else "is no name for a header"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value
