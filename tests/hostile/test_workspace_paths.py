"""Paths that try to lead out of a workspace, and ordinary ones that must not be taken for such."""

import os
import random
import socket
import stat
import threading
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import PathRefused, WorkspaceError
from bascule.core.principal import Principal
from bascule.workspace import Workspace
from bascule.workspace.openat import Engine
from support.workspaces import ENGINES, OUTSIDE_ONLY, SECRET, canary, open_descriptors, texts, tree

STEPS = (
    *(
        "..",
        "..",
        "..",
        ".",
        "",
        "...",
        "....",
        "..;",
        ".. ",
        " ..",
        "..\t",
        "..\n",
        "..\x00",
        "\x00",
        "..\x7f",
        "..\x85",
    ),
    *("%2e%2e", "%2E%2E%2F", "..%2f", "..%5c", "..\\", "..\\..\\", "%252e%252e", "..%c0%af", "%c0%ae%c0%ae", "\\..\\"),
    *(
        "．．",
        "․․",
        "‥",
        "..／",
        "..∕",
        "..⁄",
        "．．／",
        "\u202e..",
        "..\u200d",
        "\ufeff..",
        "\ud800",
        "..\udc2f",
        "\udcff",
        "¨..",
        "..́",
    ),
    *("out", "up", "up2", "root", "proc", "self", "abs", "file", "loop", "a", "d", "d/deep", "hard", "host", "inner"),
    *("secret.txt", "sub", "etc", "passwd", "workspace", "files", "attic", "index", "~", "~root", "$HOME", "${HOME}"),
    *("proc/self/root", "proc/self/cwd", "dev/fd", "x" * 255, "x" * 256, "é" * 127, "é" * 128, "y" * 1000, "a" * 4096),
)
BEGINNINGS = (
    *(
        "",
        "",
        "",
        "/workspace/",
        "/workspace/",
        "/workspace",
        "/workspacex/",
        "/workspace../",
        "/workspace/../workspace/",
    ),
    *("/workspace/../workspacex/", "/", "//", "///", "//workspace/", "/./workspace/", "/Workspace/", "/WORKSPACE/"),
    *("/proc/self/root/", "/proc/self/cwd/", "/proc/self/fd/3/", "/dev/fd/0", "/etc/", "/root/", "./", "../", "./../"),
    *("file:///", "file://localhost/workspace/", "C:\\", "\\\\host\\share\\", "~/", "/ｗorkspace/", "/workspace∕..∕"),
)
LINKS = {
    "out": "{outside}",
    "up": "..",
    "up2": "d/../..",
    "root": "/",
    "proc": "/proc/self/root",
    "self": "/proc/self/fd",
    "abs": "{files}/../../outside",
    "file": "{outside}/secret.txt",
    "host": "{files}",
    "loop": "loop",
    "inner": "/workspace/../../outside",
    "d/deep": "../../../outside/sub",
}


def furnish(files: Path, outside: Path) -> None:
    """Whatever of it is missing: the paths that are tried delete too."""
    if (files / "d").is_symlink() or not (files / "d").is_dir():
        (files / "d").unlink(missing_ok=True)
        (files / "d").mkdir()
    for name, target in LINKS.items():
        with suppress(FileExistsError):
            (files / name).symlink_to(target.format(outside=outside, files=files))
    with suppress(FileExistsError):
        os.link(outside / "secret.txt", files / "hard")


def made_up(chance: random.Random, tmp_path: Path) -> str:
    roots = [str(tmp_path / "outside"), str(tmp_path / "home"), str(tmp_path / "home/files")]
    beginning = chance.choice([*BEGINNINGS, *(f"{root}/" for root in roots)])
    # Every other path has nothing in it that is refused by its looks alone.
    tame = [*LINKS, "..", "..", ".", "", "a", "hard", "secret.txt", "sub", "f", "attic", "files", "etc/passwd"]
    steps = chance.choices(chance.choice((STEPS, tame)), k=chance.randint(1, 6))
    return (
        beginning + chance.choice(("/", "/", "/", "//", "/./", "\\")).join(steps) + chance.choice(("", "", "/", "/."))
    )


def listed(workspace: Workspace, path: str) -> str:
    return " ".join(entry.name for entry in workspace.list(path))


ACTS: dict[str, Callable[[Workspace, str], Any]] = {
    "read": Workspace.read_text,
    "write": lambda workspace, path: workspace.write_text(path, "mine"),
    "append": lambda workspace, path: workspace.open(path, "a").close(),
    "list": listed,
    "stat": Workspace.stat,
    "exists": Workspace.exists,
    "rename": lambda workspace, path: workspace.rename(path, path + "2"),
    "delete": Workspace.delete,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_no_path_leads_out_and_no_message_shows_a_host_path(engine: type[Engine], tmp_path: Path, scale: int):
    seed = int(os.environ.get("BASCULE_SEED") or random.SystemRandom().randrange(2**32))
    chance, outside, files = random.Random(seed), tmp_path / "outside", tmp_path / "home" / "files"
    before, refused = canary(outside), 0
    with Workspace(tmp_path / "home", engine=engine()) as workspace:
        descriptors = open_descriptors(tmp_path)
        for number in range(2000 * scale):
            if number % 50 == 0:
                furnish(files, outside)
            path = made_up(chance, tmp_path)
            for name, act in ACTS.items():
                try:
                    found = str(act(workspace, path))
                except WorkspaceError as error:
                    refused += 1
                    leaks = [text for text in texts(error) if str(tmp_path) in text]
                    assert leaks == [], f"seed {seed}: {name} {path!r}"
                else:
                    assert SECRET not in found, f"seed {seed}: {name} {path!r}"
                    assert OUTSIDE_ONLY not in found, f"seed {seed}: {name} {path!r}"
        assert (
            open_descriptors(tmp_path) - descriptors <= 2
        )  # the attic and its index, which the first write has opened
    assert tree(outside) == before, f"seed {seed}"
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "home"}
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"files", "attic"}
    assert refused > 1000 * scale


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("act", ["read", "write", "append", "list", "stat"])
def test_a_link_that_leads_out_is_refused_and_can_be_deleted(act: str, link: str, engine: type[Engine], tmp_path: Path):
    before = canary(tmp_path / "outside")
    with Workspace(tmp_path / "home", engine=engine()) as workspace:
        furnish(tmp_path / "home" / "files", tmp_path / "outside")
        with pytest.raises(PathRefused):
            ACTS[act](workspace, link)
        with pytest.raises(PathRefused):
            ACTS[act](workspace, f"{link}/sub/f")
        workspace.delete(link)
        assert not workspace.exists(link)
    assert tree(tmp_path / "outside") == before


def refuses(workspace: Workspace, name: str) -> list[str]:
    """What may be done with what is no file."""
    done: list[str] = []
    for act in ("r", "rb", "r+", "a", "w", "x"):
        try:
            workspace.open(name, act).close()  # type: ignore[call-overload]
            done.append(act)
        except WorkspaceError:
            pass
    for number, step in enumerate((workspace.read_bytes, lambda path: workspace.write_bytes(path, b"x"))):
        try:
            step(name)
            done.append(str(number))
        except PathRefused:
            pass
    return done


@pytest.mark.parametrize("engine", ENGINES)
def test_pipes_sockets_and_devices_are_refused_and_never_waited_for(engine: type[Engine], tmp_path: Path):
    with Workspace(tmp_path / "home", engine=engine()) as workspace, socket.socket(socket.AF_UNIX) as listener:
        files = tmp_path / "home" / "files"
        os.mkfifo(files / "pipe")
        listener.bind(str(files / "socket"))
        nodes = {"pipe", "socket"}
        for name, kind, device in (
            ("null", stat.S_IFCHR, (1, 3)),
            ("tty", stat.S_IFCHR, (5, 0)),
            ("full", stat.S_IFCHR, (1, 7)),
            ("disk", stat.S_IFBLK, (7, 200)),
        ):
            try:
                os.mknod(files / name, kind | 0o666, os.makedev(*device))
            except PermissionError:
                pytest.skip("device nodes cannot be made here")
            nodes.add(name)
        done: list[str] = []
        watched = threading.Thread(
            target=lambda: done.extend(f"{act} {name}" for name in nodes for act in refuses(workspace, name)),
            daemon=True,
        )
        watched.start()
        watched.join(30)
        assert not watched.is_alive(), "it waits for something that is no file"
        assert done == []
        assert {entry.name: entry.kind for entry in workspace.list()} == dict.fromkeys(nodes, "other")
        for name in nodes:
            workspace.delete(name)


def ordinary(chance: random.Random) -> list[str]:
    words = (
        *(
            "notes",
            "Ärger",
            "naïve",
            "日本語",
            "файл",
            "ملف",
            "नमस्ते",
            "👩‍👩‍👧",
            "a b",
            " lead",
            "trail ",
            "tab",
            "x.tar.gz",
        ),
        *(".hidden", "...", "....", "a..b", "..a", "b..", "-rf", "--help", "con", "nul", "a:b", "a;b", "a|b", "a&b"),
        *(
            "$HOME",
            "~",
            "~root",
            "%2e%2e",
            "..%2f",
            "a\\b",
            "..\\..",
            "'",
            '"',
            "`id`",
            "*",
            "?",
            "[a]",
            "{b}",
            "#",
            "@",
            "!",
        ),
        *(unicodedata.normalize(form, "Ångström") for form in ("NFC", "NFD")),
        *("workspace", "proc", "self", "files", "attic", "index", "x (deleted)", "x" * 255, "é" * 127, "．．", "‥"),
    )
    deep = ["/".join(chance.choices(words[:30], k=chance.randint(2, 40))) for _ in range(200)]
    plain = [f"{chance.choice(words)[:100]}{number}" for number in range(500 - len(words) - len(deep))]
    return [*words, *(f"deep{number}/{name}" for number, name in enumerate(deep)), *plain]


@pytest.mark.parametrize("engine", ENGINES)
def test_five_hundred_ordinary_names_all_work(engine: type[Engine], tmp_path: Path):
    names = ordinary(random.Random(7))
    with Workspace(tmp_path / "home", engine=engine()) as workspace:
        for name in names:
            workspace.write_text(f"n/{name}" if len(name) < 200 else name, name)
        for name in names:
            path = f"/workspace/n/{name}" if len(name) < 200 else f"/workspace/./{name}"
            assert workspace.read_text(path) == name
            assert workspace.stat(path).size == len(name.encode())
            with workspace.open(path) as file:
                assert file.name == path.replace("/./", "/")
    assert len(set(names)) == 500


@pytest.mark.parametrize(
    "user", ["../../evil", "a/b", "/etc", "..", ".", "x" * 255, "ü" * 255, "a\\b", "con", "~", "*"]
)
def test_no_id_becomes_a_part_of_a_path(user: str, tmp_path: Path):
    root = tmp_path / "root"
    for principal in (Principal(user, "s"), Principal("s", user)):
        with Workspace.of(principal, root) as workspace:
            workspace.write_text("f", user)
            assert workspace.read_text("f") == user
    homes = [path.name for path in root.iterdir()]
    assert len(homes) == 2
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in homes)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
