"""Too little memory, however it shows.

Python and numpy raise `MemoryError`, the operating system refuses to map a library or to start a
thread, and the allocators of compiled libraries end the whole process. Where memory is limited (by
`ulimit -v`, as batch systems do), the work is therefore done by a child, and its parent tells what
has happened. Nothing is released by then: a release gets its name as the very last step.
"""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

TOO_LITTLE = (
    "there is not enough memory: raise the limit (ulimit -v), use a larger machine, or release a "
    "smaller table"
)
_SIGNS = ("allocate memory", "out of memory", "start new thread", "failed to map segment")
_ENDS = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGKILL")


def is_short(error: BaseException) -> bool:
    """Whether an error comes from too little memory. Its text is looked at, and never shown."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN):
        return True
    text = str(error).lower()
    return any(sign in text for sign in _SIGNS)


def is_limited() -> bool:
    """Whether the memory of this process has a limit of its own."""
    if resource is None:
        return False
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)


def watched(tell: Callable[[str], None]) -> None:
    """Go on in a child if memory is limited; the parent never returns, but ends as the child has.

    To be called before any thread is started.
    """
    if not is_limited():
        return
    child = os.fork()
    if child:
        _watch(child, tell)
    if not os.environ.get("COVEY_DEBUG"):
        _hush()


def _hush() -> None:
    """Keep what allocators print in their last moment from the terminal, but not our own words."""
    with contextlib.suppress(OSError):
        words = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        sys.stderr = open(words, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: PTH123, SIM115


def _watch(child: int, tell: Callable[[str], None]) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both; the child answers
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in [getattr(signal, name) for name in _ENDS]:
        tell(TOO_LITTLE)
        code = 1
    os._exit(code if code >= 0 else 128 - code)
