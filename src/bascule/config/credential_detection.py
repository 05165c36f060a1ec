"""Detection of credentials in command-line arguments, which every user of the machine can read."""

import re
from collections.abc import Iterator, Sequence

ADVICE = "every user of the machine can read it there; give it in `env`, or in `headers` of a remote server"

_ISSUED = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        gh[pousr]_[A-Za-z0-9]{10,} | github_pat_[A-Za-z0-9_]{10,} | glpat-[\w-]{10,}
      | sk-(?:[a-z0-9]{2,10}-){0,3}(?:(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{12,}|[A-Za-z0-9_]{20,})
      | [sr]k_(?:live|test)_[A-Za-z0-9]{10,}
      | A(?:KIA|SIA)[0-9A-Z]{16} | AIza[\w-]{30,} | ya29\.[\w-]{10,}
      | xox[abeprs]-[\w-]{10,} | npm_[A-Za-z0-9]{30,} | hf_[A-Za-z0-9]{20,} | pypi-[\w-]{30,}
      | ntn_[A-Za-z0-9]{20,} | figd_[\w-]{20,} | lin_api_[A-Za-z0-9]{10,} | dop_v1_[0-9a-f]{20,}
      | eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*
    )|-----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----""",
    re.VERBOSE,
)
"""Shapes that services give to what they issue, so that it can be found where it should not be."""

_BEARER = re.compile(r"\bbearer\s+(?P<value>[\w.~+/=-]{8,})", re.IGNORECASE)
_USERINFO = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^/\s:@]*:(?P<value>[^/\s@]+)@", re.IGNORECASE)
_QUERY = re.compile(r"[?&](?P<name>[\w-]+)=(?P<value>[^&\s]+)")
_JSON_MEMBER = re.compile(r'"(?P<name>[\w-]+)"\s*:\s*"(?P<value>[^"]+)"')
_HEADER = re.compile(r"(?:--?[\w-]+=)?(?P<name>[A-Za-z][\w-]*)\s*:(?!//)(?P<space>\s*)(?P<value>\S.*)", re.DOTALL)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_WORDS = {"token", "secret", "password", "passwd", "passphrase", "apikey", "pat"}
_PAIRS = {("api", "key"), ("access", "key"), ("secret", "key"), ("auth", "key"), ("account", "key")}
_HEADERS = {"authorization", "proxy-authorization", "cookie"}
_HEADER_OPTIONS = {"-H", "--header", "--headers"}

_STAND_IN = re.compile(
    r"""\$.* | %\w+% | <.*> | \{.*\} | \*+ | x{3,} | \.{3} | …   # a blank to be filled in
      | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+                          # the name of a variable
      | (?:\.{0,2}|~)/.* | [A-Za-z]:\\.*                       # a path to where it is kept
      | [\w.-]+\.(?:json|txt|pem|key|ya?ml|toml|env)           # a file where it is kept
      | true | false | yes | no | none | null | env | stdin | -""",
    re.VERBOSE | re.DOTALL,
)
"""What may follow `--token` without being one."""

_BARE_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w-]{20,}")
"""What must follow a mere `--key` to be a credential: files and fields are keys as well."""


def credentials_in(args: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The index of each argument that holds a credential, and what gave it away, never the credential."""
    for index, arg in enumerate(args):
        before = args[index - 1] if index else ""
        reason = _shape_reason(arg) or _pair_reason(arg) or _header_reason(arg, before) or _value_reason(arg, before)
        if reason:
            yield index, reason


def names_credential(name: str) -> bool:
    """Whether something called this is a credential: `API_KEY` and `githubToken` are, `token-limit` is not."""
    words = _words(name)
    return bool(words) and (words[-1] in _WORDS or tuple(words[-2:]) in _PAIRS)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[_.-]+", _CAMEL.sub("-", name).lower()) if word]


def _shape_reason(arg: str) -> str | None:
    if _ISSUED.search(arg):
        return "it has the shape of an issued token or key"
    if any(not _is_stand_in(found["value"]) for found in _BEARER.finditer(arg)):
        return "it holds a bearer token"
    if any(not _is_stand_in(found["value"]) for found in _USERINFO.finditer(arg)):
        return "it holds an address with a password"
    return None


def _pair_reason(arg: str) -> str | None:
    pairs = [(found["name"], found["value"]) for found in (*_QUERY.finditer(arg), *_JSON_MEMBER.finditer(arg))]
    return next((f"it sets {name}" for name, value in (*pairs, *_assignments(arg)) if _is_set(name, value)), None)


def _assignments(arg: str) -> Iterator[tuple[str, str]]:
    """`--env=TOKEN=abc` may set `env` or `TOKEN`; `package==1.2` sets nothing."""
    parts = arg.lstrip("-").split("=", 2)
    for index, name in enumerate(parts[:-1]):
        value = "=".join(parts[index + 1 :])
        if _NAME.fullmatch(name) and not value.startswith("="):
            yield name, value


def _header_reason(arg: str, before: str) -> str | None:
    found = _HEADER.fullmatch(arg)
    if found is None or _is_stand_in(found["value"].split()[-1]):
        return None
    name = found["name"].lower()
    # `my-token:latest` is an image; only what is surely a header counts.
    surely = before in _HEADER_OPTIONS or name.startswith("x-") or found["space"] != ""
    return f"it sets the header {name}" if name in _HEADERS or (surely and names_credential(name)) else None


def _value_reason(arg: str, before: str) -> str | None:
    option = _OPTION.fullmatch(before)
    if option is None or arg.startswith("--"):
        return None
    if _is_set(option["name"], arg) or (option["name"] == "key" and _BARE_KEY.fullmatch(arg)):
        return f"it is the value of {before}"
    return None


def _is_set(name: str, value: str) -> bool:
    # `--max-token 5` counts; nobody's token is so short a number.
    counts = _words(name)[-1:] == ["token"] and value.isdigit() and len(value) <= 6
    return names_credential(name) and not counts and not _is_stand_in(value)


def _is_stand_in(value: str) -> bool:
    return not value or _STAND_IN.fullmatch(value) is not None
