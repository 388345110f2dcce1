"""Progress reports of long work.

The library never prints. The caller may pass a function that receives the name of the stage and the
share of it that is done, and decides what to show.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from covey._core import kernels

T = TypeVar("T")
Progress = Callable[[str, float], None]
STOPPED = "stopped early"  # reported when an interruption ends a stage and its result is kept


def with_loss(stage: str, loss: float) -> str:
    """The stage of a method that knows the loss of its groups so far."""
    return f"{stage}, loss {loss:,.0f}"


def loss_in(stage: str) -> float | None:
    """The loss in the name of a stage; None if it has none."""
    loss = stage.partition(", loss ")[2]
    return float(loss.replace(",", "")) if loss else None


def silent(stage: str, done: float) -> None:
    """Ignore progress."""


def part_of(progress: Progress, stage: str, done: int, total: int) -> Progress:
    """Report one of several pieces of work; an interruption aborts all of them."""

    def report(inner: str, share: float) -> None:
        if inner == STOPPED:
            raise KeyboardInterrupt
        progress(stage, (done + share) / total)

    return report


_SECONDS_BETWEEN_REPORTS = 0.1


def watched(
    work: Callable[[kernels.Watch], T], progress: Progress, *, keeps_result: bool = False
) -> T:
    """Run a kernel in a thread of its own and report its progress.

    Compiled code hears no signals. This thread does: an interrupt stops the kernel, and so does an
    error that `progress` raises. A kernel that `keeps_result` has one soon after an interrupt too;
    only a second interrupt then aborts the work.
    """
    watch = kernels.Watch()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(work, watch)
        try:
            while wait([running], _SECONDS_BETWEEN_REPORTS).not_done:
                progress("clustering", watch.done)
        except BaseException as stopping:
            watch.stop()
            if not (keeps_result and isinstance(stopping, KeyboardInterrupt)):
                raise
            return running.result()
    progress("clustering", 1.0)
    return running.result()
