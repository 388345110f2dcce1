"""Runs in a child process: ends it at a step of a release in parts, or counts the steps."""

import atexit
import json
import os
import signal
import sys
from collections import Counter
from typing import Any

from covey.engines import steps, written

HOMES = {"divide": steps, "group": steps, "gather": steps, "verify": written}


def act(what: str) -> None:
    """`kill STEP` ends the process in the middle of a step that is done several times."""
    name = what.partition(" ")[2]
    if name:
        _wrap(HOMES[name], name, lambda times: times == (2 if name in ("divide", "group") else 1))
        return
    times = Counter[str]()
    steps_ = ("survey", *HOMES)
    atexit.register(lambda: sys.stdout.write(json.dumps({name: times[name] for name in steps_})))
    for step, home in HOMES.items():
        _count(home, step, times)
    real = steps.InputSurvey.over

    def over(*given: Any) -> Any:
        times["survey"] += 1
        return real(*given)

    steps.InputSurvey.over = over  # type: ignore[method-assign, assignment]


def _count(home: Any, name: str, times: Counter[str]) -> None:
    real = getattr(home, name)

    def counted(*given: Any, **more: Any) -> Any:
        times[name] += 1
        return real(*given, **more)

    setattr(home, name, counted)


def _wrap(home: Any, name: str, ends: Any) -> None:
    real, times = getattr(home, name), Counter[str]()

    def ending(*given: Any, **more: Any) -> Any:
        times[name] += 1
        if ends(times[name]):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **more)

    setattr(home, name, ending)
