"""Images for `examples/gateway` that no registry is needed for: what its Containerfile begins with, and a PostgreSQL."""

import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.docker import DockerEngine
from support.images import Add, add_linked, add_python, add_script, imported
from support.peers import environment
from support.postgres import programs

ASKED_FOR = ("bascule[gateway,otel,postgres,proxy,server,ui]", "pip")
"""What the Containerfile asks for. In the image it is there before, for nothing can be fetched."""

PIP = "import sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
PROGRAMS = ("sh", "mkdir", "chown", "rm", "cat")


def base_image(engine: DockerEngine) -> str:
    """What `python:3.13-slim` is elsewhere, and with it all that Bascule depends on."""
    backend = environment("hatchling", "hatchling").parent / "lib"
    built_with = list(metadata.distributions(path=[str(next(backend.glob("python*/site-packages")))]))
    packages = [*needed(*ASKED_FOR), *built_with]
    prefix = Path(sys.base_prefix).resolve()
    env = {
        "PATH": f"/srv/bin:{prefix}/bin:/usr/bin:/bin",
        "PYTHONPATH": "/srv/packages",
        # As pip understands it, this is a no.
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_INDEX": "1",
    }

    def build(add: Add) -> None:
        add_python(add, packages)
        add_script(add, "pip", f"#!{Path(sys.executable).resolve()}\n{PIP}")
        add_programs(add, PROGRAMS)

    holds = [sys.version, *(f"{dist.metadata['Name']}=={dist.version}" for dist in packages)]
    return imported(engine, "base", holds, env, build)


def needed(*names: str) -> list[metadata.Distribution]:
    """All that these packages need here, with their extras; but not Bascule, which the Containerfile brings."""
    found: dict[str, metadata.Distribution] = {}
    waiting, seen = [Requirement(name) for name in names], set[str]()
    while waiting:
        wanted = waiting.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        dist = metadata.distribution(wanted.name)
        found[canonicalize_name(wanted.name)] = dist
        waiting += [each for each in map(Requirement, dist.requires or ()) if _applies(each, wanted.extras)]
    found.pop("bascule")
    return list(found.values())


def _applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def add_programs(add: Add, names: Iterable[str]) -> None:
    for name in names:
        found = Path(shutil.which(name) or f"/bin/{name}")
        add(found, f"/bin/{name}")
        add_linked(add, found)


START = """#!/bin/sh
set -e
umask 077
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" >/tmp/password
    initdb --no-sync --username "$POSTGRES_USER" --pwfile /tmp/password --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8
    rm /tmp/password
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -j postgres
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
fi
exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp -c jit=off
"""
"""What the image of PostgreSQL's makers does, as far as `compose.yaml` makes use of it."""

PEOPLE = "root:x:0:0::/root:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n"


def postgres_image(engine: DockerEngine) -> str:
    """This machine's PostgreSQL, which keeps its data where the image of its makers does."""
    folder = programs()
    assert folder is not None
    release = folder.parent.name
    env = {"PATH": f"/srv/bin:{folder}:/bin", "PGDATA": "/var/lib/postgresql/data/of-this-test", "TZ": "UTC"}

    def build(add: Add) -> None:
        for name in ("postgres", "initdb", "pg_isready"):
            add(folder / name, str(folder / name))
            add_linked(add, folder / name)
        shown = (folder.parent / "lib", Path("/usr/share/postgresql") / release, Path("/usr/lib/locale/C.utf8"))
        for path in (path for place in shown for path in place.rglob("*") if not path.name.startswith("llvm")):
            add(path, str(path))
            if path.suffix == ".so":
                add_linked(add, path)
        for name in ("UTC", "GMT", "Etc/UTC"):
            add(Path("/usr/share/zoneinfo") / name, f"/usr/share/zoneinfo/{name}")
        add_programs(add, PROGRAMS)
        add_script(add, "start", START)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(PEOPLE)
            file.flush()
            add(Path(file.name), "/etc/passwd")

    plain = imported(engine, "postgres", [release, START], env, build)
    return _with(
        engine, plain, "RUN mkdir -m 1777 /tmp && mkdir -p /var/lib/postgresql/data", own="/var/lib/postgresql/data"
    )


def _with(engine: DockerEngine, image: str, *lines: str, own: str) -> str:
    """The image, with a folder of its user's own, which a volume that is mounted there then is too."""
    with tempfile.TemporaryDirectory() as folder:
        last = (f"RUN chown 999:999 {own}", "USER 999:999", "STOPSIGNAL SIGINT", 'ENTRYPOINT ["start"]')
        (Path(folder) / "Dockerfile").write_text("\n".join((f"FROM {image}", *lines, *last)) + "\n")
        engine.build(folder, "bascule-tests/postgres-server")
    return "bascule-tests/postgres-server"
