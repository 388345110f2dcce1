"""A desk of the tests, in a module that loads little: each process that works there imports it."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covey.studio.workers import Reporter


class Patient:
    """A desk whose jobs take as long as one asks."""

    def __init__(self, _: Path, reporter: "Reporter") -> None:
        self.reporter = reporter

    def sleep(self, seconds: float) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.reporter.progress("sleeping", 0.0)
            time.sleep(0.01)
        return "slept"

    def deaf(self, seconds: float) -> None:
        time.sleep(seconds)

    def length(self, text: str) -> int:
        return len(text)

    def fail(self, kind: str) -> None:
        raise {"EOFError": EOFError, "BrokenPipeError": BrokenPipeError, "KeyError": KeyError,
               "MemoryError": MemoryError, "Kill": SystemExit}[kind]("x")  # fmt: skip

    def unsendable(self) -> Any:
        return threading.Lock()
