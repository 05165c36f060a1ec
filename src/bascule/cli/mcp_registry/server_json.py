"""Parser of a `server.json` of the MCP registry, translated into keys of the config. The file is untrusted: its texts
never become references to variables of ours, and each input becomes a reference that the operator fills."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.cli.mcp_registry.inputs import Input, Need, Unmet, read_input, told
from bascule.core.errors import UsageError
from bascule.core.json_types import JsonObject, as_array, as_object, as_text, is_array, is_object

_NPM = re.compile(r"(@[a-z0-9~][\w.~-]*/)?[a-zA-Z0-9~][\w.~-]*")
_PYPI = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z][\w.+!-]*")
_IMAGE = re.compile(r"[a-z0-9][\w./:@-]*")
_HOMES = {"npm": {"", "https://registry.npmjs.org"}, "pypi": {"", "https://pypi.org"}}
"""Where packages come from unless somebody says otherwise."""

_WAYS = {"streamable-http": "http", "http": "http", "sse": "sse"}
_SNAKE = re.compile(r"_([a-z])")

KINDS = ("npm", "pypi", "oci", "remote")
"""What can be added, in the order in which it is preferred: a process can be put in a box, and has a twin for free."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to use the server: its entry in a config, and what is to be known about it."""

    kind: str
    what: str
    entry: JsonObject
    needs: tuple[Need, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Described:
    """All ways that a `server.json` offers, and why others cannot be used."""

    name: str
    plans: list[Plan] = field(default_factory=list[Plan])
    unmet: list[str] = field(default_factory=list[str])

    def choose(self, kind: str | None) -> Plan:
        fitting = [plan for plan in self.plans if kind in {None, plan.kind}]
        if fitting:
            return min(fitting, key=lambda plan: KINDS.index(plan.kind))
        offered = ", ".join(dict.fromkeys(plan.kind for plan in self.plans))
        raise UsageError(
            f"this server.json offers no {kind}" if kind and self.plans else "this server.json cannot be added",
            evidence="\n".join(self.unmet)
            or (f"it offers {offered}" if offered else "it names no package and no remote"),
            fix=f"leave --from out, or name one of {offered}" if self.plans else "add the server by its command or URL",
        )


def read_server_json(text: str | bytes, name: str | None = None) -> Described:
    """Raises `UsageError` where it is no such file. `name` is what the server is to be called."""
    from bascule.config.names import fold_name  # noqa: PLC0415 -- slow, and `bascule add --help` needs only the kinds

    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("this is no server.json", evidence=f"not JSON: {error}") from None
    root = as_object(_camel(raw))
    # The registry's own answers hold it beside what it says of it.
    root = as_object(root.get("server")) or root
    title = as_text(root.get("name"))
    if title is None or not ("packages" in root or "remotes" in root):
        evidence = "it has no name" if title is None else "it names no packages and no remotes"
        raise UsageError("this is no server.json", evidence=evidence, fix="see the registry's own documentation of it")
    described = Described(name or fold_name(title.rpartition("/")[2]))
    for package in map(as_object, as_array(root.get("packages"))):
        _try(described, package, _package)
    for remote in map(as_object, as_array(root.get("remotes"))):
        _try(described, remote, _remote)
    return described


def _try(described: Described, raw: JsonObject, make: Any) -> None:
    try:
        described.plans.append(make(described.name, raw))
    except Unmet as why:
        label = as_text(raw.get("identifier")) or as_text(raw.get("url")) or "a part without a name"
        described.unmet.append(f"{label}: {why}")


def _package(server: str, raw: JsonObject) -> Plan:
    kind, identifier = as_text(raw.get("registryType")), as_text(raw.get("identifier")) or ""
    way = as_text(as_object(raw.get("transport")).get("type")) or "stdio"
    if way != "stdio":
        raise Unmet(f"not supported: it serves {way} by itself; start it, then add its URL")
    make = _MAKERS.get(kind or "")
    if make is None:
        raise Unmet(f"not supported: packages of {kind or 'no registry'}")
    return make(server, identifier, raw)


def _npm(server: str, identifier: str, raw: JsonObject) -> Plan:
    spec = _spec("npm", identifier, raw, _NPM, "@")
    inputs = _Inputs(server, raw)
    runtime = [word for word in inputs.words("runtimeArguments") if word not in {"-y", "--yes"}]
    return inputs.plan("npm", identifier, "npx", ["-y", *runtime, spec, *inputs.words("packageArguments")])


def _pypi(server: str, identifier: str, raw: JsonObject) -> Plan:
    spec = _spec("pypi", identifier, raw, _PYPI, "==")
    inputs = _Inputs(server, raw)
    words = [*inputs.words("runtimeArguments"), spec, *inputs.words("packageArguments")]
    return inputs.plan("pypi", identifier, "uvx", words)


def _oci(server: str, identifier: str, raw: JsonObject) -> Plan:
    base = (as_text(raw.get("registryBaseUrl")) or "").removeprefix("https://").strip("/")
    version = as_text(raw.get("version"))
    last = identifier.rpartition("/")[2]
    tagged = ":" in last or "@" in last
    image = f"{base}/{identifier}" if base and base != "docker.io" else identifier
    image = image if tagged or not version else f"{image}:{version}"
    if not _IMAGE.fullmatch(image):
        raise Unmet(f"{identifier!r} is no image")
    inputs = _Inputs(server, raw)
    runtime = inputs.words("runtimeArguments")
    behind = inputs.words("packageArguments")
    names = [word for name in (*inputs.env, *inputs.inherited) for word in ("-e", name)]
    warnings = ["Docker runs it, outside of our boxes: it has no twin, and is refused once private data is on board"]
    if runtime:
        warnings.append(f"it gives Docker options of its own, which may open this machine to it: {' '.join(runtime)}")
    if not tagged and not version:
        warnings.append(f"{image} is not pinned; write {image}:VERSION")
    words = ["run", "-i", "--rm", *runtime, *names, image, *behind]
    return inputs.plan("oci", image, "docker", words, *warnings, sandbox="none")


_MAKERS = {"npm": _npm, "pypi": _pypi, "oci": _oci}


def _spec(kind: str, identifier: str, raw: JsonObject, form: re.Pattern[str], joint: str) -> str:
    base, version = as_text(raw.get("registryBaseUrl")) or "", as_text(raw.get("version"))
    if base.rstrip("/") not in _HOMES[kind]:
        raise Unmet(f"not supported: its packages come from {base}")
    if not form.fullmatch(identifier):
        raise Unmet(f"{identifier!r} is no name of a package")
    if version is None or version == "latest":
        return identifier
    if not _VERSION.fullmatch(version):
        raise Unmet(f"{version!r} is no exact version")
    return f"{identifier}{joint}{version}"


class _Inputs:
    """What one package is told: on its command line, and in its environment."""

    def __init__(self, server: str, raw: JsonObject) -> None:
        self._server = server
        self._raw = raw
        self.needs: list[Need] = []
        self.left_out: list[str] = []
        self.env: dict[str, str] = {}
        self.inherited: list[str] = []
        for each in map(as_object, as_array(raw.get("environmentVariables"))):
            self._variable(read_input(each))

    def _variable(self, given: Input) -> None:
        if given.name is None or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given.name):
            raise Unmet(f"{given.name!r} is no name of a variable")
        text = told(given, given.name, self.needs)
        if text is not None:
            self.env[given.name] = text
        else:
            self.inherited.append(given.name)
            self.needs.append(Need(given.name, given.description, needed=False, secret=given.secret))

    def words(self, key: str) -> list[str]:
        return [word for each in map(as_object, as_array(self._raw.get(key))) for word in self._argument(each)]

    def _argument(self, raw: JsonObject) -> Iterator[str]:
        given = read_input(raw)
        named = as_text(raw.get("type")) == "named" and given.name is not None
        label = (given.name or "" if named else as_text(raw.get("valueHint"))) or "argument"
        if given.secret and (given.required or given.value is not None):
            raise Unmet(f"{label} is a secret, and every user of the machine can read a command line")
        if named and given.value is None and given.default is None and given.flag:
            if given.required:
                yield str(given.name)
            return
        text = told(given, _variable_name(self._server, label), self.needs)
        if text is None:
            self.left_out.append(label)
        elif not named:
            yield text
        elif str(given.name).startswith("--") and text:
            yield f"{given.name}={text}"
        else:
            yield from (str(given.name), text) if text else (str(given.name),)

    def plan(self, kind: str, what: str, command: str, words: list[str], *warnings: str, **more: Any) -> Plan:
        entry: JsonObject = {"command": command, "args": words}
        entry |= {"env": self.env} if self.env else {}
        entry |= {"inherit_env": self.inherited} if self.inherited else {}
        return Plan(kind, what, entry | more, tuple(self.needs), warnings, _left_out("arguments", self.left_out))


def _remote(server: str, raw: JsonObject) -> Plan:
    kind, url = as_text(raw.get("type")) or as_text(raw.get("transportType")) or "", as_text(raw.get("url")) or ""
    way = _WAYS.get(kind)
    if way is None:
        raise Unmet(f"not supported: the transport {kind or 'without a name'}")
    if not url.startswith(("https://", "http://", "{")):
        raise Unmet("its URL is none of HTTP")
    needs: list[Need] = []
    address = Input(
        value=url, variables={key: read_input(as_object(each)) for key, each in _variables(raw)}, required=True
    )
    entry: JsonObject = {"url": told(address, _variable_name(server, "url"), needs), "transport": way}
    headers: dict[str, str] = {}
    left: list[str] = []
    for given in map(read_input, map(as_object, as_array(raw.get("headers")))):
        text = told(given, _variable_name(server, given.name or "header"), needs)
        if text is None:
            left.append(given.name or "")
        else:
            headers[given.name or ""] = text
    entry |= {"headers": headers} if headers else {}
    return Plan("remote", url, entry, tuple(needs), (), _left_out("headers", left))


def _left_out(what: str, names: list[str]) -> tuple[str, ...]:
    return (f"{what} that need not be given were left out: {', '.join(names)}",) if names else ()


def _variables(raw: JsonObject) -> Iterator[tuple[str, Any]]:
    yield from as_object(raw.get("variables")).items()


def _variable_name(server: str, label: str) -> str:
    """What a value is called that the operator gives: by the server and what it is for."""
    return re.sub(r"[^A-Z0-9]+", "_", f"{server}_{label}".upper()).strip("_")


def _camel(value: Any) -> Any:
    """Field names as they are written since September 2025; before that they had underscores."""
    if is_object(value):
        return {
            key if key == "variables" else _SNAKE.sub(_upper, key): _inside(key, each) for key, each in value.items()
        }
    return [_camel(each) for each in value] if is_array(value) else value


def _inside(key: str, value: Any) -> Any:
    """Names of variables are nobody's to change."""
    if key == "variables" and is_object(value):
        return {name: _camel(each) for name, each in value.items()}
    return _camel(value)


def _upper(found: re.Match[str]) -> str:
    return found[1].upper()
