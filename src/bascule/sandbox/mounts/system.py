"""System mounts of every sandbox: the host's programs and libraries, read-only, and a few settings. Accounts and name
resolution are written new, so the server is the only user."""

import os
from pathlib import Path

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.path_checks import is_file, is_folder
from bascule.sandbox.mounts.symlinks import trail
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.spec.box import HOME, USER, Mount

FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")

SETTINGS = (
    # How libraries are found, and which of several programs of one name is meant.
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ld-musl-*.path"),
    # Whom to believe. The private keys beside them are left out.
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs"),
    *("/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust", "/etc/crypto-policies"),
    # Time, language, names of ports and types.
    *("/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/services", "/etc/protocols"),
    *("/etc/mime.types", "/etc/os-release", "/etc/gai.conf", "/etc/host.conf", "/etc/fonts", "/etc/java-*"),
)

NAMES_OF_HOSTS = "/etc/hosts"


def show_system(view: View, lane: Lane) -> None:
    for folder in FOLDERS:
        followed = trail(folder)
        if is_folder(folder):
            view.link(followed.links)
            view.add(Mount(followed.end, followed.end, why="system"))
    for setting in SETTINGS:
        for path in sorted(map(str, Path("/").glob(setting[1:]))):
            view.add(Mount(os.path.realpath(path), path, why="system"))
    # Names that only this machine knows are of use to who can reach what they stand for.
    if lane is Lane.OPEN and is_file(NAMES_OF_HOSTS):
        view.add(Mount(os.path.realpath(NAMES_OF_HOSTS), NAMES_OF_HOSTS, why="system"))


def written_files(lane: Lane, user: int = USER) -> dict[str, str]:
    """Files that are made for the box: accounts, and how names are looked up."""
    hosts = {} if lane is Lane.OPEN else {NAMES_OF_HOSTS: "127.0.0.1 localhost box\n::1 localhost box\n"}
    return {
        "/etc/passwd": f"box:x:{user}:{user}:box:{HOME}:/usr/sbin/nologin\n",
        "/etc/group": f"box:x:{user}:\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        **hosts,
    }
