"""A desk of the tests, in a module that loads little: each process that works there imports it."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covey.studio.workers import Telling


class Patient:
    """A desk whose jobs take as long as one asks."""

    def __init__(self, _: Path) -> None:
        pass

    def sleep(self, telling: "Telling", seconds: float) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            telling.progress("sleeping", 0.0)
            time.sleep(0.01)
        return "slept"

    def deaf(self, _: "Telling", seconds: float) -> None:
        time.sleep(seconds)

    def length(self, _: "Telling", text: str) -> int:
        return len(text)

    def fail(self, _: "Telling", kind: str) -> None:
        raise {"EOFError": EOFError, "BrokenPipeError": BrokenPipeError, "KeyError": KeyError,
               "MemoryError": MemoryError, "Kill": SystemExit}[kind]("x")  # fmt: skip

    def unsendable(self, _: "Telling") -> Any:
        return threading.Lock()
