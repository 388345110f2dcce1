"""Detect too little memory and say so, however it shows.

Python and numpy raise `MemoryError`, the operating system refuses to map a library or to start a
thread, and compiled libraries kill the process, or wait for ever for a thread that could not start.
So if memory is limited (by `ulimit -v`, as batch systems do), a limit that is surely too low is
refused at once. Otherwise a child process does the work, and its parent reports how it ended. A
failed run releases nothing: a release gets its name in the very last step.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

TOO_LITTLE = (
    "not enough memory: raise the limit (ulimit -v), use a larger machine, or release a smaller "
    "table"
)
# Address space in bytes, measured on a small table: to release it, and to look at it. With less it
# often fails, and sometimes waits for ever. More processors start more threads, and a table takes
# many times the size of its file.
_LEAST, _LEAST_TO_LOOK = 1.3 * 2**30, 1.15 * 2**30
_LOOKING = ("verify", "inspect", "--help", "--version")
_PER_PROCESSOR, _PROCESSORS = 0.05 * 2**30, 2
_PER_BYTE = 40
_ENDS = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGKILL")


def limit() -> int | None:
    """The memory limit of this process in bytes, if it has one."""
    if resource is None:
        return None
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [resource.getrlimit(kind)[0] for kind in kinds]
    return min((one for one in limits if one != resource.RLIM_INFINITY), default=None)


def needed(arguments: Sequence[str]) -> float:
    """The bytes that a command needs at least."""
    least = _LEAST_TO_LOOK if not arguments or arguments[0] in _LOOKING else _LEAST
    more = max((os.cpu_count() or 1) - _PROCESSORS, 0) * _PER_PROCESSOR
    return least + more + _PER_BYTE * max(map(_size, arguments), default=0)


def _size(argument: str) -> int:
    try:
        return Path(argument).stat().st_size
    except (OSError, ValueError):  # no file
        return 0


def watched(arguments: Sequence[str], tell: Callable[[str], None]) -> None:
    """Continue in a child if memory is limited; the parent never returns, and exits like it.

    Call this before any thread starts.
    """
    most = limit()
    if most is None:
        return
    if most < needed(arguments):
        have, want = (f"{size / 2**30:.1f} GiB" for size in (most, needed(arguments)))
        tell(f"{TOO_LITTLE} (the limit is {have}; this needs about {want})")
        os._exit(1)
    child = os.fork()
    if child:
        _watch(child, tell)
    if not os.environ.get("COVEY_DEBUG"):
        _hush()


def _hush() -> None:
    """Hide what allocators print as they fail, but show covey's own messages."""
    with contextlib.suppress(OSError):
        words = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        sys.stderr = open(words, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: PTH123, SIM115


def _watch(child: int, tell: Callable[[str], None]) -> NoReturn:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the terminal sends it to both; the child handles it
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in [getattr(signal, name) for name in _ENDS]:
        tell(TOO_LITTLE)
        code = 1
    os._exit(code if code >= 0 else 128 - code)
