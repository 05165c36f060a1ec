import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from support import warm as subject
from support.waiting import until

LOADED = "import sys; print('fastmcp' in sys.modules)"


def ran(
    *words: str, given: str = "", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    argv = [subject.python(), *words]
    return subprocess.run(argv, input=given, capture_output=True, text=True, timeout=60, check=False, cwd=cwd, env=env)


def test_a_program_has_its_own_words_folder_environment_and_streams(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import json, os, sys\n"
        "print(json.dumps([__name__, __file__, sys.argv, sys.path[0], os.getcwd(), os.environ['OWN'], input()]))\n"
        "print('a word', file=sys.stderr)\n"
    )
    (tmp_path / "here").mkdir()
    own = {"PATH": os.environ["PATH"], "OWN": "so"}

    told = ran(str(script), "a", "--b", given="hello\n", cwd=tmp_path / "here", env=own)

    words = [str(script), "a", "--b"]
    assert json.loads(told.stdout) == [
        "__main__",
        str(script),
        words,
        str(tmp_path),
        str(tmp_path / "here"),
        "so",
        "hello",
    ]
    assert told.stderr == "a word\n"


def test_it_has_imported_already_what_programs_import() -> None:
    assert ran("-c", LOADED).stdout == "True\n"
    assert ran("-m", "json.tool", given="[1]").stdout.split() == ["[", "1", "]"]


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("pass", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('why')", 1),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os._exit(3)", 3),
    ],
)
def test_it_ends_as_its_program_does(code: str, ends: int) -> None:
    assert ran("-c", code).returncode == ends


def test_what_is_done_at_the_end_is_done() -> None:
    code = (
        "import atexit, threading; atexit.register(print, 'last'); threading.Thread(target=lambda: print('a')).start()"
    )
    assert ran("-c", code).stdout == "a\nlast\n"


@pytest.mark.parametrize(("words", "more"), [(("-S", "-c", LOADED), {}), (("-c", LOADED), {"PYTHONUTF8": "1"})])
def test_what_changes_how_python_starts_starts_it_anew(words: tuple[str, ...], more: dict[str, str]) -> None:
    assert ran(*words, env={**os.environ, **more}).stdout == "False\n"


def test_a_signal_reaches_the_program_and_its_answer_is_its_own() -> None:
    code = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(5)); print('up', flush=True)\nwhile True: time.sleep(0.02)"
    with subprocess.Popen([subject.python(), "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.terminate()
        assert process.wait(30) == 5


async def test_the_program_is_gone_when_who_stands_for_it_was_killed() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen([subject.python(), "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        program = int(process.stdout.readline())
        assert program != process.pid
        process.kill()
        await until(lambda: not psutil.pid_exists(program))


def test_a_stream_ends_when_the_program_ends_it() -> None:
    code = "import os, sys, time; os.close(1); sys.stdin.read()"
    pipe = subprocess.PIPE
    with subprocess.Popen([subject.python(), "-c", code], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.read() == b""
        assert process.poll() is None
        process.stdin.close()
        process.wait(30)


def test_programs_draw_different_lots() -> None:
    code = "import random; print(random.getrandbits(64))"
    assert ran("-c", code).stdout != ran("-c", code).stdout


def test_the_command_is_the_command() -> None:
    told = [
        subprocess.run([command, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
        for command in (subject.bascule(), Path(sys.executable).with_name("bascule"))
    ]
    assert told[0] == told[1]


def test_in_a_soak_all_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASCULE_SOAK", "1")

    assert subject.python() == sys.executable
    assert subject.bascule() == subject.COMMAND
