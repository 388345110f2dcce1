"""The progress bar."""

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from covey.cli.terminal import err, say

if TYPE_CHECKING:
    from covey.clustering.progress import Progress

SLOW = 2.0  # seconds of work before a bar appears


@contextlib.contextmanager
def progress_bar() -> "Iterator[Progress]":
    """Show a bar on a terminal if the work takes a while; show nothing in a pipe."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from covey.clustering.progress import STOPPED

    columns = (TextColumn("{task.description:12}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True)
    task = bar.add_task("reading", total=1.0)
    timer = threading.Timer(SLOW, bar.start)
    timer.daemon = True

    def tell(stage: str, done: float) -> None:
        if stage == STOPPED:
            say("interrupted: releasing the best groups found so far; press Ctrl-C again to abort")
        bar.update(task, description=stage, completed=done)

    if err.is_terminal:
        timer.start()
    try:
        yield tell
    finally:
        timer.cancel()
        if bar.live.is_started:
            bar.stop()
