"""How long work tells how far it has come.

The library never prints. Whoever calls it may hand over a function that is told the name of the
stage and the share of it that is done; what it shows, and whether, is its own affair.
"""

import time
from collections.abc import Callable

Progress = Callable[[str, float], None]
STOPPED = "stopped early"  # the stage that is told when an interruption ends it, but not the work


def silent(stage: str, done: float) -> None:
    """Tell nobody."""


def part_of(progress: Progress, stage: str, done: int, total: int) -> Progress:
    """Tell of one piece of work among several; interrupted, none of them keeps what it has."""

    def tell(told: str, share: float) -> None:
        if told == STOPPED:
            raise KeyboardInterrupt
        progress(stage, (done + share) / total)

    return tell


_SECONDS_AT_A_TIME = 0.2


def in_steps(work: Callable[[int], int], total: int, progress: Progress) -> None:
    """Call compiled code for a little at a time, since it cannot be interrupted.

    `work` goes on by about as much as it is told and answers how much of `total` is done.
    """
    step, done = 1, 0
    while done < total:
        began = time.monotonic()
        done = int(work(step))
        step = step * 2 if time.monotonic() - began < _SECONDS_AT_A_TIME else max(step // 2, 1)
        progress("clustering", min(done / total, 1.0))
