"""What the options of fetching commands mean to who fetches in their stead."""

from collections.abc import Mapping
from enum import Enum


class Meaning(Enum):
    """What is made of an option."""

    PACKAGE = "the package that brings the program"
    MORE = "one more package beside it"
    PYTHON = "which interpreter"
    SAID_ON = "said to who fetches"
    SAID_ON_WITH_VALUE = "said to who fetches, with its value"
    PASSED_OVER = "of no consequence for what is run"
    PASSED_OVER_WITH_VALUE = "of no consequence, and so is its value"

    @property
    def with_value(self) -> bool:
        return self not in {Meaning.SAID_ON, Meaning.PASSED_OVER}


class Table:
    """Options by their names. A text in place of a meaning says why a command with it is run as it is."""

    __slots__ = ("_meanings", "_short")

    def __init__(self, meanings: Mapping[str, Meaning | str], short: Mapping[str, str]) -> None:
        self._meanings = meanings
        self._short = short

    def get(self, name: str) -> Meaning | str | None:
        return self._meanings.get(self.long(name))

    def long(self, name: str) -> str:
        return self._short.get(name, name)


_SHELL = "runs a line of shell"
_OF_A_PROJECT = "speaks of a project in a folder, which is not ours to change"
_FILE = "names a file, which a box that fetches does not see"
_NOTHING_FETCHED = "forbids to fetch"
_OTHER_CONFIG = "names another configuration"
_RUNS_OTHERWISE = "changes how the program is run"

_PASSED_OVER = Meaning.PASSED_OVER
_SAID_ON = Meaning.SAID_ON
_VALUE = Meaning.SAID_ON_WITH_VALUE

NPM = Table(
    {
        "--package": Meaning.PACKAGE,
        "--yes": _PASSED_OVER,
        "--quiet": _PASSED_OVER,
        "--silent": _PASSED_OVER,
        "--verbose": _PASSED_OVER,
        "--prefer-online": _PASSED_OVER,
        "--prefer-offline": _PASSED_OVER,
        "--no-audit": _PASSED_OVER,
        "--no-fund": _PASSED_OVER,
        "--no-update-notifier": _PASSED_OVER,
        "--loglevel": Meaning.PASSED_OVER_WITH_VALUE,
        "--cache": Meaning.PASSED_OVER_WITH_VALUE,
        "--registry": _VALUE,
        "--ignore-scripts": _SAID_ON,
        "--legacy-peer-deps": _SAID_ON,
        "--force": _SAID_ON,
        "--omit": _VALUE,
        "--call": _SHELL,
        "--shell-mode": _SHELL,
        "--shell": _SHELL,
        "--workspace": _OF_A_PROJECT,
        "--workspaces": _OF_A_PROJECT,
        "--prefix": _OF_A_PROJECT,
        "--no": _NOTHING_FETCHED,
        "--no-install": _NOTHING_FETCHED,
        "--offline": _NOTHING_FETCHED,
        "--userconfig": _OTHER_CONFIG,
        "--globalconfig": _OTHER_CONFIG,
        "--node-options": _RUNS_OTHERWISE,
        "--bun": _RUNS_OTHERWISE,
    },
    {"-p": "--package", "-y": "--yes", "-q": "--quiet", "-s": "--silent", "-c": "--call", "-w": "--workspace"},
)

UV = Table(
    {
        "--from": Meaning.PACKAGE,
        "--with": Meaning.MORE,
        "--python": Meaning.PYTHON,
        "--isolated": _PASSED_OVER,
        "--quiet": _PASSED_OVER,
        "--verbose": _PASSED_OVER,
        "--no-cache": _PASSED_OVER,
        "--refresh": _PASSED_OVER,
        "--reinstall": _PASSED_OVER,
        "--upgrade": _PASSED_OVER,
        "--no-progress": _PASSED_OVER,
        "--no-python-downloads": _PASSED_OVER,
        "--no-managed-python": _PASSED_OVER,
        "--no-env-file": _PASSED_OVER,
        "--compile-bytecode": _PASSED_OVER,
        "--system-certs": _PASSED_OVER,
        "--native-tls": _PASSED_OVER,
        "--cache-dir": Meaning.PASSED_OVER_WITH_VALUE,
        "--link-mode": Meaning.PASSED_OVER_WITH_VALUE,
        "--color": Meaning.PASSED_OVER_WITH_VALUE,
        "--refresh-package": Meaning.PASSED_OVER_WITH_VALUE,
        "--index": _VALUE,
        "--default-index": _VALUE,
        "--index-url": _VALUE,
        "--extra-index-url": _VALUE,
        "--find-links": _VALUE,
        "--no-index": _SAID_ON,
        "--index-strategy": _VALUE,
        "--prerelease": _VALUE,
        "--resolution": _VALUE,
        "--exclude-newer": _VALUE,
        "--no-build": _SAID_ON,
        "--with-requirements": _FILE,
        "--constraints": _FILE,
        "--build-constraints": _FILE,
        "--overrides": _FILE,
        "--env-file": _RUNS_OTHERWISE,
        "--with-editable": _OF_A_PROJECT,
        "--directory": _OF_A_PROJECT,
        "--project": _OF_A_PROJECT,
        "--offline": _NOTHING_FETCHED,
        "--config-file": _OTHER_CONFIG,
        "--no-config": _OTHER_CONFIG,
    },
    {
        "-w": "--with",
        "-p": "--python",
        "-q": "--quiet",
        "-v": "--verbose",
        "-n": "--no-cache",
        "-U": "--upgrade",
        "-i": "--index-url",
        "-f": "--find-links",
        "-c": "--constraints",
        "-b": "--build-constraints",
        "--constraint": "--constraints",
        "--no-cache-dir": "--no-cache",
    },
)

PIPX = Table(
    {
        "--spec": Meaning.PACKAGE,
        "--with": Meaning.MORE,
        "--python": Meaning.PYTHON,
        "--no-cache": _PASSED_OVER,
        "--quiet": _PASSED_OVER,
        "--verbose": _PASSED_OVER,
        "--index-url": _VALUE,
        "--pip-args": "is for pip alone, and may say anything to it",
        "--editable": _OF_A_PROJECT,
        "--path": _FILE,
        "--pypackages": _OF_A_PROJECT,
        "--system-site-packages": "mixes the package with those of this machine",
        "--fetch-missing-python": "fetches an interpreter",
    },
    {"-i": "--index-url", "-q": "--quiet", "-v": "--verbose", "-e": "--editable"},
)
