"""Children of one process that has loaded covey: a start that takes no second.

The process forks before any thread starts.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_PARENT = """
import contextlib, importlib, json, os, pkgutil, sys, traceback
from pathlib import Path

import covey
from covey import __main__

for module in pkgutil.walk_packages(covey.__path__, "covey."):
    if not {"sklearn", "studio", "spark"} & {*module.name.split(".")}:  # slow
        importlib.import_module(module.name)
asked = json.load(sys.stdin)
results = os.fdopen(os.dup(1), "w")
sys.argv[1:] = asked["command"]
for lines in asked["setups"]:
    for name, text in asked["before"].items():
        Path(name).write_text(text, encoding="utf-8")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        code = 70  # of a child that fails where no command would
        try:
            exec(lines, {})
            __main__.main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as words:
        said = words.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = {name: Path(name).read_text(encoding="utf-8") for name in asked["outputs"]
             if Path(name).exists()}
    json.dump([code, said, found], results)
    results.write("\\n")
    if asked["until_done"] and code == 0:
        break
"""


class Ended(NamedTuple):
    """How a child ended, what it said, and the outputs that there are afterwards."""

    code: int  # if negative, the signal that ended it
    said: str
    outputs: dict[str, str]


def children(
    folder: Path,
    command: Sequence[object],
    setups: Sequence[str],
    *,
    before: Mapping[str, str],
    until_done: bool = False,
) -> list[Ended]:
    """Run a command after each of the setups, which are lines of code, with the same files before.

    With `until_done`, the first child that exits with 0 is the last.
    """
    asked: dict[str, Any] = {
        "command": [str(word) for word in command],
        "setups": list(setups),
        "before": dict(before),
        "outputs": list(before),
        "until_done": until_done,
    }
    done = subprocess.run(
        [sys.executable, "-c", _PARENT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Ended(*json.loads(line)) for line in done.stdout.splitlines()]


_STOPPING = """
import os, random, sys, time

from covey.tables import files

code, sent, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dice = random.Random(1)
for _ in range(times):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.argv[1:] = sys.argv[4:]
        exec(code, {})
        os._exit(1)
    os.read(reading, 1)
    time.sleep(dice.uniform(0, 0.02))
    os.kill(child, sent)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    print("stopped", flush=True)
    sys.stdin.readline()
"""


def stopped_at_any_time(
    code: str, *arguments: object, sent: signal.Signals, times: int
) -> Iterator[None]:
    """Let a child run the code until it prints something, and a little longer; then stop it.

    Each time that is done, it is the caller's turn to look. The code works for ever.
    """
    command = [sys.executable, "-c", _STOPPING, code, str(int(sent)), str(times)]
    with subprocess.Popen(
        [*command, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(times):
            assert process.stdout.readline() == "stopped\n"
            yield
            process.stdin.write("\n")
            process.stdin.flush()
