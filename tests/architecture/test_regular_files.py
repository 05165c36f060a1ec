"""Files of users, projects and the state folder are opened by `bascule.files` only: a plain `open()` of a FIFO waits
for ever."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src/bascule"

MODE = re.compile(r"[rwaxbt+]{1,3}")

READERS = {"read_text", "read_bytes", "load_cert_chain", "load_verify_locations"}

KERNEL = "files of the kernel: /proc, /sys and /dev/null"
OURS = "files of the package itself"
WRITES = "writes or makes a file, with O_EXCL or mode x"
FOLDER = "opens a folder, with O_DIRECTORY"
WORKSPACE = "goes through the workspace, whose rules are its own"

ALLOWED = {
    "cli/commands/audit.py": "writes the file that the operator names, which may be a pipe",
    "cli/commands/explain.py": OURS,
    "cli/commands/new.py": f"{OURS}; {WRITES}",
    "cli/completion/names.py": "asks for the kind of the database file first",
    "cli/doctor/network.py": KERNEL,
    "cli/main.py": KERNEL,
    "config/editing/atomic_write.py": WRITES,
    "dashboard/pages/assets.py": OURS,
    "demo/files.py": "a server of the demo, with a folder of its own",
    "demo/post.py": KERNEL,
    "demo/story/steps.py": "the demo, with a folder of its own",
    "files/regular_file.py": "the one place",
    "gateway/cluster/address.py": KERNEL,
    "gateway/cluster/tls.py": "OpenSSL opens the file, after a read by `bascule.files`",
    "gateway/stdio/streams.py": KERNEL,
    "kit/connectors/csv_files.py": WORKSPACE,
    "kit/connectors/files.py": WORKSPACE,
    "kit/connectors/http/openapi_document.py": WORKSPACE,
    "kit/connectors/json_files.py": WORKSPACE,
    "kit/connectors/sql/sqlite.py": f"asks for the kind of the database file first; {WORKSPACE}",
    "kit/sandbox_server/tools.py": WORKSPACE,
    "runtime/servers/lock.py": f"{WRITES}; {FOLDER}",
    "sandbox/bubblewrap/cgroups.py": KERNEL,
    "sandbox/bubblewrap/engine.py": f"{KERNEL}; /etc/resolv.conf",
    "sandbox/bubblewrap/own_inodes.py": "files in a folder that the runtime has just made",
    "sandbox/docker/box.py": KERNEL,
    "sandbox/docker/bundled_python.py": OURS,
    "sandbox/docker/host_firewall.py": KERNEL,
    "sandbox/docker/image.py": "an archive in memory",
    "sandbox/egress/proxy.py": f"{KERNEL}; {FOLDER}",
    "sandbox/inside/entry.py": KERNEL,
    "sandbox/inside/probes.py": KERNEL,
    "sandbox/mounts/mount_points.py": KERNEL,
    "sandbox/owner.py": "makes the lock in a folder that it has just made",
    "sandbox/process/supervised.py": KERNEL,
    "sandbox/process/tree.py": KERNEL,
    "sandbox/raise_socket.py": FOLDER,
    "store/secrets/key_files.py": f"{WRITES}; {FOLDER}",
    "store/sqlite/store.py": "asks for the kind of the database file first",
    "transports/process/docker_kill.py": KERNEL,
    "workspace/confined_root.py": WORKSPACE,
    "workspace/directory.py": FOLDER,
    "workspace/openat.py": WORKSPACE,
    "workspace/undo/backups.py": WORKSPACE,
    "workspace/workspace.py": WORKSPACE,
}
"""Modules that open files in another way, each with its reason."""


def direct_opens(path: Path) -> Iterator[int]:
    """Lines that open a file."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Call(func=ast.Name("open")) | ast.Call(func=ast.Attribute(ast.Name("os" | "io"), "open")):
                yield node.lineno
            case ast.Call(func=ast.Attribute(ast.Name("sqlite3"), "connect")):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr=name)) if name in READERS:
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="open"), args=args, keywords=keywords):
                given = (*args, *(each.value for each in keywords if each.arg == "mode"))
                if any(isinstance(each, ast.Constant) and MODE.fullmatch(str(each.value)) for each in given):
                    yield node.lineno
            case _:
                pass


def opening_modules() -> dict[str, list[int]]:
    found = {str(path.relative_to(PACKAGE)): [*direct_opens(path)] for path in PACKAGE.rglob("*.py")}
    return {path: lines for path, lines in found.items() if lines}


def test_files_are_opened_without_blocking():
    offenders = {f"{path}:{line}" for path, lines in opening_modules().items() for line in lines if path not in ALLOWED}

    assert offenders == set(), "use `open_regular` or `read_regular` of bascule.files.regular_file"


def test_each_module_with_leave_to_open_files_opens_some():
    assert set(ALLOWED) - set(opening_modules()) == set()
