"""Shells complete our words: real ones, told by the script that the command prints."""

import asyncio
import json
import re
import resource
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.activated import activated
from support.command import bascule, environment
from support.inside import INSTALL
from support.pages import ROOT, Block, every_block
from support.runtime import a_tool
from support.scenarios import entry, write_mcp_json
from support.terminal import AtATerminal, at_a_terminal
from support.waiting import fail_after, until

pytestmark = pytest.mark.requirement("UX-2")

ASKING = {
    "bash": """
eval "$(bascule completion bash)"
COMP_WORDS=(bascule "$@"); COMP_CWORD=$#
_bascule
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "fish": "bascule completion fish | source; complete -C (string join -- ' ' bascule $argv)",
}
"""How a shell is asked without a terminal. Zsh has no such way, and is typed at."""


def there(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed (Debian: apt-get install {shell})")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tools = json.dumps([a_tool("act"), a_tool("arrange")])
    write_mcp_json(tmp_path, {"work": entry("obeying", tmp_path / "log", tools), "wares": entry("echo")})
    (tmp_path / "some-file.yaml").write_text("mcp_servers: {}")
    (tmp_path / "some-folder").mkdir()
    return tmp_path


async def completed(folder: Path, shell: str, *words: str) -> list[str]:
    """What the shell offers for the last of these words."""
    flags = ("--norc",) if shell == "bash" else ("--no-config",)
    rest = (shell,) if shell == "bash" else ("--",)
    process = await asyncio.create_subprocess_exec(
        *(there(shell), *flags, "-c", ASKING[shell], *rest, *words),
        cwd=folder,
        env=environment(folder, {**activated(), "XDG_DATA_HOME": str(folder / "data"), "HOME": str(folder / "home")}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with fail_after(60):
        out, err = await process.communicate()
    assert err == b""
    return [line.partition("\t")[0] for line in out.decode().splitlines() if line]


CASES = {
    "commands": (("lo",), ["login", "logout", "logs"]),
    "sub-commands": (("audit", ""), ["export", "show", "verify"]),
    "what stands before": (("sessions", "--user", "ada", "r"), ["raise"]),
    "options": (("audit", "export", "--s"), ["--server", "--session", "--since"]),
    "an option once": (("list", "--resources", "--re"), []),
    "choices": (("sessions", "raise", "--to", ""), ["confidential", "internal", "secret"]),
    "servers": (("logs", "w"), ["wares", "work"]),
    "servers of another config": (("logs", "--config", "some-file.yaml", ""), []),
    "files": (("list", "--config", "some-fi"), ["some-file.yaml"]),
    "help": (("help", "audit", "v"), ["verify"]),
    "shells": (("completion", ""), ["bash", "fish", "zsh"]),
    "free text": (("sessions", "raise", "--reason", ""), []),
}


@pytest.mark.parametrize("shell", ASKING)
@pytest.mark.parametrize("case", CASES)
async def test_a_shell_completes(folder: Path, shell: str, case: str):
    words, offered = CASES[case]
    assert sorted(await completed(folder, shell, *words)) == offered


@pytest.mark.parametrize("shell", ASKING)
@pytest.mark.long
async def test_the_tools_are_those_that_were_listed_last(folder: Path, shell: str):
    assert await completed(folder, shell, "call", "work_") == []
    await bascule(folder, "list")

    assert await completed(folder, shell, "call", "work_a") == ["work_act", "work_arrange"]
    assert await completed(folder, shell, "approve", "work/ar") == ["work/arrange"]
    assert await completed(folder, shell, "inspect", "wo") == ["work", "work_act", "work_arrange"]


async def test_bash_completes_behind_an_equals_sign(folder: Path):
    """Which it takes for a word of its own."""
    assert await completed(folder, "bash", "audit", "export", "--format", "=", "c") == ["csv"]
    assert await completed(folder, "bash", "list", "--config", "=", "some-fi") == ["some-file.yaml"]
    assert await completed(folder, "bash", "list", "--config", "=") != []


@asynccontextmanager
async def typing_at(folder: Path, shell: str) -> AsyncGenerator[AtATerminal]:
    flags = {"bash": ("--norc", "--noprofile", "-i"), "zsh": ("-f", "-i")}[shell]
    env = {**activated(), "PS1": "> ", "TERM": "dumb", "HOME": str(folder), "ZDOTDIR": str(folder)}
    async with at_a_terminal(folder, *flags, program=there(shell), env=env, columns=200, out=True) as terminal:
        yield terminal
        terminal.type("\x15exit\n")
        await terminal.end()


PREPARED = {
    "bash": 'eval "$(bascule completion bash)"; PS1="at your ser""vice> "\n',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(bascule completion zsh)"; PS1="at your ser""vice> "\n',
}


@pytest.mark.parametrize("shell", PREPARED)
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("bascule sess\tra\t", "bascule sessions raise "),
        ("bascule sessions raise --to sec\t", "--to secret "),
        ("bascule logs wor\t", "bascule logs work "),
        ("bascule list --config some-fi\t", "--config some-file.yaml "),
        ("bascule list --config=some-fi\t", "--config=some-file.yaml "),
        ("bascule new server x --folder some-\t", "--folder some-folder/"),
    ],
)
async def test_what_is_typed_at_a_terminal_is_completed(folder: Path, shell: str, typed: str, shown: str):
    async with typing_at(folder, shell) as terminal:
        terminal.type(PREPARED[shell])
        await terminal.until("at your service> ")
        terminal.type(typed)
        # Bells, and blanks that are taken back.
        await until(lambda: shown in terminal.shown.replace("\x07", "").replace(" \x08", ""))


@pytest.mark.long
async def test_zsh_says_what_each_word_is_for(folder: Path):
    async with typing_at(folder, "zsh") as terminal:
        terminal.type(PREPARED["zsh"])
        await terminal.until("at your service> ")
        terminal.type("bascule audit \t")
        await terminal.until("-- verify that the log is what was written")


@pytest.mark.requirement("UX-4")
@pytest.mark.parametrize("words", [("lo",), ("logs", ""), ("call", "")], ids=" ".join)
@pytest.mark.long
async def test_completing_costs_less_than_a_fifth_of_a_second(folder: Path, words: tuple[str, ...]):
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    costs: list[float] = []
    for _ in range(5):
        before = spent()
        assert (await bascule(folder, "__complete", "bash", *words, anew=True)).code == 0
        costs.append(spent() - before)
    assert min(costs) < 0.2


@pytest.mark.requirement("UX-4")
async def test_completing_imports_nothing_of_mcp(folder: Path):
    ran = await bascule(folder, "__complete", "bash", "call", "", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.err.splitlines()}
    assert "bascule" in loaded
    assert loaded.isdisjoint({"mcp", "pydantic", "starlette", "aiohttp", "rich", "asyncio"})


async def test_a_broken_config_is_no_noise_at_the_prompt(folder: Path):
    (folder / ".mcp.json").write_text("{")
    ran = await bascule(folder, "__complete", "bash", "logs", "")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


# What docs/completion.md says, typed as it stands there.

PAGE = {block.line: block for block in every_block() if block.page == "completion.md"}
ROWS = re.findall(r"^\| `bascule ([^`]*)` \| (.*) \|$", (ROOT / "docs/completion.md").read_text(), re.MULTILINE)


def blocks_of(shell: str) -> list[Block]:
    return [block for block in PAGE.values() if block.language == shell]


async def typed_at_home(folder: Path, shell: str, lines: str) -> str:
    """The output of a shell that runs these lines, and reads nothing first."""
    flags = {"bash": ("--norc",), "zsh": ("-f",), "fish": ("--no-config",)}[shell]
    env = {
        **activated(),
        "HOME": str(folder),
        "ZDOTDIR": str(folder),
        "XDG_CONFIG_HOME": "",
        "XDG_DATA_HOME": str(folder),
    }
    process = await asyncio.create_subprocess_exec(
        *(there(shell), *flags, "-c", lines),
        cwd=folder,
        env={name: value for name, value in environment(folder, env).items() if value},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with fail_after(60, shell):
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b""), err
    return out.decode()


def test_every_shell_has_two_blocks_on_the_page_one_for_now_and_one_for_good():
    assert [block.language for block in PAGE.values()] == ["bash", "bash", "zsh", "zsh", "fish", "fish"]
    assert INSTALL["fish"] in blocks_of("fish")[1].text
    for shell in ("bash", "zsh"):
        assert f"""echo 'eval "$(bascule completion {shell})"' >> ~/.{shell}rc""" in blocks_of(shell)[1].text


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(("words", "offered"), ROWS)
async def test_tab_gives_what_the_page_says(folder: Path, shell: str, words: str, offered: str):
    assert sorted(await completed(folder, shell, *words.split(" "))) == re.findall(r"`([^`]+)`", offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_what_the_page_does_for_good_holds_in_the_next_shell(folder: Path, shell: str):
    """Typed at a terminal, in a new shell that reads its own file."""
    (folder / ".zshrc").write_text("autoload -U compinit && compinit -u -D\n")
    await typed_at_home(folder, shell, blocks_of(shell)[1].text)
    env = {
        **activated(),
        "TERM": "dumb",
        "HOME": str(folder),
        "ZDOTDIR": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
    }
    flags = {"bash": ("--rcfile", str(folder / ".bashrc"), "-i"), "zsh": ("-i",), "fish": ("-i",)}[shell]
    if shell == "fish":
        # It asks a real terminal who it is; so it is asked for the answers as a script does it.
        process = await asyncio.create_subprocess_exec(
            *(there("fish"), "-c", "complete -C 'bascule sessions ra'"),
            cwd=folder,
            env=environment(folder, {**env, "XDG_DATA_HOME": str(folder / "data")}),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        assert out.decode().partition("\t")[0] == "raise"
        return
    async with at_a_terminal(folder, *flags, program=there(shell), env=env, columns=200, out=True) as terminal:
        terminal.type('PS1="at your ser""vice> "\n')
        await terminal.until("at your service> ")
        terminal.type("bascule sess\tra\t")
        await until(lambda: "bascule sessions raise " in terminal.shown.replace("\x07", "").replace(" \x08", ""))
        terminal.type("\x15exit\n")
        await terminal.end()


@pytest.mark.parametrize("shell", ["bash", "fish"])
async def test_what_the_page_does_at_once_holds_in_this_shell(folder: Path, shell: str):
    asked = {
        "bash": "COMP_WORDS=(bascule sessions ra); COMP_CWORD=2\n_bascule\nprintf '%s\\n' \"${COMPREPLY[@]}\"",
        "fish": "complete -C 'bascule sessions ra'",
    }[shell]
    out = await typed_at_home(folder, shell, f"{blocks_of(shell)[0].text}\n{asked}")

    assert out.partition("\t")[0].strip() == "raise"


@pytest.mark.long
async def test_what_the_page_does_at_once_holds_in_this_zsh(folder: Path):
    async with typing_at(folder, "zsh") as terminal:
        for line in blocks_of("zsh")[0].text.splitlines():
            # Without a look at who owns the functions of this machine, and without a file of its own.
            terminal.type(line.replace("&& compinit", "&& compinit -u -D") + "\n")
        terminal.type('PS1="at your ser""vice> "\n')
        await terminal.until("at your service> ")
        terminal.type("bascule sess\tra\t")
        await until(lambda: "bascule sessions raise " in terminal.shown.replace("\x07", "").replace(" \x08", ""))
