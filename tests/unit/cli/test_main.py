"""Entry point of the command: exit codes, errors, interrupts."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bascule as package
from bascule.cli.main import main
from support.command import BASCULE, bascule, configured, entry, environment, started
from support.waiting import fail_after

ME = ("--user", "alice", "--session", "s-1")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"bascule {package.__version__}\n"


def test_without_a_command_the_help_is_shown_and_the_code_is_that_of_usage(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    assert "COMMAND" in capsys.readouterr().out


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["fly"])
    assert caught.value.code == 2
    assert "fly" in capsys.readouterr().err


def test_a_wrong_word_is_told_as_every_other_error_is(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["lst", "--json"])
    shown = capsys.readouterr()
    assert caught.value.code == 2
    assert shown.err.startswith("BSC-200  there is no command 'lst'\n  fix:      did you mean `bascule list`?")
    assert json.loads(shown.out)["error"]["code"] == "BSC-200"


def test_a_wrong_option_names_the_right_one(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["audit", "show", "--sinc", "2h"])
    assert "did you mean `--since`?" in capsys.readouterr().err


def test_the_help_of_a_command_is_shown(capsys: pytest.CaptureFixture[str]):
    assert main(["help", "call"]) == 0
    assert capsys.readouterr().out.startswith("usage: bascule call")


def test_a_call_prints_its_result_alone_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = configured(tmp_path, echo=entry("echo"))
    assert main(["call", "echo_echo", "message=hi", "--config", config, *ME]) == 0
    assert capsys.readouterr() == ("hi\n", "")


def test_a_call_as_json_has_its_documented_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = configured(tmp_path, echo=entry("echo"))
    assert main(["call", "echo_echo", "--arguments", '{"message": "hi"}', "--json", "--config", config, *ME]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["text"], told["server"], told["tool"], told["lane"]) == (
        True,
        "hi",
        "echo",
        "echo",
        "open",
    )


@pytest.mark.parametrize(
    ("tool", "words", "code"),
    [
        ("echo_echo", (), 2),
        ("echo_ecoh", (), 2),
        ("bad_act", (), 3),
        ("work_act", ('result:={"isError": true}',), 1),
        ("work_act", ("silent:=true", "--timeout", "0.05"), 1),
    ],
    ids=["arguments", "unknown", "unreachable", "tool error", "timeout"],
)
def test_a_call_that_fails_has_the_code_of_its_kind_and_prints_nothing_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str, words: tuple[str, ...], code: int
):
    config = configured(
        tmp_path, echo=entry("echo"), work=entry("obeying", tmp_path / "log"), bad=entry("failing", 3, "no API key")
    )
    assert main(["call", tool, *words, "--config", config, *ME]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("BSC-")


def test_an_error_of_the_command_is_explained_and_never_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["list", "--config", str(tmp_path / "none.yaml")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("BSC-100  ")
    assert "fix:" in shown.err
    assert "Traceback" not in shown.err


def test_with_json_an_error_of_the_command_is_on_stdout_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["list", "--json", "--config", str(tmp_path / "none.yaml")]) == 2
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert told["ok"] is False
    assert (told["error"]["code"], told["error"].keys()) == ("BSC-100", {"code", "message", "evidence", "fix"})
    assert shown.err.startswith("BSC-100  ")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("list",), 0),
        (("inspect", "echo"), 0),
        (("inspect", "echo_echo", "--json"), 0),
        (("inspect", "bad"), 3),
        (("inspect", "nothing"), 2),
        (("doctor",), 3),
        (("doctor", "--json"), 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_every_command_looks_at_good_and_bad_servers_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int
):
    config = configured(tmp_path, echo=entry("echo"), bad=entry("failing", 3, "no API key"))
    assert main([*words, "--config", config, *ME]) == code
    shown = capsys.readouterr()
    assert (shown.out if code != 2 else shown.err).strip()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A test that runs in the background ignores interrupts, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_the_middle_of_a_command_is_told_in_one_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The server interrupts us as soon as it is started, and then waits like any other."""
    code = f"import os, signal, sys; os.kill({os.getpid()}, signal.SIGINT); sys.stdin.read()"
    config = configured(tmp_path, rude={"command": sys.executable, "args": ["-S", "-E", "-c", code]})
    assert main(["list", "--config", config, *ME]) == 130
    assert capsys.readouterr().err == "aborted\n"


@pytest.mark.usefixtures("interruptible")
async def test_an_interrupt_ends_the_command_and_its_servers(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"), hangs=entry("mute", "waiting"))
    async with fail_after(60), started(tmp_path, "list", *ME) as process:
        assert process.stdout is not None
        while b"echo_echo" not in (line := await process.stdout.readline()):
            assert line, "the listing ended before the interrupt"
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()

    assert process.returncode == 130
    assert err == b"aborted\n"


@pytest.mark.parametrize(
    "words",
    [("list",), ("list", "--json"), ("call", "echo_echo", "message=hi"), ("help", "--json")],
    ids=" ".join,
)
@pytest.mark.parametrize("unbuffered", ["1", ""], ids=["unbuffered", "buffered"])
@pytest.mark.long
async def test_a_reader_that_has_seen_enough_is_no_error_to_speak_of(
    tmp_path: Path, words: tuple[str, ...], unbuffered: str
):
    configured(tmp_path, echo=entry("echo"))
    reader, writer = os.pipe()
    os.close(reader)
    environ = {**environment(tmp_path), "PYTHONUNBUFFERED": unbuffered}
    async with fail_after(60):
        process = await asyncio.create_subprocess_exec(
            BASCULE,
            *words,
            *(ME if words[0] != "help" else ()),
            cwd=tmp_path,
            env=environ,
            stdout=writer,
            stderr=asyncio.subprocess.PIPE,
        )
        os.close(writer)
        _, err = await process.communicate()

    assert (process.returncode, err) == (1, b"")


async def test_the_module_can_be_run(tmp_path: Path):
    ran = await bascule(tmp_path, "--version")

    assert (ran.code, ran.out) == (0, f"bascule {package.__version__}\n")
