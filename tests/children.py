"""Commands in children of one process that has loaded covey: a start that takes no second.

The process forks before any thread starts. Each child first runs a few lines of its own, such as a
limit on memory or a kill to come, and then the command.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_PARENT = """
import contextlib, importlib, json, os, pkgutil, sys, traceback
from pathlib import Path

import covey
from covey import __main__

for module in pkgutil.walk_packages(covey.__path__, "covey."):
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
    """Run a command once after each of the setups, with the same files before each.

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
