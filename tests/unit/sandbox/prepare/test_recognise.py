""" """

import pytest

from bascule.sandbox.prepare.package import Package, Unprepared
from bascule.sandbox.prepare.recognise import NPM, PIPX, UV, Meaning, Table, recognise


def npm(*specs: str, binary: str | None = None, arguments: str = "", runner: str = "npx", options: str = "") -> Package:
    return Package("npm", specs, binary, tuple(arguments.split()), runner, tuple(options.split()))


def python(
    *specs: str,
    binary: str,
    arguments: str = "",
    runner: str = "uvx",
    options: str = "",
    version: str | None = None,
) -> Package:
    return Package("python", specs, binary, tuple(arguments.split()), runner, tuple(options.split()), version)


@pytest.mark.parametrize(
    ("command", "package"),
    [
        (
            "npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /data",
            npm("@modelcontextprotocol/server-filesystem@2026.8.31", arguments="/data"),
        ),
        ("npx --yes --package=foo bar args --flag", npm("foo", binary="bar", arguments="args --flag")),
        ("npx -p a -p b bin", npm("a", "b", binary="bin")),
        ("npx -p a -- bin -x", npm("a", binary="bin", arguments="-x")),
        ("npx -- a -x", npm("a", arguments="-x")),
        ("npx --yes=true a", npm("a")),
        ("/opt/node/bin/npx a", npm("a")),
        ("npx.cmd -y a", npm("a")),
        ("C:\\node\\npx.cmd -y a", npm("a")),
        ("npx --registry https://r.test a", npm("a", options="--registry=https://r.test")),
        ("npx --@s:registry=https://r.test @s/a", npm("@s/a", options="--@s:registry=https://r.test")),
        ("npx --ignore-scripts a", npm("a", options="--ignore-scripts")),
        ("npm exec -y -- a -x", npm("a", arguments="-x", runner="npm")),
        ("npm x -- a", npm("a", runner="npm")),
        ("pnpm dlx a -x", npm("a", arguments="-x", runner="pnpm")),
        ("pnpm --package=a dlx bin", npm("a", binary="bin", runner="pnpm")),
        ("pnpx a", npm("a", runner="pnpx")),
        ("yarn dlx -q -p a bin", npm("a", binary="bin", runner="yarn")),
        ("bunx a", npm("a", runner="bunx")),
        ("bun x a", npm("a", runner="bun")),
        (
            "uvx mcp-server-time --local-timezone=UTC",
            python("mcp-server-time", binary="mcp-server-time", arguments="--local-timezone=UTC"),
        ),
        ("uvx --from pkg bin -x", python("pkg", binary="bin", arguments="-x")),
        (
            "uvx --with extra -w more --python 3.12 pkg",
            python("pkg", "extra", "more", binary="pkg", version="3.12"),
        ),
        ("uvx pkg@1.2", python("pkg==1.2", binary="pkg")),
        ("uvx --from pkg python -m mod", python("pkg", binary="python", arguments="-m mod")),
        (
            "uvx --from git+https://h.test/a/b@v1 b",
            python("git+https://h.test/a/b@v1", binary="b"),
        ),
        ("uvx -i https://i.test pkg", python("pkg", binary="pkg", options="--index-url=https://i.test")),
        ("uv tool run pkg", python("pkg", binary="pkg", runner="uv")),
        ("uv -q tool run --isolated pkg", python("pkg", binary="pkg", runner="uv")),
        ("uvx.exe pkg", python("pkg", binary="pkg")),
        ("pipx run pkg==1 x", python("pkg==1", binary="pkg", arguments="x", runner="pipx")),
        ("pipx run --spec pkg bin", python("pkg", binary="bin", runner="pipx")),
    ],
)
def test_commands_that_people_have_are_understood(command: str, package: Package):
    assert recognise(command.split()) == package


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("npx -c server", "shell"),
        ("npx --call=server", "shell"),
        ("npx", "no program"),
        ("npx -p a", "no program"),
        ("npx -p", "not understood"),
        ("npx --frobnicate a", "--frobnicate"),
        ("npx -yp a bin", "-yp"),
        ("npx --yes=false a", "--yes=false"),
        ("npx --no-install a", "forbids"),
        ("npx --node-options=--inspect a", "how the program is run"),
        ("npx ./folder", "whole path"),
        ("npx -p a ../bin", "which program"),
        ("npx --registry=https://u:w@r.test a", "password"),
        ("npm exec a -x", "--"),
        ("bunx --bun a", "how the program is run"),
        ("pnpm -c dlx a", "shell"),
        ("uvx python", "interpreter"),
        ("uvx git+https://h.test/a/b", "which program"),
        ("uvx --with-editable . pkg", "project"),
        ("uvx --with-requirements r.txt pkg", "file"),
        ("uvx --env-file .env pkg", "how the program is run"),
        ("uvx --offline pkg", "forbids"),
        ("uv run server.py", "uv sync"),
        ("uv run --with mcp server.py", "uv sync"),
        ("uv --directory /project run server.py", "uv sync"),
        ("pipx run --pip-args=-q pkg", "pip"),
        ("pipx run script.py", "not understood"),
    ],
)
def test_what_is_not_understood_whole_is_run_as_it_is_and_says_why(command: str, why: str):
    found = recognise(command.split())

    assert isinstance(found, Unprepared)
    assert why in found.reason


@pytest.mark.parametrize(
    "command",
    ["", "python -m server", "node index.js", "npm start", "uv pip install a", "pnpm start", "yarn start", "bun a.ts",
     "pipx list", "npxx a", "docker run npx a"],
)  # fmt: skip
def test_other_commands_fetch_nothing(command: str):
    assert recognise(command.split()) is None


@pytest.mark.parametrize("option", ["--frobnicate", "-Z", "--yess", "--package-lock"])
def test_no_unknown_option_is_ever_passed_over(option: str):
    for runner in ("npx", "uvx", "pipx run", "pnpm dlx", "bunx", "uv tool run"):
        assert isinstance(recognise([*runner.split(), option, "pkg"]), Unprepared)


@pytest.mark.parametrize("table", [NPM, UV, PIPX])
def test_the_short_name_of_an_option_means_what_the_long_one_does(table: Table):
    assert table.get("-q") is table.get("--quiet") is Meaning.PASSED_OVER
    assert table.long("-q") == "--quiet"


def test_an_option_that_nobody_knows_means_nothing():
    assert NPM.get("--frobnicate") is None


def test_what_changes_how_a_program_is_run_says_why_it_is_not_prepared():
    assert isinstance(NPM.get("--node-options"), str)


def test_only_some_meanings_take_a_value():
    assert {each for each in Meaning if not each.with_value} == {Meaning.SAID_ON, Meaning.PASSED_OVER}
